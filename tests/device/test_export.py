"""What is generated: names, files, sizes as the cross compiler sees them."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from device.harness import called_from_elsewhere, compiled, measured, needs_arm, needs_host, run_on_host
from device.samples import classifier, phases, trits
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

import lowtide as lt
from lowtide.device import export_c, name_from

RNG = np.random.default_rng(0)


def ten_classes(features):
    """Return a classifier with weights that nobody learned: sizes do not depend on them, and a fit takes seconds."""
    rows = RNG.integers(0, 17, (60, 64)).astype(np.uint8)
    model = classifier(phases(64, 64), 10, rows)
    drawn = features.drawn_
    model.decision_ = replace(
        model.decision_,
        encoder=drawn,
        template=drawn.template,
        weights=RNG.standard_normal((drawn.n_outputs, 10)),
    )
    return model


@needs_arm
@pytest.mark.parametrize(
    ("features", "options"),
    [
        (lambda: phases(64, 4096), {"weights": "int8"}),
        (lambda: phases(64, 4096), {"weights": "int6", "favor": "time"}),
        (lambda: phases(64, 2048, bits=2), {"weights": "int8"}),
        (lambda: trits(64, 2048, "uint8"), {"weights": "int8", "input": "uint8"}),
    ],
    ids=["1 bit, int8", "1 bit, int6, time", "2 bits, int8", "trits, int8"],
)
def test_four_thousand_bits_and_ten_classes_fit_in_forty_two_kilobytes(tmp_path, features, options):
    made = export_c(ten_classes(features()), name="digits", **options)
    flash, static, stack = measured(made, tmp_path)
    assert sum(made.tables.values()) < flash <= made.flash_bytes < 42_000
    assert static == 0
    scores = 4 * 10
    assert 512 + scores + stack <= made.ram_bytes < 4096
    assert f"Flash: {made.flash_bytes:,} bytes" in made.header
    assert f"RAM: {made.ram_bytes:,} bytes" in made.header


@needs_arm
def test_stated_sizes_hold_for_other_shapes(tmp_path):
    for i, (encoder, options) in enumerate(
        [
            (phases(300, 700, bits=3), {}),
            (phases(300, 700, bits=3), {"favor": "time"}),
            (phases(9, 30, bits=3, quantizer="phase"), {}),
            (trits(64, 300, "uint8"), {"favor": "time", "input": "uint8"}),
            (trits(64, 300), {}),
            (lt.Sketch(n_components=300, random_state=0).fit(np.eye(3, 100)), {}),
            (lt.Sketch(n_components=300, bits=1, random_state=0).fit(np.eye(3)), {}),
        ]
    ):
        made = export_c(encoder, name=f"shape{i}", **options)
        flash, static, stack = measured(made, tmp_path)
        code_bytes = int(re.search(r"CODE_BYTES (\d+)", made.header)[1])
        assert sum(made.tables.values()) < flash <= made.flash_bytes
        assert static == 0
        assert code_bytes + stack <= made.ram_bytes


@needs_arm
@pytest.mark.parametrize("flag", ["-Os", "-O3"])
def test_nothing_is_called_from_a_library(tmp_path, flag):
    whole, padded, integers = phases(64, 200), phases(70, 200, bits=3), trits(64, 100, "uint8")
    for features, options in ((whole, {}), (padded, {"weights": "float16"}), (integers, {"input": "uint8"})):
        model = ten_classes(features)
        assert called_from_elsewhere(compiled(export_c(model, **options), tmp_path, flag)) == set()
    sketch = export_c(lt.Sketch(n_components=100, random_state=0).fit(np.eye(3, 70)))
    double = called_from_elsewhere(compiled(sketch, tmp_path, flag))
    assert all(name.startswith("__aeabi_") for name in double), "arithmetic in double, and no more"


@needs_host
def test_a_program_may_hold_several_models_in_c_and_in_cpp(tmp_path):
    jobs = [(export_c(phases(5, 20), name=name), np.zeros((1, 5), np.float32)) for name in ("one", "two", "a", "z9_")]
    assert len(run_on_host(tmp_path, jobs)) == 4
    if shutil.which("c++"):
        (tmp_path / "use.cpp").write_text('#include "one.h"\n#include "two.h"\n#include "one.h"\n')
        subprocess.run(["c++", "-Wall", "-Wextra", "-Werror", "-c", "use.cpp"], cwd=tmp_path, check=True)


@needs_host
def test_fast_math_is_refused_by_the_source_itself(tmp_path):
    _, source = export_c(phases(5, 20)).write(tmp_path)
    run = subprocess.run(
        ["cc", "-ffast-math", "-c", source.name], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode != 0
    assert "without -ffast-math" in run.stderr


def test_every_line_fits_a_screen():
    made = export_c(ten_classes(phases(64, 300, bits=2)), name="digits")
    assert max(map(len, (made.header + made.source).splitlines())) <= 120


@pytest.mark.parametrize("name", ["", "1st", "a-b", "a b", "int", "main", "x" * 32, "_x", "é", 'a"', None, 3])
def test_names_that_c_does_not_take_are_refused(name):
    with pytest.raises(lt.errors.ParameterError, match="C identifier"):
        export_c(phases(5, 20), name=name)


@pytest.mark.parametrize("text", ["digits", "my model.v2", "8x8", "--", "int", "x" * 100, "naïve-ü", "é"])
def test_any_text_gives_a_name(text):
    assert export_c(phases(5, 20), name=name_from(text)).name == name_from(text)


@pytest.mark.parametrize("option", [{"weights": "int3"}, {"input": "int32"}, {"favor": "size"}])
def test_unknown_options_are_refused_with_what_there_is(option):
    with pytest.raises(lt.errors.ParameterError, match="must be one of"):
        export_c(phases(5, 20), **option)


def test_what_is_not_fitted_or_not_ours_is_refused():
    with pytest.raises(NotFittedError):
        export_c(lt.RandomFeatures())
    with pytest.raises(lt.errors.ParameterError, match="a learner of lowtide"):
        export_c(SVC().fit([[0.0], [1.0]], [0, 1]))


def test_no_rows_to_compare_on_are_refused():
    with pytest.raises(lt.errors.ParameterError, match="at least one"):
        export_c(ten_classes(phases(64, 100)), rows=np.empty((0, 64)))


def test_write_leaves_nothing_where_it_may_not(tmp_path):
    with pytest.raises(lt.errors.FileAccessError):
        export_c(phases(5, 20)).write(tmp_path / "missing")
    assert not list(tmp_path.iterdir())


def test_both_identities_of_a_code_are_there_for_messages():
    encoder = phases(5, 20)
    made = export_c(encoder, name="e")
    codes = encoder.encode(np.zeros((1, 5)))
    for name, identity in (("fingerprint", codes.fingerprint), ("side", codes.side)):
        assert f"const uint8_t e_{name}[16] = {{{', '.join(map(str, identity))}}};" in made.source
