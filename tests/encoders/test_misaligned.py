"""Arrays that begin at any byte, as views of files and messages do, are copied, not refused."""

import numpy as np
import pytest

import lowtide as lt

X = np.random.default_rng(0).standard_normal((50, 7))
ENCODERS = {
    "hadamard": lambda: lt.RandomFeatures(n_components=64, random_state=0),
    "dense": lambda: lt.RandomFeatures(n_components=64, projection="iid", bits=3, random_state=0),
    "sketch": lambda: lt.Sketch(n_components=64, random_state=0),
    "ternary": lambda: lt.TernaryFeatures(n_components=64, sparsity=0.0, random_state=0),
    "asymmetric": lambda: lt.AsymmetricFeatures(n_components=64, random_state=0),
    "learned": lambda: lt.LearnedFeatures(n_components=64, random_state=0),
}


def misaligned(array):
    """Return the same values one byte off."""
    array = np.ascontiguousarray(array)
    view = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert array.itemsize == 1 or not view.flags.aligned
    return view


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int16, np.int32])
@pytest.mark.parametrize("name", ENCODERS)
def test_encoder_takes_misaligned_rows(name, kind):
    rows, y = (10 * X).astype(kind), np.arange(50) % 2
    encoder = ENCODERS[name]().fit(rows, y)
    assert ENCODERS[name]().fit(misaligned(rows), misaligned(y)).encode(rows) == encoder.encode(rows)
    assert encoder.encode(misaligned(rows)) == encoder.encode(rows)
    for method in ("transform", "transform_right", "embed"):
        if hasattr(encoder, method):
            assert np.array_equal(getattr(encoder, method)(misaligned(rows)), getattr(encoder, method)(rows))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("bits", [1, 2, 3, 4, 8])
def test_codes_take_misaligned_operands(bits, kind):
    codes = lt.RandomFeatures(n_components=64, bits=bits, random_state=0).fit(X).encode(X)
    rng = np.random.default_rng(1)
    W, R, Q, s = (rng.standard_normal(shape).astype(kind) for shape in ((64, 3), (50, 3), (4, 64), (50,)))
    norms, scale = rng.random(50).astype(np.float32), rng.random(64).astype(np.float32)

    def made(change):
        return lt.Codes(
            change(codes.packed),
            bits=bits,
            n_levels=64,
            codebook=change(codes.codebook),
            fingerprint=codes.fingerprint,
            norms=change(norms),
            scale=change(scale),
        ).times_norms()

    found, expected = (
        [
            np.asarray(C),
            C @ change(W),
            C @ change(W[:, 0].copy()),
            C.T @ change(R),
            C.gram(change(s)),
            C.gram(dtype=np.float64),
            C.dot(C[:7]),
            *C.top_k(change(Q), 3),
            *C.top_k(C[:5], 3),
        ]
        for change in (misaligned, np.ascontiguousarray)
        for C in [made(change)]
    )
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "hinge"])
def test_learner_takes_misaligned_rows_targets_and_weights(loss):
    y, weight = np.arange(50) % 2, np.random.default_rng(2).random(50)

    def scores(change):
        model = lt.KernelClassifier(gamma=0.1, C=1.0, n_components=64, loss=loss, random_state=0)
        rows = change(X.astype(np.float32))
        return model.fit(rows, change(y), change(weight)).predict_proba(rows)

    assert np.array_equal(scores(misaligned), scores(np.ascontiguousarray))
