"""Invariant 5: what moves the bits of a code, and what does not."""

import os
import subprocess
import sys

import numpy as np
import pytest

from lowtide import PeriodicMap, RandomFeatures, _core
from lowtide.kernels import Gaussian, Laplace
from lowtide.quantizers import LloydMax, Phase, Stochastic, Uniform

X = np.random.default_rng(8).standard_normal((257, 20)).astype(np.float32)


def fitted(**parameters):
    return RandomFeatures(**{"gamma": 0.05, "n_components": 300, "random_state": 0, **parameters}).fit(X)


PARAMETERS = [
    {},
    {"bits": 3},
    {"quantizer": "phase", "bits": 3},
    {"quantizer": "stochastic", "bits": 2},
    {"quantizer": "stochastic", "bits": 6},
    {"feature_map": "cosine", "bits": 4},
    {"kernel": "matern", "bits": 8},
    {"projection": "iid"},
    {"projection": "iid", "kernel": "laplacian", "feature_map": "cosine", "bits": 4},
    {"projection": "orthogonal", "quantizer": "phase", "bits": 2},
]


@pytest.fixture
def threads():
    before = _core.thread_count()
    yield _core.set_thread_count
    _core.set_thread_count(before)


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_bits_do_not_depend_on_the_batch(parameters):
    encoder = fitted(**parameters)
    codes, Z = encoder.encode(X).packed, encoder.transform(X)
    for size in (1, 2, 7, 64, 100):
        batches = [X[start : start + size] for start in range(0, 257, size)]
        np.testing.assert_array_equal(np.vstack([encoder.encode(batch).packed for batch in batches]), codes)
        np.testing.assert_array_equal(np.vstack([encoder.transform(batch) for batch in batches]), Z)


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_bits_do_not_depend_on_threads(parameters, threads):
    encoder = fitted(**parameters)
    results = []
    for count in (1, 2, 3):
        threads(count)
        results.append((encoder.encode(X).packed, encoder.transform(X)))
    for packed, Z in results[1:]:
        np.testing.assert_array_equal(packed, results[0][0])
        np.testing.assert_array_equal(Z, results[0][1])


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_bits_do_not_depend_on_the_type_or_order_of_the_rows(parameters):
    encoder = fitted(**parameters)
    expected = encoder.encode(X)
    order = np.random.default_rng(0).permutation(257)
    assert encoder.encode(X[order]) == expected[order]
    assert encoder.encode(X.astype(np.float64)) == expected
    assert encoder.encode(np.asfortranarray(X)) == expected


SCRIPT = """
import hashlib
import numpy as np
from lowtide import RandomFeatures
X = np.random.default_rng(8).standard_normal((57, 20)).astype(np.float32)
digest = hashlib.sha256()
for parameters in {parameters!r}:
    parameters = {{"gamma": 0.05, "n_components": 300, "random_state": 0, **parameters}}
    encoder = RandomFeatures(**parameters).fit(X)
    digest.update(encoder.fingerprint_ + encoder.encode(X).packed.tobytes() + encoder.transform(X).tobytes())
print(digest.hexdigest())
"""


def test_bits_do_not_depend_on_the_instruction_set():
    levels = ["scalar", _core.detected_isa()]
    digests = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT.format(parameters=PARAMETERS)],
            env={**os.environ, "LOWTIDE_ISA": level},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for level in levels
    }
    assert len(digests) == 1


@pytest.mark.parametrize("projection", ["hadamard", "iid", "orthogonal"])
def test_changing_the_quantizer_moves_no_frequency(projection):
    quantizers = [LloydMax(1), LloydMax(8), Uniform(3), Phase(4), Stochastic(2)]
    encoders = [fitted(projection=projection, quantizer=quantizer) for quantizer in quantizers]
    encoders += [fitted(projection=projection, bits=None)]
    for encoder in encoders[1:]:
        np.testing.assert_array_equal(encoder.random_weights_, encoders[0].random_weights_)
        np.testing.assert_array_equal(encoder.random_offset_, encoders[0].random_offset_)


def test_changing_the_gamma_rule_or_the_scale_only_scales_the_frequencies():
    narrow, wide = (fitted(kernel=Gaussian(bandwidth), projection="iid") for bandwidth in (1.0, 4.0))
    np.testing.assert_allclose(narrow.random_weights_, 4 * wide.random_weights_, rtol=1e-6)
    np.testing.assert_array_equal(narrow.random_offset_, wide.random_offset_)


@pytest.mark.parametrize("projection", ["hadamard", "iid", "orthogonal"])
def test_same_seed_same_encoder_and_other_seed_another(projection):
    first, again, other = (fitted(projection=projection, random_state=seed) for seed in (3, 3, 4))
    assert first.fingerprint_ == again.fingerprint_
    assert first.encode(X) == again.encode(X)
    assert first.fingerprint_ != other.fingerprint_
    assert np.any(first.random_weights_ != other.random_weights_)
    assert np.any(first.random_offset_ != other.random_offset_)


def test_a_random_state_object_is_advanced():
    state = np.random.RandomState(0)
    assert fitted(random_state=state).fingerprint_ != fitted(random_state=state).fingerprint_


def square(t):
    return np.sign(np.cos(t))


def rounded(t):
    return np.sign(np.cos(t)) * (1 + (np.abs(np.cos(t)) > 0.5))


CHANGES = [
    {"random_state": 1},
    {"gamma": 0.06},
    {"kernel": "matern"},
    {"kernel": Laplace(3.0), "projection": "iid"},
    {"projection": "iid"},
    {"projection": "orthogonal"},
    {"feature_map": "cosine"},
    {"n_components": 299},
    {"bits": 2},
    {"bits": None},
    {"quantizer": "uniform", "bits": 2},
    {"quantizer": "phase", "bits": 1},
    {"quantizer": "phase", "bits": 2},
    {"quantizer": "stochastic", "bits": 1},
    {"quantizer": "stochastic", "bits": 2},
    {"quantizer": "stochastic", "bits": 5},
    {"quantizer": PeriodicMap(square), "feature_map": "cosine"},
    {"quantizer": PeriodicMap(rounded), "feature_map": "cosine"},
]


def test_fingerprints_differ_whenever_codes_could():
    prints = [(encoder.fingerprint_, encoder.side_) for encoder in (fitted(**change) for change in ({}, *CHANGES))]
    assert all(len(fingerprint) == len(side) == 16 for fingerprint, side in prints)
    assert len(set(prints)) == len(prints)


@pytest.mark.parametrize("change", [{"bits": 2}, {"bits": None}, {"quantizer": "stochastic"}, {"quantizer": "phase"}])
def test_frequencies_have_one_fingerprint_whatever_the_quantizer(change):
    encoder, other = fitted(), fitted(**change)
    assert encoder.fingerprint_ == other.fingerprint_
    assert encoder.side_ != other.side_


def test_codes_of_two_quantizers_meet_on_the_same_frequencies():
    one, four = fitted(bits=1).encode(X), fitted(bits=4).encode(X)
    np.testing.assert_allclose(one.dot(four), np.asarray(one) @ np.asarray(four).T, atol=1e-5)


def test_fingerprints_agree_between_names_and_objects_and_spellings():
    by_name = fitted(kernel="rbf", gamma=0.125, bits=3)
    by_object = fitted(kernel=Gaussian(2), quantizer=LloydMax(np.int64(3)), gamma=7.0)
    assert by_name.fingerprint_ == by_object.fingerprint_
    assert by_name.encode(X) == by_object.encode(X)


def test_fingerprint_does_not_depend_on_the_codebook():
    codes = fitted(bits=2).encode(X)
    assert codes.with_codebook(np.arange(4)).fingerprint == codes.fingerprint
