"""Run a part of the tests with the oldest versions of dependencies that pyproject.toml allows, and with the newest.

The wheel in dist/ is installed into a fresh environment, so `make wheel` comes first.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import tomllib
from pathlib import Path

from release.wheels import ROOT, environment, pythons, run, wheel_for

# Of every stage something, and the checks of scikit-learn.
TESTS = (
    "tests/codes",
    "tests/encoders/test_rows.py",
    "tests/encoders/test_random_features.py",
    "tests/encoders/test_sketch.py",
    "tests/encoders/test_ternary.py",
    "tests/learners/test_bad_input.py",
    "tests/learners/test_forms.py",
    "tests/learners/test_scikit_learn_objects.py",
    "tests/learners/test_sklearn_checks.py",
    "tests/tables",
    "tests/persist",
    "tests/test_readme.py",
)
# What scikit-learn 1.6 does otherwise than newer ones: the line that a warning names, weights for a pipeline's score, a
# FutureWarning when the columns of a ColumnTransformer's remainder are read.
NOT_OLDEST = (
    "tests/learners/test_bad_input.py::test_too_few_iterations_warn_at_the_caller",
    "tests/learners/test_scikit_learn_objects.py::test_weights_are_routed_through_a_pipeline_and_a_search",
    "tests/tables/test_pipeline.py::test_tables_of_numbers_and_categories_equal_those_of_the_step_to_the_bit",
    "tests/tables/test_pipeline.py::test_a_column_whose_only_category_is_dropped_is_still_needed",
)
# pytest 9 warns of how scikit-learn 1.6 lists its checks, and warnings are errors.
TOOLS = (
    "pytest==8.*",
    "pytest-xdist>=3.6",
    "hypothesis>=6.100",
    "mpmath>=1.3",
    "pyarrow>=17",
    "safetensors>=0.7",
)


def pinned(dependencies: list[str]) -> list[str]:
    """Return requirements of the oldest version that each dependency allows: name>=2.0 becomes name==2.0."""
    found = [re.fullmatch(r"([\w.-]+)>=([\w.]+)", dependency) for dependency in dependencies]
    if not all(found):
        sys.exit(f"Each dependency must have a lower bound and no other, got {dependencies}.")
    return [f"{match[1]}=={match[2]}" for match in found if match]


def main() -> None:
    """Test at both ends; end with an error at the first that fails."""
    parser = argparse.ArgumentParser(description="Test with the oldest and the newest versions of the dependencies.")
    parser.add_argument("--wheels", type=Path, default=ROOT / "dist", help="folder of the wheels")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    found = pythons()
    # The oldest versions have no wheels for newer Pythons.
    # pandas 3 has texts that scikit-learn 1.6 does not know; it is no dependency, but the tests use it.
    oldest = [*pinned(dependencies), "pandas==2.2.*"]
    for name, version, pins in (("oldest", min(found), oldest), ("newest", max(found), ["pandas"])):
        with tempfile.TemporaryDirectory() as folder:
            wheel = wheel_for(version, given.wheels)
            python = environment(found[version], Path(folder), "--only-binary=:all:", wheel, *pins, *TOOLS)
            listed = run([python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check"]).splitlines()
            wanted = {re.split("[>=]", dependency)[0] for dependency in dependencies}
            have = ", ".join(line.replace("==", " ") for line in listed if line.partition("==")[0] in wanted)
            print(f"{name}: Python {'.'.join(map(str, version))}, {have}", flush=True)
            without = [part for test in NOT_OLDEST for part in ("--deselect", test)] if name == "oldest" else []
            report = run([python, "-m", "pytest", "-n", str(given.jobs), *without, *TESTS], cwd=ROOT)
            print(f"  {report.splitlines()[-1]}", flush=True)


if __name__ == "__main__":
    main()
