"""Damaged, cut, foreign and forged files: always an error of ours, never a crash and never a wrong object."""

from __future__ import annotations

import copy
import json
import tracemalloc

import numpy as np
import pytest
from given import given_classifier
from persist.samples import asymmetric, classifier, encoder, forged, packed, rows

import lowtide as lt
from lowtide.encoders import DrawnEncoder, Encoder
from lowtide.errors import FileFormatError
from lowtide.persist.container import unpack

SKETCH = lt.Sketch(64, bits=3, store_norms=True, random_state=0)
FEATURES = lt.RandomFeatures(n_components=64, quantizer="phase", bits=2, random_state=0)
SAMPLES = {
    "encoder": lambda: encoder("stochastic"),
    "dense": lambda: encoder("dense_phase"),
    "classifier": lambda: classifier(features=FEATURES),
    "codes": lambda: encoder().encode(rows()),
    "sketch": lambda: SKETCH.fit(rows()),
    "codes_with_norms": lambda: SKETCH.linear(SKETCH.fit(rows()).encode(rows())),
    "classifier_of_codes": lambda: classifier_of_sketch(),
    "ternary": lambda: lt.TernaryFeatures("relu", n_components=64, sparsity=0.0, random_state=0).fit(rows()),
    "asymmetric": lambda: asymmetric("sinh_on_two_layouts"),
    "lssvc": lambda: lt.AsymmetricLSSVC(asymmetric("default")).fit(rows(), np.arange(40) % 3),
    "learned": lambda: lt.LearnedFeatures(n_bytes=8, n_components=64, random_state=0).fit(rows()),
    "learned_kernel": lambda: lt.LearnedFeatures(n_bytes=8, measure="kernel", random_state=0).fit(rows()),
    "classifier_of_fields": lambda: classifier(features=lt.LearnedFeatures(n_bytes=8, n_components=64, random_state=0)),
    "fields": lambda: lt.LearnedFeatures(n_bytes=8, n_components=64, random_state=0).fit(rows()).encode(rows()),
    "scaled_codes": lambda: asymmetric().encode(rows()),
}


def classifier_of_sketch():
    """Return a model of Fourier codes whose encoder would give linear ones."""
    codes = SKETCH.fit(rows()).encode(rows())
    return given_classifier(SKETCH).fit(SKETCH.fourier(codes, 0.5), np.arange(len(codes)) % 3)


# What a stranger may put in the place of any value.
NUMBERS = (None, True, -1, 0, 3, 10**12, 10**30, 0.5, -1e300)
TEXTS = ("", "x", "00" * 16, "Gaussian", "codes")
OBJECTS = (
    [],
    [[[]]],
    {},
    {"type": "Hadamard"},
    {"type": ["Gaussian"]},
    {"type": "Gaussian", "bandwidth": 10**400},
    {"type": "PeriodicMap", "f": [1]},
    {"kind": "RandomFeatures"},
    {"fitted": True, "frozen": True},
    {"dtype": "str", "values": ["a", "b"]},
    {"dtype": "float64", "values": [1, "x"]},
)
STRANGE = (*NUMBERS, *TEXTS, *OBJECTS)


@pytest.fixture(params=SAMPLES)
def sample(request, tmp_path):
    lt.save(SAMPLES[request.param](), tmp_path / "f.lowtide")
    return tmp_path / "f.lowtide"


def _positions(rng, n_bytes):
    """Return every byte of the start, which is the most delicate, and as many again of the rest."""
    return np.unique(np.concatenate([np.arange(150), rng.integers(0, n_bytes, 150)]))


def test_every_flipped_bit_is_found(sample):
    data = bytearray(sample.read_bytes())
    rng = np.random.default_rng(0)
    for position in _positions(rng, len(data)):
        bit = 1 << int(rng.integers(8))
        data[position] ^= bit
        sample.write_bytes(data)
        with pytest.raises(FileFormatError):
            lt.load(sample)
        data[position] ^= bit
    sample.write_bytes(data)
    lt.load(sample)


def test_every_missing_end_is_found(sample):
    data = sample.read_bytes()
    lengths = _positions(np.random.default_rng(1), len(data))
    for length in (*lengths[lengths < len(data)], len(data) - 1):
        sample.write_bytes(data[:length])
        with pytest.raises(FileFormatError):
            lt.load(sample)


def test_bytes_after_the_end_are_found(sample):
    data = sample.read_bytes()
    for extra in (b"\0", b" ", data):
        sample.write_bytes(data + extra)
        with pytest.raises(FileFormatError):
            lt.persist.describe(sample)


def test_garbage_is_refused(tmp_path):
    rng = np.random.default_rng(2)
    start = packed({}, {})[:140]
    for i in range(200):
        garbage = rng.bytes(int(rng.integers(0, 400)))
        (tmp_path / "f").write_bytes(garbage if i % 2 else start + garbage)
        with pytest.raises(FileFormatError):
            lt.load(tmp_path / "f")


def _places(spec, path=()):
    """Yield the path of every value of nested lists and dictionaries."""
    children = spec.items() if isinstance(spec, dict) else enumerate(spec) if isinstance(spec, list) else ()
    for key, value in children:
        yield (*path, key)
        yield from _places(value, (*path, key))


def _parent(spec, path):
    for key in path[:-1]:
        spec = spec[key]
    return spec


def _load_or_refuse(path, data):
    """Load a forged file and use what it gives: an object, or an error of ours, within little memory."""
    path.write_bytes(data)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    try:
        loaded = lt.load(path)
    except FileFormatError:
        loaded = None
    if isinstance(loaded, lt.Codes):
        np.asarray(loaded)
    elif loaded is not None:
        X = rows(d=min(loaded.n_features_in_, 100))
        loaded.transform(X) if isinstance(loaded, Encoder) else loaded.predict(X)
    assert tracemalloc.get_traced_memory()[1] - before < 300e6
    return loaded


@pytest.fixture
def traced():
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.parametrize("forge", [False, True])
def test_strange_specs_are_refused_or_harmless(sample, traced, forge, request):
    if forge:
        request.getfixturevalue("fingerprints_forged")
    read = unpack("f", np.fromfile(sample, dtype=np.uint8))
    rng = np.random.default_rng(3)
    refused = 0
    for path in _places(read.header):
        for strange in (STRANGE[i] for i in rng.choice(len(STRANGE), 2, replace=False)):
            header = copy.deepcopy(read.header)
            _parent(header, path)[path[-1]] = strange
            refused += _load_or_refuse(sample, packed(json.loads(json.dumps(header)), read.arrays)) is None
    # Parameters of an estimator are kept as they are, and used by its next fit only; most of the rest is refused.
    assert refused > len(list(_places(read.header))) / 2


def test_missing_parts_of_specs_are_refused(sample):
    read = unpack("f", np.fromfile(sample, dtype=np.uint8))
    parts = read.header["parts"]
    specs = [part["spec"] for part in parts.values()]
    inner = [spec[name] for spec in specs for name in ("classes", "fitted") if isinstance(spec.get(name), dict)]
    for owner in (read.header, parts, *parts.values(), *specs, *inner):
        for name in set(owner) - {"writer"}:
            kept = owner.pop(name)
            sample.write_bytes(packed(read.header, read.arrays))
            with pytest.raises(FileFormatError):
                lt.load(sample)
            owner[name] = kept
    sample.write_bytes(packed(read.header, read.arrays))
    lt.load(sample)


def _strange_forms(array):
    """Yield arrays of another shape, then of another type, then of this type and shape with strange values."""
    yield from (array[None], array[..., None], array[..., :-1], np.concatenate([array, array], axis=-1))
    ones = np.ones(array.shape)
    yield from (ones.astype(kind) for kind in ("f8", "f4", "f2", "i8", "i1", "u1") if np.dtype(kind) != array.dtype)
    if array.dtype.kind == "f":
        yield from (np.full_like(array, value) for value in (np.nan, np.inf, -np.inf))


@pytest.fixture
def fingerprints_forged(monkeypatch):
    """Whoever forges a file can also compute the fingerprint of what it then holds."""

    def unchecked(state):
        part = state["encoder"]
        return DrawnEncoder._kinds[part.spec["kind"]].restore(part.spec, part.arrays)

    for module in ("encoders.encoder", "learners.decision"):
        monkeypatch.setattr(f"lowtide.{module}.drawn_from_state", unchecked)


def test_strange_arrays_are_refused(sample, traced, fingerprints_forged):
    read = unpack("f", np.fromfile(sample, dtype=np.uint8))
    for name, array in read.arrays.items():
        for strange in _strange_forms(array):
            if (
                name.split("/")[1] in ("weights", "right_weights", "intercept", "right_intercept", "codebook", "scale")
                and strange.shape == array.shape
                and np.isfinite(strange).all()
            ):
                continue  # any type of number will do
            loaded = _load_or_refuse(sample, packed(read.header, {**read.arrays, name: strange}))
            assert loaded is None, f"{name}: {strange.dtype} {strange.shape}"
        left_out = {other: value for other, value in read.arrays.items() if other != name}
        assert _load_or_refuse(sample, packed(read.header, left_out)) is None


@pytest.mark.parametrize("kind", ["Sketchy", "os.system", "", None, 3, ["Codes"], {"type": "Codes"}])
def test_kind_that_is_not_registered_is_refused_by_name(kind, tmp_path):
    (tmp_path / "f").write_bytes(forged({"kind": kind, "writer": "lowtide 9", "parts": {}}, {}))
    with pytest.raises(FileFormatError, match="must hold one of RandomFeatures, .*Update lowtide"):
        lt.load(tmp_path / "f")


def test_other_part_with_another_fingerprint_is_refused(tmp_path):
    lt.save(encoder(), tmp_path / "f")
    read = unpack("f", np.fromfile(tmp_path / "f", dtype=np.uint8))
    read.header["parts"]["encoder"]["spec"]["kernel"]["bandwidth"] *= 2
    (tmp_path / "f").write_bytes(packed(read.header, read.arrays))
    with pytest.raises(FileFormatError, match="fingerprint must be"):
        lt.load(tmp_path / "f")


def test_one_long_label_cannot_ask_for_its_length_in_every_label(tmp_path, traced):
    lt.save(classifier(), tmp_path / "f")
    read = unpack("f", np.fromfile(tmp_path / "f", dtype=np.uint8))
    read.header["parts"]["decision"]["spec"]["classes"] = {
        "dtype": "str",
        "values": ["a" * 100_000, *map(str, range(10_000))],
    }
    assert _load_or_refuse(tmp_path / "f", packed(read.header, read.arrays)) is None


def test_learner_with_the_encoder_of_another_is_refused(tmp_path):
    lt.save(classifier(), tmp_path / "f")
    read = unpack("f", np.fromfile(tmp_path / "f", dtype=np.uint8))
    lt.save(encoder(), tmp_path / "g")
    other = unpack("g", np.fromfile(tmp_path / "g", dtype=np.uint8))
    read.header["parts"]["encoder"] = other.header["parts"]["encoder"]
    (tmp_path / "f").write_bytes(packed(read.header, {**read.arrays, **other.arrays}))
    with pytest.raises(FileFormatError, match="the encoder must be the one that the weights are for"):
        lt.load(tmp_path / "f")


def test_few_bytes_cannot_ask_for_gigabytes(tmp_path, traced, fingerprints_forged):
    for sample in (encoder(), asymmetric("sinh_on_two_layouts")):
        _check_no_gigabytes(sample, tmp_path)


def _check_no_gigabytes(sample, tmp_path):
    lt.save(sample, tmp_path / "f")
    read = unpack("f", np.fromfile(tmp_path / "f", dtype=np.uint8))
    for name in ("n_components", "n_features"):
        for size in (10**9, 10**15, 10**100):
            header = copy.deepcopy(read.header)
            header["parts"]["encoder"]["spec"][name] = size
            assert _load_or_refuse(tmp_path / "f", packed(header, read.arrays)) is None
