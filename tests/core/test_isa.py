import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from core import cases

from lowtide import _core

# By family and rank: a processor runs the plain level, and those of its own family up to the one it has.
FAMILIES = [["avx2", "avx512", "vbmi", "amx"], ["neon", "dotprod", "i8mm"]]
LEVELS = ["scalar", *FAMILIES[0], *FAMILIES[1]]
RUNNABLE = ["scalar"] + [
    level
    for family in FAMILIES
    if _core.detected_isa() in family
    for level in family[: family.index(_core.detected_isa()) + 1]
]
NAMES = "scalar, avx2, avx512, vbmi, amx, neon, dotprod or i8mm"


def in_python(code, level):
    paths = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "LOWTIDE_ISA": level, "PYTHONPATH": paths}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def here():
    return cases.all_outputs()


@pytest.mark.parametrize("level", RUNNABLE)
def test_every_op_gives_the_same_bits_at_every_level(level, here, tmp_path):
    file = tmp_path / "outputs.npz"
    tests = Path(__file__).parents[1]
    code = (
        f"import sys; sys.path.insert(0, {str(tests)!r});"
        "import numpy; from core import cases; from lowtide import _core;"
        f"numpy.savez({str(file)!r}, **cases.all_outputs()); print(_core.isa())"
    )
    assert in_python(code, level) == level
    with np.load(file) as outputs:
        assert set(outputs.files) == set(here)
        different = [name for name in outputs.files if outputs[name].tobytes() != here[name].tobytes()]
    assert not different


@pytest.mark.parametrize("level", LEVELS)
def test_forced_level_is_followed_or_complained_about(level):
    found, complaint = in_python(
        "from lowtide import _core; print(_core.isa()); print(_core.isa_complaint() or '-')", level
    ).splitlines()
    if level in RUNNABLE:
        assert (found, complaint) == (level, "-")
    else:
        assert found == _core.detected_isa()
        assert "does not have" in complaint


@pytest.mark.parametrize("wish", ["sse9", "AVX2", "scalar "])
def test_unknown_level_is_complained_about_and_not_followed(wish):
    found = in_python("from lowtide import _core; print(_core.isa(), _core.isa_complaint(), sep='|')", wish)
    assert found == f"{_core.detected_isa()}|LOWTIDE_ISA must be {NAMES}"


def test_empty_wish_means_the_detected_level():
    found = in_python("from lowtide import _core; print(_core.isa() + _core.isa_complaint())", "")
    assert found == _core.detected_isa()


def test_versions_say_why_a_wish_was_not_followed():
    found = in_python("import lowtide; lowtide.show_versions()", "sse9")
    assert f"instructions {_core.detected_isa()} (LOWTIDE_ISA must be {NAMES})" in found


@pytest.mark.parametrize("level", RUNNABLE)
def test_an_op_is_fast_where_the_level_has_a_form_of_its_own(level):
    code = "from lowtide import _core; print(_core.is_fast('hadamard'), _core.is_fast('digit_product'))"
    assert in_python(code, level) == f"{level != 'scalar'} {level in ('amx', 'i8mm')}"


@pytest.mark.parametrize("name", ["", "sse9", "hadamard "])
def test_is_fast_refuses_what_the_table_does_not_have(name):
    with pytest.raises(ValueError, match=f"must be in the table of ops, got {name}$"):
        _core.is_fast(name)


def test_every_op_that_the_stub_lists_is_in_the_package():
    stub = Path(_core.__file__).parent / "_lowtide_core.pyi"
    listed = {node.name for node in ast.parse(stub.read_text()).body if isinstance(node, ast.FunctionDef)}
    assert {"encode", "code_gram", "is_fast"} < listed <= set(vars(_core))


def test_unknown_level_is_warned_of_at_first_use():
    found = in_python(
        "import warnings\n"
        "with warnings.catch_warnings(record=True) as heard:\n"
        "    warnings.simplefilter('always')\n"
        "    import lowtide\n"
        "    assert not heard\n"
        "    lowtide.Codes\n"
        "print(*(str(each.message) for each in heard))",
        "sse9",
    )
    text = f"LOWTIDE_ISA must be {NAMES}, got 'sse9'. Running at {_core.detected_isa()}"
    assert found.startswith(text)
