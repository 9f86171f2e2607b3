"""Argument checks: one message form."""

import math
from fractions import Fraction

import numpy as np
import pytest

from lowtide import errors
from lowtide._checks import check_integer, check_interval, check_option, check_positive, fail
from lowtide.errors import LowtideError, ParameterError


def test_fail_says_owner_limit_value_and_remedy():
    error = fail("LloydMax", "bits must be an integer from 1 to 8", 12, "Keep float features: bits=None.")
    assert str(error) == "LloydMax: bits must be an integer from 1 to 8, got 12. Keep float features: bits=None."
    assert str(fail("A", "b must be c", "d")) == "A: b must be c, got 'd'."


@pytest.mark.parametrize("value", [1, 8, np.int8(3), np.uint64(8)])
def test_check_integer_returns_python_integers(value):
    assert type(check_integer("A", "b", value, 1, 8)) is int


@pytest.mark.parametrize("value", [0, 9, -1, 1.0, "1", None, True, np.bool_(True), np.float64(2.0), math.nan, [1]])
def test_check_integer_refuses(value):
    with pytest.raises(ParameterError, match=r"^A: b must be an integer from 1 to 8, got .*\. Do c\.$"):
        check_integer("A", "b", value, 1, 8, "Do c.")


def test_check_integer_without_an_upper_limit():
    assert check_integer("A", "b", 10**30, 1) == 10**30
    with pytest.raises(ParameterError, match="b must be an integer of at least 1, got 0"):
        check_integer("A", "b", 0, 1)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(2), 5e-324, Fraction(1, 3)])
def test_check_positive_returns_floats(value):
    assert type(check_positive("A", "b", value)) is float


@pytest.mark.parametrize("value", [0, -0.0, -1, math.inf, -math.inf, math.nan, "1", None, True, 1j])
def test_check_positive_refuses(value):
    with pytest.raises(ParameterError, match="^A: b must be a finite number above 0, got"):
        check_positive("A", "b", value)


@pytest.mark.parametrize("value", [1, 2.0, 1.5])
def test_check_interval_includes_its_ends(value):
    assert check_interval("A", "b", value, 1.0, 2.0) == value


@pytest.mark.parametrize("value", [0.999, 2.001, math.nan, math.inf, "1", None, True])
def test_check_interval_refuses(value):
    with pytest.raises(ParameterError, match=r"^A: b must be a number from 1.0 to 2.0, got"):
        check_interval("A", "b", value, 1.0, 2.0)


def test_check_option_lists_the_options():
    assert check_option("A", "b", "x", ("x", "y")) == "x"
    for value in ("z", None, 1, ["x"]):
        with pytest.raises(ParameterError, match="^A: b must be one of 'x', 'y', got"):
            check_option("A", "b", value, ("x", "y"))


def test_every_error_is_ours_and_a_built_in():
    for name in errors.__all__:
        cls = getattr(errors, name)
        if name.endswith("Warning"):
            assert issubclass(cls, UserWarning)
        elif name != "LowtideError":
            assert issubclass(cls, LowtideError)
            assert issubclass(cls, (ValueError, ImportError, OSError, MemoryError, RuntimeError))
