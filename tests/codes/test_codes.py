import copy
import json
import pickle

import numpy as np
import pytest
from codes.drawn import MARK, draw_codes
from reference import codes as reference
from sklearn.model_selection import KFold, train_test_split

from lowtide.codes import Codes, CodeSource, pack_levels
from lowtide.errors import CodeLayoutError, FileFormatError, LowtideError, ParameterError
from lowtide.spec import Part

SIDE = bytes(range(16, 32))


def through_json(state):
    """Return a state whose specs have been text."""
    return {name: Part(part.version, json.loads(json.dumps(part.spec)), part.arrays) for name, part in state.items()}


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("bits", range(1, 9))
def test_codes_decode_to_the_codebook_of_their_levels(bits, width):
    for n, n_levels in [(0, 5), (1, 1), (3, 65)]:
        C = draw_codes(n, n_levels, bits, width)
        assert C.shape == (n, n_levels * width) == np.asarray(C).shape
        book = C.codebook.reshape(1 << bits, width)
        np.testing.assert_array_equal(np.asarray(C), reference.decoded(C.levels(), book))
        np.testing.assert_array_equal(np.asarray(C, dtype=np.float64), np.asarray(C).astype(np.float64))
        assert np.asarray(C).dtype == C.dtype == np.float32


def test_codes_report_what_they_are():
    C = draw_codes(3, 70, 6)
    assert (len(C), C.n_rows, C.n_levels, C.bits, C.ndim, C.nbytes) == (3, 3, 70, 6, 2, 3 * 72)
    assert (C.fingerprint, C.side) == (MARK, bytes(16))
    assert draw_codes(3, 70, 6, side=SIDE).side == SIDE
    assert repr(C) == "Codes(3 x 70, bits=6, 216 bytes, fingerprint=00010203...)"
    assert repr(C.T) == repr(C) + ".T"
    assert C.T.shape == (70, 3)
    assert C.T.T is C


def test_pairs_are_interleaved():
    C = Codes(pack_levels([[0, 1]], 1), bits=1, n_levels=2, codebook=[[1, 2], [3, 4]], fingerprint=MARK)
    np.testing.assert_array_equal(np.asarray(C), [[1, 2, 3, 4]])


def test_packed_and_codebook_are_read_only():
    C = draw_codes(2, 9, 2)
    with pytest.raises(ValueError, match="read-only"):
        C.packed[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        C.codebook[0] = 1


def test_array_without_copy_is_refused():
    with pytest.raises(ValueError, match="without a copy"):
        np.array(draw_codes(2, 9, 1), copy=False)


@pytest.mark.parametrize(
    "key",
    [slice(2, 5), slice(None, None, 2), slice(5, None, -1), [4, 0, 4], np.array([1, -1]), [], slice(0, 0)],
    ids=str,
)
def test_indexing_stays_packed_and_takes_rows(key):
    C = draw_codes(8, 65, 2)
    taken = C[key]
    assert isinstance(taken, Codes)
    rows = np.asarray(C)[np.asarray(key, int) if isinstance(key, list) else key]
    np.testing.assert_array_equal(np.asarray(taken), rows)
    assert (taken.fingerprint, taken.bits) == (C.fingerprint, C.bits)


def test_indexing_by_mask_and_by_one_integer():
    C = draw_codes(4, 65, 3)
    mask = np.array([True, False, False, True])
    assert C[mask] == C[[0, 3]]
    assert C[mask.tolist()] == C[[0, 3]]
    assert C[-1] == C[3:] == C[np.int64(3)]
    assert C[1].shape == (1, 65)


def test_slices_share_bytes():
    C = draw_codes(8, 65, 2)
    assert np.shares_memory(C[2:4].packed, C.packed)


@pytest.mark.parametrize("key", [(0, 1), (slice(None), 0), 1.5, "a", None, [[0]], True])
def test_indexing_by_anything_else_is_refused(key):
    with pytest.raises(CodeLayoutError, match="indexed by"):
        draw_codes(2, 9, 1)[key]


@pytest.mark.parametrize("key", [2, [0, 2], -3, np.array([True])], ids=str)
def test_indexing_out_of_range_is_an_index_error(key):
    with pytest.raises(IndexError):
        draw_codes(2, 9, 1)[key]


def test_codes_from_unaligned_strided_and_read_only_bytes_are_equal():
    C = draw_codes(6, 130, 1)
    buffer = np.zeros(C.nbytes + 1, np.uint8)
    buffer[1:] = C.packed.ravel()
    unaligned = buffer[1:].reshape(C.packed.shape)
    strided = np.repeat(C.packed, 2, axis=0)[::2]
    for packed in (unaligned, strided, np.asfortranarray(C.packed)):
        D = Codes(packed, bits=1, n_levels=130, codebook=C.codebook, fingerprint=MARK)
        assert D == C
        np.testing.assert_array_equal(D @ np.ones(130), C @ np.ones(130))


def test_equality_sees_every_part():
    C = draw_codes(3, 9, 2)
    parts = {"bits": 2, "n_levels": 9, "codebook": C.codebook, "fingerprint": MARK}
    flipped = C.packed.copy()
    flipped[1, 0] ^= 1
    assert Codes(C.packed.copy(), **parts) == C
    assert Codes(flipped, **parts) != C
    assert C.with_codebook(-C.codebook) != C
    assert Codes(C.packed, **{**parts, "fingerprint": bytes(16)}) != C
    assert Codes(C.packed, **parts, side=SIDE) != C
    assert C[:2] != C
    assert np.asarray(C).tolist() != C


def test_codes_are_not_hashable():
    with pytest.raises(TypeError, match="unhashable"):
        hash(draw_codes(1, 1, 1))


def test_copy_shares_and_deepcopy_and_pickle_do_not():
    C = draw_codes(3, 70, 6, 2, side=SIDE)
    assert np.shares_memory(copy.copy(C).packed, C.packed)
    for twin in (copy.copy(C), copy.deepcopy(C), pickle.loads(pickle.dumps(C))):
        assert twin == C
        assert (twin.fingerprint, twin.side) == (MARK, SIDE)
        assert not twin.packed.flags.writeable
    assert not np.shares_memory(copy.deepcopy(C).packed, C.packed)


def test_with_codebook_shares_bytes_and_keeps_both_identities():
    C = draw_codes(5, 33, 4, side=SIDE)
    pairs = np.random.default_rng(0).normal(size=(16, 2))
    F = C.with_codebook(pairs)
    assert np.shares_memory(F.packed, C.packed)
    assert (F.fingerprint, F.side, F.shape) == (MARK, SIDE, (5, 66))
    np.testing.assert_array_equal(np.asarray(F), reference.decoded(C.levels(), pairs.astype(np.float32)))


def test_rows_of_a_template_have_its_codebook_and_both_identities():
    C = draw_codes(5, 33, 4, side=SIDE)
    template = C[:0]
    assert template.with_rows(C.packed) == C
    assert (template.fingerprint, template.side) == (MARK, SIDE)


@pytest.mark.parametrize("norms", [None, np.arange(3.0)])
@pytest.mark.parametrize("scale", [None, np.arange(140.0)])
def test_state_gives_the_codes_again(scale, norms):
    C = draw_codes(3, 70, 6, 2, side=SIDE)
    parts = {"bits": 6, "n_levels": 70, "codebook": C.codebook, "fingerprint": MARK, "side": SIDE}
    C = Codes(C.packed, **parts, scale=scale, norms=norms)
    state = C.to_state()
    assert list(state) == ["codes"] + ([] if norms is None else ["norms"])
    assert Codes.from_state(through_json(state)) == C
    codes = state["codes"]
    for name in ("fingerprint", "side"):
        spec = {each: value for each, value in codes.spec.items() if each != name}
        with pytest.raises(KeyError, match=name):
            Codes.from_state({**state, "codes": Part(1, spec, codes.arrays)})


@pytest.mark.parametrize("times_norms", [None, False, True])
@pytest.mark.parametrize("scale", [None, np.arange(9.0)])
def test_template_state_gives_the_codes_without_their_rows(scale, times_norms):
    C = draw_codes(3, 9, 1, side=SIDE)
    norms = None if times_norms is None else np.arange(3.0)
    parts = {"bits": 1, "n_levels": 9, "codebook": C.codebook, "fingerprint": MARK, "side": SIDE}
    C = Codes(C.packed, **parts, scale=scale, norms=norms)
    C = C.times_norms() if times_norms else C
    state = C.template_state()
    assert list(state) == ["template"]
    assert Codes.template_from_state({**through_json(state), "decision": Part(1, {})}) == C[:0]


def test_state_of_another_kind_or_version_is_refused_by_name():
    state = draw_codes(3, 9, 1).to_state()
    with pytest.raises(FileFormatError, match="there must be a part 'codes', got none"):
        Codes.from_state({})
    with pytest.raises(FileFormatError, match="part 'rotations' that this version of lowtide does not know"):
        Codes.from_state({**state, "rotations": Part(1, {})})
    with pytest.raises(FileFormatError, match="part 'codes' must be of version 1, got version 2. Update lowtide"):
        Codes.from_state({"codes": Part(2, {})})


def test_state_that_lost_an_array_is_refused():
    C = draw_codes(3, 9, 1)
    codes = Codes(
        C.packed, bits=1, n_levels=9, codebook=C.codebook, fingerprint=MARK, scale=np.ones(9), norms=np.ones(3)
    ).to_state()["codes"]
    arrays = {name: array for name, array in codes.arrays.items() if name != "scale"}
    with pytest.raises(CodeLayoutError, match="factors of columns"):
        Codes.from_state({"codes": Part(1, codes.spec, arrays)})
    for norms, times in ((np.ones(3), False), (np.ones(3, np.float32), 1)):
        part = Part(1, {"times_norms": times}, {"norms": norms})
        with pytest.raises(CodeLayoutError, match="norms must be float32"):
            Codes.from_state({"codes": codes, "norms": part})


def test_blocks_cover_the_rows_in_order():
    C = draw_codes(7, 9, 1)
    assert isinstance(C, CodeSource)
    blocks = list(C.blocks(3))
    assert [len(block) for block in blocks] == [3, 3, 1]
    np.testing.assert_array_equal(np.vstack([np.asarray(block) for block in blocks]), np.asarray(C))
    assert list(C[:0].blocks(3)) == []
    with pytest.raises(ParameterError, match="size"):
        next(C.blocks(0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"packed": np.zeros((2, 8), np.int8)}, "uint8 array of shape"),
        ({"packed": np.zeros((2, 16), np.uint8)}, "uint8 array of shape"),
        ({"packed": np.zeros(8, np.uint8)}, "uint8 array of shape"),
        ({"packed": np.full((2, 8), 255, np.uint8)}, "must be zero"),
        ({"bits": 9}, "bits must be an integer from 1 to 8"),
        ({"n_levels": 0}, "n_levels must be an integer"),
        ({"codebook": [1.0, 2.0, 3.0]}, r"shape \(2,\) or \(2, 2\), got shape \(3,\)"),
        ({"codebook": [1.0, np.nan]}, "finite"),
        ({"codebook": [1.0, 1e300]}, "finite"),
        ({"fingerprint": b"short"}, "16 bytes"),
        ({"fingerprint": "0123456789abcdef"}, "16 bytes"),
        ({"side": b"short"}, "side must be 16 bytes"),
    ],
)
def test_constructor_refuses_what_does_not_fit(change, message):
    good = {"packed": np.zeros((2, 8), np.uint8), "bits": 1, "n_levels": 9, "codebook": [-1, 1], "fingerprint": MARK}
    arguments = {**good, **change}
    with pytest.raises(LowtideError, match=message):
        Codes(arguments.pop("packed"), **arguments)


def test_train_test_split_and_folds_take_codes():
    C, y = draw_codes(20, 9, 1), np.arange(20)
    train, test, y_train, y_test = train_test_split(C, y, test_size=5, random_state=0)
    assert (train, test) == (C[y_train], C[y_test])
    for fit, hold in KFold(4).split(C):
        assert (len(C[fit]), len(C[hold])) == (15, 5)
