"""Codes come back packed as they were, from memory or from the file itself."""

from __future__ import annotations

import mmap
import os
import pickle

import numpy as np
import pytest
from persist.samples import classifier, encoder, rows

import lowtide as lt
from lowtide.codes import Codes, pack_levels
from lowtide.errors import FileFormatError


def _codes(bits=1, n=9, n_levels=13, pairs=False):
    rng = np.random.default_rng(bits)
    levels = rng.integers(0, 1 << bits, (n, n_levels), dtype=np.uint8)
    book = rng.standard_normal((1 << bits, 2) if pairs else 1 << bits)
    fingerprint = bytes(range(16))
    return Codes(pack_levels(levels, bits), bits=bits, n_levels=n_levels, codebook=book, fingerprint=fingerprint)


def _owner(array):
    """Return the object at the end of a chain of views."""
    while isinstance(array, (np.ndarray, memoryview)):
        array = array.base if isinstance(array, np.ndarray) else array.obj
    return array


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("bits", range(1, 9))
def test_codes_come_back_equal(bits, pairs, mapped, tmp_path):
    lt.save(codes := _codes(bits, pairs=pairs), tmp_path / "c.lowtide")
    loaded = lt.load(tmp_path / "c.lowtide", mmap=mapped)
    assert loaded == codes
    assert np.array_equal(np.asarray(loaded), np.asarray(codes))


@pytest.mark.parametrize("n", [0, 1])
def test_few_rows_come_back(n, tmp_path):
    lt.save(codes := _codes(n=n), tmp_path / "c.lowtide")
    assert lt.load(tmp_path / "c.lowtide") == codes
    assert lt.load(tmp_path / "c.lowtide", mmap=True).shape == (n, 13)


def test_slices_are_saved_as_they_are(tmp_path):
    codes = _codes(n=50)
    for part in (codes[3:11], codes[::3], codes[[7, 2]]):
        lt.save(part, tmp_path / "c.lowtide")
        assert lt.load(tmp_path / "c.lowtide") == part


def test_mapped_codes_stay_in_the_file(tmp_path):
    lt.save(codes := _codes(n=1000), tmp_path / "c.lowtide")
    mapped = lt.load(tmp_path / "c.lowtide", mmap=True)
    assert isinstance(_owner(mapped.packed), mmap.mmap)
    assert not isinstance(_owner(lt.load(tmp_path / "c.lowtide").packed), mmap.mmap)
    assert np.array_equal(mapped @ np.ones(13), codes @ np.ones(13))


def test_mapped_codes_outlive_their_file_being_replaced(tmp_path):
    lt.save(codes := _codes(n=1000), tmp_path / "c.lowtide")
    mapped = lt.load(tmp_path / "c.lowtide", mmap=True)
    lt.save(_codes(n=3), tmp_path / "c.lowtide")
    os.unlink(tmp_path / "c.lowtide")
    assert mapped == codes


def test_mapped_codes_are_checked_first(tmp_path):
    lt.save(_codes(n=100), tmp_path / "c.lowtide")
    data = bytearray((tmp_path / "c.lowtide").read_bytes())
    data[-100] ^= 1
    (tmp_path / "c.lowtide").write_bytes(data)
    with pytest.raises(FileFormatError, match="checksum"):
        lt.load(tmp_path / "c.lowtide", mmap=True)


@pytest.mark.parametrize("mapped", [False, True])
def test_loaded_codes_can_be_pickled(mapped, tmp_path):
    lt.save(codes := _codes(), tmp_path / "c.lowtide")
    assert pickle.loads(pickle.dumps(lt.load(tmp_path / "c.lowtide", mmap=mapped))) == codes


def test_file_of_codes_is_their_bytes_and_a_short_header(tmp_path):
    lt.save(codes := _codes(n=1000), tmp_path / "c.lowtide")
    assert codes.nbytes < os.path.getsize(tmp_path / "c.lowtide") < codes.nbytes + 600


def test_loaded_codes_and_a_loaded_model_still_belong_together(tmp_path):
    model = classifier()
    lt.save(model, tmp_path / "m.lowtide", weights="float64")
    lt.save(model.features_.encode(rows()), tmp_path / "c.lowtide")
    codes = lt.load(tmp_path / "c.lowtide", mmap=True)
    assert np.array_equal(lt.load(tmp_path / "m.lowtide").decision_function(codes), model.decision_function(rows()))


def test_load_refuses_another_kind_than_was_asked_for(tmp_path):
    lt.save(encoder(), tmp_path / "e.lowtide")
    with pytest.raises(FileFormatError, match="must hold a Codes, got a RandomFeatures"):
        lt.load(tmp_path / "e.lowtide", kind=lt.Codes)
    with pytest.raises(FileFormatError, match="KernelClassifier or KernelRegressor, got a RandomFeatures"):
        lt.load(tmp_path / "e.lowtide", kind=(lt.KernelClassifier, lt.KernelRegressor))
    assert isinstance(lt.load(tmp_path / "e.lowtide", kind=lt.encoders.Encoder), lt.RandomFeatures)
