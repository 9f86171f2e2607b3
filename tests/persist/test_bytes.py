"""Files without a disk: the bytes of `save`, and as careful a way back as `load`."""

import numpy as np
import pytest
from persist.samples import classifier, encoder, rows

import lowtide as lt
from lowtide.errors import FileFormatError
from lowtide.persist import from_bytes, to_bytes


@pytest.mark.parametrize("thing", [encoder(), classifier(), encoder().encode(rows())], ids=lambda t: type(t).__name__)
def test_bytes_are_those_of_the_file(thing, tmp_path):
    lt.save(thing, tmp_path / "x.lowtide")
    assert to_bytes(thing) == (tmp_path / "x.lowtide").read_bytes()


def test_weights_in_float64_come_back_as_they_were():
    model = classifier()
    loaded = from_bytes(to_bytes(model, weights="float64"))
    np.testing.assert_array_equal(loaded.coef_, model.coef_)


def test_another_kind_than_wanted_is_refused():
    with pytest.raises(FileFormatError, match="must hold a Codes, got a KernelClassifier"):
        from_bytes(to_bytes(classifier()), kind=lt.Codes)


@pytest.mark.parametrize("cut", [0, 7, 100, 500, -1])
def test_bytes_that_are_cut_short_or_changed_are_refused(cut):
    data = to_bytes(encoder())
    with pytest.raises(FileFormatError):
        from_bytes(data[:cut])
    changed = bytearray(data)
    changed[cut] ^= 1
    with pytest.raises(FileFormatError):
        from_bytes(bytes(changed))
