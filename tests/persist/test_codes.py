"""Codes come back packed as they were, from memory or from the file itself."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest
from persist.samples import classifier, encoder, packed, rows

import lowtide as lt
from lowtide.codes import Codes, pack_levels
from lowtide.errors import FileFormatError


def _codes(bits=1, n=9, n_levels=13, pairs=False):
    rng = np.random.default_rng(bits)
    levels = rng.integers(0, 1 << bits, (n, n_levels), dtype=np.uint8)
    book = rng.standard_normal((1 << bits, 2) if pairs else 1 << bits)
    fingerprint = bytes(range(16))
    return Codes(pack_levels(levels, bits), bits=bits, n_levels=n_levels, codebook=book, fingerprint=fingerprint)


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("bits", range(1, 9))
def test_codes_come_back_equal(bits, pairs, tmp_path):
    lt.save(codes := _codes(bits, pairs=pairs), tmp_path / "c.lowtide")
    loaded = lt.load(tmp_path / "c.lowtide")
    assert loaded == codes
    assert np.array_equal(np.asarray(loaded), np.asarray(codes))
    assert lt.persist.open_codes(tmp_path / "c.lowtide")[:] == codes


@pytest.mark.parametrize("n", [0, 1])
def test_few_rows_come_back(n, tmp_path):
    lt.save(codes := _codes(n=n), tmp_path / "c.lowtide")
    assert lt.load(tmp_path / "c.lowtide") == codes
    stored = lt.persist.open_codes(tmp_path / "c.lowtide")
    assert stored.shape == (n, 13)
    assert stored[:] == codes
    assert len(list(stored.blocks(4))) == n


def test_slices_are_saved_as_they_are(tmp_path):
    codes = _codes(n=50)
    for part in (codes[3:11], codes[::3], codes[[7, 2]]):
        lt.save(part, tmp_path / "c.lowtide")
        assert lt.load(tmp_path / "c.lowtide") == part


@pytest.mark.parametrize("n", [1, 1000, 50_000])
def test_rows_of_a_file_are_those_of_the_codes(n, tmp_path):
    lt.save(codes := _codes(n=n, n_levels=100), tmp_path / "c.lowtide")
    stored = lt.persist.open_codes(tmp_path / "c.lowtide")
    index = np.random.default_rng(0).integers(-n, n, 300)
    for key in (slice(None), slice(n // 3, n // 2), slice(None, None, -7), index, index[:1], np.arange(n) % 3 == 0, -1, []):
        assert stored[key] == codes[key]
    assert lt.concatenate(list(stored.blocks(777))) == codes
    assert (stored.bits, stored.n_levels, stored.nbytes) == (codes.bits, codes.n_levels, codes.nbytes)
    assert not stored[:1].packed.flags.writeable


def test_stored_codes_outlive_their_file_being_replaced(tmp_path):
    lt.save(codes := _codes(n=1000), tmp_path / "c.lowtide")
    stored = lt.persist.open_codes(tmp_path / "c.lowtide")
    lt.save(_codes(n=3), tmp_path / "c.lowtide")
    os.unlink(tmp_path / "c.lowtide")
    assert stored[:] == codes


def test_stored_codes_are_checked_first(tmp_path):
    lt.save(_codes(n=100), tmp_path / "c.lowtide")
    data = bytearray((tmp_path / "c.lowtide").read_bytes())
    data[-100] ^= 1
    (tmp_path / "c.lowtide").write_bytes(data)
    with pytest.raises(FileFormatError, match="checksum"):
        lt.persist.open_codes(tmp_path / "c.lowtide")


def test_open_codes_refuses_what_is_not_codes(tmp_path):
    lt.save(encoder(), tmp_path / "e.lowtide")
    with pytest.raises(FileFormatError, match="must hold Codes, got a RandomFeatures"):
        lt.persist.open_codes(tmp_path / "e.lowtide")


def test_stored_rows_with_bits_past_the_last_level_are_refused(tmp_path):
    codes = _codes(n=3)
    state = codes.to_state()["codes"]
    header = {"kind": "Codes", "parts": {"codes": {"version": 1, "spec": state.spec}}, "writer": "a test"}
    bad = codes.packed.copy()
    bad[1, 7] = 128
    arrays = {"codes/codebook": codes.codebook, "codes/packed": bad}
    (tmp_path / "c.lowtide").write_bytes(packed(header, arrays))
    stored = lt.persist.open_codes(tmp_path / "c.lowtide")
    assert stored[:1] == codes[:1]
    with pytest.raises(FileFormatError, match="rows 0 to 2 must be codes.*past the 13 used ones"):
        stored[:]


def test_loaded_codes_can_be_pickled(tmp_path):
    lt.save(codes := _codes(), tmp_path / "c.lowtide")
    assert pickle.loads(pickle.dumps(lt.load(tmp_path / "c.lowtide"))) == codes
    assert pickle.loads(pickle.dumps(lt.persist.open_codes(tmp_path / "c.lowtide")))[:] == codes


def test_file_of_codes_is_their_bytes_and_a_short_header(tmp_path):
    lt.save(codes := _codes(n=1000), tmp_path / "c.lowtide")
    assert codes.nbytes < os.path.getsize(tmp_path / "c.lowtide") < codes.nbytes + 600


def test_loaded_codes_and_a_loaded_model_still_belong_together(tmp_path):
    model = classifier()
    lt.save(model, tmp_path / "m.lowtide", weights="float64")
    lt.save(model.features_.encode(rows()), tmp_path / "c.lowtide")
    codes = lt.persist.open_codes(tmp_path / "c.lowtide")
    assert np.array_equal(lt.load(tmp_path / "m.lowtide").decision_function(codes), model.decision_function(rows()))


def test_load_refuses_another_kind_than_was_asked_for(tmp_path):
    lt.save(encoder(), tmp_path / "e.lowtide")
    with pytest.raises(FileFormatError, match="must hold a Codes, got a RandomFeatures"):
        lt.load(tmp_path / "e.lowtide", kind=lt.Codes)
    with pytest.raises(FileFormatError, match="KernelClassifier or KernelRegressor, got a RandomFeatures"):
        lt.load(tmp_path / "e.lowtide", kind=(lt.KernelClassifier, lt.KernelRegressor))
    assert isinstance(lt.load(tmp_path / "e.lowtide", kind=lt.encoders.Encoder), lt.RandomFeatures)
