import numpy as np
import pytest
from reference import rotation

from lowtide import _core

F = np.float32
WIDTHS = [1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 64, 127, 128, 384, 617, 1000, 1023, 1025, 1536, 4097]


def project(X, layout, p):
    out = np.full((len(X), p), np.nan, F)
    _core.project(X, layout, np.ones(p, F), out)
    return out


@pytest.mark.parametrize("d", WIDTHS)
def test_rotation_gives_the_bits_of_the_reference(d):
    rng = np.random.default_rng(d)
    X, layout = rng.normal(size=(3, d)).astype(F), rotation.draw(rng, 2, 4, d)
    truth = np.hstack([rotation.rotated(X, one) for one in layout])
    for p in (2 * d, d, d // 2 + 1):
        assert project(X, layout, p).tobytes() == truth[:, :p].tobytes()


@pytest.mark.parametrize("d", [1, 3, 100, 617])
def test_rotation_refuses_what_is_not_finite(d):
    layout = rotation.draw(np.random.default_rng(0), 1, 4, d)
    for place in {0, d // 2, d - 1}:
        X = np.zeros((2, d), F)
        X[1, place] = np.nan
        with pytest.raises(OverflowError):
            project(X, layout, d)


def test_rotation_takes_no_rows_and_refuses_too_many_frequencies():
    layout = rotation.draw(np.random.default_rng(0), 2, 4, 5)
    assert project(np.empty((0, 5), F), layout, 10).shape == (0, 10)
    with pytest.raises(ValueError, match=r"at most n_blocks \* d"):
        project(np.empty((1, 5), F), layout, 11)
