# The one front door. `make demo` and `make test` do all the set-up themselves, in .venv, and again only when
# something it depends on has changed. Needed beforehand: Python 3.11 or newer and a C++20 compiler.

PYTHON ?= python3
JOBS ?= 2
INPUTS ?= 100000
ROW ?=
RECORD ?=
COUNTS ?=

VENV := .venv
BIN := $(VENV)/bin
# Two quiets: errors still show.
PIP := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --no-input
CPP_FILES = $(shell find cpp tests/cpp benchmarks -name '*.hpp' -o -name '*.cpp')
CPP_TESTS := -DCMAKE_BUILD_TYPE=Release -DLOWTIDE_TESTS=ON -DLOWTIDE_PYTHON=OFF
STAMP_VENV := $(VENV)/.stamp-venv
STAMP_BUILD := $(VENV)/.stamp-build
STAMP_PACKAGE := $(VENV)/.stamp-package
STAMP_DEV := $(VENV)/.stamp-dev
MODULES := $(VENV)/.modules
STAMP_DOCS := $(VENV)/.stamp-docs
STAMP_BENCH := $(VENV)/.stamp-bench
STAMP_FUZZ := $(VENV)/.stamp-fuzz
STAMP_RELEASE := $(VENV)/.stamp-release
STAMP_INTERCHANGE := $(VENV)/.stamp-interchange

# cmake and ninja come as wheels: those of the virtual environment are found before older ones of the system.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_ROOT_USER_ACTION := ignore
# An active environment of the caller has no say in ours.
unexport PYTHONPATH PYTHONHOME

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
FORCE:
.PHONY: FORCE help dev demo test lint types layers cpp-test python-test isa arm arm-python clang mingw sanitize fuzz bench roofline opcount errors studies docs interchange wheel versions changelog release format clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Set-up ---------------------------------------------------------------------------------------------------------

$(STAMP_VENV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "lowtide needs Python 3.11 or newer, got $$($(PYTHON) --version 2>&1). Name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "setting up $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade 'pip>=25.1'
	@touch $@

$(STAMP_BUILD): $(STAMP_VENV) pyproject.toml
	@echo "installing the build tools ..."
	@$(PIP) --group build
	@touch $@

# The editable install maps the modules there are when it is made: a new one needs another. This file changes only
# when the list does.
$(MODULES): FORCE | $(STAMP_VENV)
	@find src -name '*.py' | sort | cmp -s - $@ || find src -name '*.py' | sort > $@

$(STAMP_PACKAGE): $(STAMP_BUILD) $(MODULES) pyproject.toml CMakeLists.txt $(shell find cpp -type f)
	@echo "building and installing lowtide (a few minutes: the C++ core is compiled) ..."
	@$(PIP) --no-build-isolation --editable '.[report]'
	@touch $@

$(STAMP_DEV): $(STAMP_PACKAGE) pyproject.toml
	@echo "installing the test and lint tools ..."
	@$(PIP) --group test --group lint
	@touch $@

$(STAMP_DOCS): $(STAMP_PACKAGE) pyproject.toml
	@echo "installing the documentation tools ..."
	@$(PIP) --group docs
	@touch $@

$(STAMP_BENCH): $(STAMP_PACKAGE) pyproject.toml
	@echo "installing what benchmarks compare with ..."
	@$(PIP) --group bench
	@touch $@

$(STAMP_FUZZ): $(STAMP_DEV) pyproject.toml
	@echo "installing the fuzzing tools ..."
	@$(PIP) --group fuzz
	@touch $@

$(STAMP_RELEASE): $(STAMP_VENV) pyproject.toml
	@echo "installing the tools of a release ..."
	@$(PIP) --group release
	@touch $@

$(STAMP_INTERCHANGE): $(STAMP_DEV) pyproject.toml
	@echo "installing torch, JAX, polars, DuckDB, faiss and usearch ..."
	@$(PIP) --group interchange
	@touch $@

dev: $(STAMP_DEV)  ## set up .venv with the package and every development tool
	@echo "ready: $(BIN)/python"

# Run ------------------------------------------------------------------------------------------------------------

demo: $(STAMP_PACKAGE)  ## exact SVM against full-precision features against 1, 2 and 4 bits
	@$(BIN)/lowtide demo

test: lint types layers cpp-test python-test  ## everything CI checks, at most ten minutes on two cores

lint: $(STAMP_DEV)  ## ruff, codespell, clang-format
	@echo "lint"
	@$(BIN)/ruff check --quiet --output-format=concise .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/codespell
	@$(BIN)/clang-format --dry-run -Werror $(CPP_FILES)

format: $(STAMP_DEV)  ## put the sources into the form that lint wants
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format --quiet .
	@$(BIN)/clang-format -i $(CPP_FILES)

types: $(STAMP_DEV)  ## mypy, strict, on src
	@echo "types"
	@$(BIN)/mypy --no-error-summary

layers: $(STAMP_DEV)  ## import-linter: stages import only earlier stages
	@echo "layers"
	@report=$$($(BIN)/lint-imports --no-logo) || { echo "$$report"; exit 1; }

cpp-test: $(STAMP_BUILD)  ## the C++ tests
	@echo "C++ tests"
	@cmake -S . -B build/cpp-tests -G Ninja $(CPP_TESTS) > /dev/null
	@cmake --build build/cpp-tests --parallel $(JOBS) -- --quiet
	@report=$$(ctest --test-dir build/cpp-tests --output-on-failure --no-tests=error) || { echo "$$report"; exit 1; }

python-test: $(STAMP_DEV)  ## the Python tests and doctests
	@echo "Python tests"
	@SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -n $(JOBS)

isa: $(STAMP_DEV)  ## tests of the compiled core, once per instruction-set level of this processor
	@for level in scalar avx2 avx512 vbmi amx neon dotprod i8mm; do \
	  if [ "$$(LOWTIDE_ISA=$$level $(BIN)/python -c 'from lowtide import _core; print(_core.isa())')" = $$level ]; then \
	    echo "core tests at $$level"; LOWTIDE_ISA=$$level $(BIN)/python -m pytest -n $(JOBS) tests/core || exit 1; \
	  else echo "core tests at $$level: not run, this processor does not have it"; fi; done

arm: $(STAMP_BUILD)  ## the C++ tests cross-compiled for 64-bit ARM, under emulation, once per instruction-set level
	@for tool in aarch64-linux-gnu-g++ qemu-aarch64; do command -v $$tool > /dev/null || { \
	  echo "make arm needs $$tool. On Debian: apt install g++-aarch64-linux-gnu qemu-user" >&2; exit 1; }; done
	@cmake -Wno-unused-cli -S . -B build/arm -G Ninja $(CPP_TESTS) -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64-linux-gnu.cmake > /dev/null
	@cmake --build build/arm --parallel $(JOBS) -- --quiet
	@printf '%s\n' cortex-a53:scalar cortex-a53:neon neoverse-n1:dotprod max:i8mm | xargs -P $(JOBS) -I{} sh -c ' \
	  run={}; cpu=$${run%:*}; level=$${run#*:}; qemu="qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu $$cpu"; \
	  [ "$$($$qemu build/arm/lowtide_tests --levels | tail -n 1)" = $$level ] || [ $$level = scalar ] || exit 1; \
	  report=$$(LOWTIDE_ISA=$$level $$qemu build/arm/lowtide_tests 2>&1) || status=1; \
	  echo "C++ tests at $$level on an emulated $$cpu: $$report"; exit $${status:-0}'

# Not those of test_cancel.py, which give ops a few milliseconds: emulation takes longer for one.
arm-python: $(STAMP_BUILD)  ## the Python tests of the core in an emulated Python of 64-bit ARM, which is set up first; slow
	@for tool in aarch64-linux-gnu-g++ qemu-aarch64 apt-get dpkg; do command -v $$tool > /dev/null || { \
	  echo "make arm-python needs $$tool. On Debian: apt install g++-aarch64-linux-gnu qemu-user" >&2; exit 1; }; done
	@JOBS=$(JOBS) cmake/aarch64-python.sh $(CURDIR)/build/arm-python $(CURDIR)/$(BIN)/python
	@aarch64-linux-gnu-gcc -static -pthread cmake/fork.c -o build/arm-python/fork
	@if qemu-aarch64 build/arm-python/fork > /dev/null 2>&1; then some=; else some='not fork'; \
	  echo "tests that fork: not run, since this emulator ends the child of a process with threads (cmake/fork.c)"; fi; \
	build/arm-python/python -m pytest -p no:cacheprovider --ignore tests/core/test_cancel.py -k "$$some" tests/core

clang: $(STAMP_BUILD)  ## the C++ tests compiled by clang, plain and with its sanitizers, once per instruction-set level
	@command -v clang++ > /dev/null || { echo "make clang needs clang++. On Debian: apt install clang libclang-rt-dev" >&2; exit 1; }
	@for kind in "" address,undefined; do \
	  folder=build/clang$${kind:+-}$${kind%%,*}; \
	  cmake -S . -B $$folder -G Ninja $(CPP_TESTS) -DCMAKE_CXX_COMPILER=clang++ -DLOWTIDE_SANITIZE=$$kind > /dev/null || exit 1; \
	  cmake --build $$folder --parallel $(JOBS) -- --quiet || exit 1; \
	  for level in $$($$folder/lowtide_tests --levels); do \
	    echo "C++ tests at $$level, clang, sanitizers: $${kind:-none}"; LOWTIDE_ISA=$$level $$folder/lowtide_tests || exit 1; done; done

mingw: $(STAMP_BUILD)  ## the C++ tests cross-compiled for Windows, and run where there is wine
	@command -v x86_64-w64-mingw32-g++-posix > /dev/null || { \
	  echo "make mingw needs x86_64-w64-mingw32-g++-posix. On Debian: apt install g++-mingw-w64-x86-64" >&2; exit 1; }
	@cmake -Wno-unused-cli -S . -B build/mingw -G Ninja $(CPP_TESTS) -DCMAKE_TOOLCHAIN_FILE=cmake/x86_64-w64-mingw32.cmake > /dev/null
	@cmake --build build/mingw --parallel $(JOBS) -- --quiet
	@wine=$$(command -v wine64 || command -v wine); if [ -n "$$wine" ]; then echo "C++ tests under $$wine"; \
	  WINEDEBUG=-all $$wine build/mingw/lowtide_tests.exe; else echo "built for Windows; not run: there is no wine"; fi

sanitize: $(STAMP_BUILD)  ## the C++ tests with address, undefined-behavior and thread sanitizers, once per instruction-set level
	@for kind in address,undefined thread; do \
	  folder=build/sanitize-$${kind%%,*}; \
	  cmake -S . -B $$folder -G Ninja -DCMAKE_BUILD_TYPE=Debug -DLOWTIDE_SANITIZE=$$kind -DLOWTIDE_TESTS=ON -DLOWTIDE_PYTHON=OFF > /dev/null || exit 1; \
	  cmake --build $$folder --parallel $(JOBS) -- --quiet || exit 1; \
	  for level in $$($$folder/lowtide_tests --levels); do \
	    echo "C++ tests at $$level, sanitizers: $$kind"; LOWTIDE_ISA=$$level $$folder/lowtide_tests || exit 1; done; done

fuzz: $(STAMP_FUZZ)  ## hostile model files, messages, stores, tables, requests and bodies; INPUTS=<number> of each
	@$(BIN)/python -m benchmarks.fuzz model wire store csv http json --inputs $(INPUTS) --jobs $(JOBS)
	@$(BIN)/python -m benchmarks.fuzz.guided --seconds 60

bench: $(STAMP_BENCH)  ## lowtide and what a user would pick instead, timed side by side; ROW=<name> for one row
	@$(BIN)/python -m benchmarks.peers $(ROW)

roofline: $(STAMP_BENCH)  ## the machine's limits and the share of them that each op reaches, into the guide
	@$(BIN)/python -m benchmarks.roofline --page docs/guide/roofline.md

# A record of one's own is of one machine: COUNTS leaves the other out.
opcount: $(STAMP_BUILD)  ## instructions that the ops take, under valgrind and for ARM under qemu, against the record; RECORD=1 writes it anew
	@$(BIN)/python -m benchmarks.opcount --jobs $(JOBS) $(if $(filter-out 0,$(RECORD)),--record) $(if $(COUNTS),--counts $(COUNTS))
ifeq ($(COUNTS),)
	@$(BIN)/python -m benchmarks.opcount --arm --jobs $(JOBS) $(if $(filter-out 0,$(RECORD)),--record --page docs/guide/arm.md)
endif

errors: $(STAMP_PACKAGE)  ## sweep 500 random configurations for biased means and bars that do not cover
	@$(BIN)/python -m benchmarks.errors

studies: $(STAMP_PACKAGE)  ## the papers' figures at full size into the record, and the guide's tables from it; an hour or more
	@$(BIN)/python -m benchmarks.papers all --record
	@$(BIN)/python -m benchmarks.papers tables

docs: $(STAMP_DOCS)  ## the documentation, in docs/_build/html, its examples run, its links and every word checked
	@$(BIN)/sphinx-build -W --keep-going --quiet -b html docs docs/_build/html
	@$(BIN)/python docs/check.py
	@echo "docs/_build/html/index.html"

interchange: $(STAMP_INTERCHANGE)  ## the tests with torch, JAX, polars, DuckDB, faiss and usearch, which it installs
	@SCIPY_ARRAY_API=1 $(BIN)/python -m pytest tests/test_interchange.py

# Release --------------------------------------------------------------------------------------------------------

wheel: $(STAMP_RELEASE)  ## sdist and wheels into dist, checked, and tried in every Python of this machine
	@$(BIN)/python -m release.wheels

versions: $(STAMP_RELEASE)  ## the wheel with the oldest supported numpy, scipy and scikit-learn, and the newest
	@$(BIN)/python -m release.versions --jobs $(JOBS)

changelog: $(STAMP_VENV)  ## show the section that the fragments in changes make
	@$(BIN)/python -m release.changelog

release: wheel versions  ## whether this tree can be released, and what remains for a person
	@$(BIN)/python -m release.ready

clean:  ## remove all that make has made, .venv included
	@rm -rf $(VENV) build dist docs/_build docs/gallery .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
