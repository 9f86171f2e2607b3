"""Codes and rows meet the real libraries; each test is skipped by the name of one that is not installed.

`make interchange` installs them all (the group `interchange`).
"""

from __future__ import annotations

import numpy as np
import pytest

import lowtide as lt
from lowtide._checks import host_array
from lowtide.errors import ParameterError

X = np.random.default_rng(0).standard_normal((300, 9)).astype(np.float32)
ENCODER = lt.RandomFeatures(gamma=0.1, n_components=256, random_state=0).fit(X)
CODES = ENCODER.encode(X)
PLACE = CODES.packed.ctypes.data


def is_shared(codes: lt.Codes, place: int = PLACE) -> bool:
    """Return whether codes are those of the encoder, and lie at a place."""
    return codes == CODES and codes.packed.ctypes.data == place


def test_torch_shares_codes_and_gives_them_back():
    torch = pytest.importorskip("torch")
    tensor = torch.from_dlpack(CODES)
    assert (tensor.data_ptr(), tensor.dtype, tuple(tensor.shape)) == (PLACE, torch.uint8, CODES.packed.shape)
    part = torch.from_dlpack(CODES[7:20])
    assert part.data_ptr() == PLACE + 7 * CODES.packed.shape[1]
    assert np.shares_memory(ENCODER.codes_from(part).packed, CODES.packed)
    assert is_shared(ENCODER.codes_from(tensor))
    features = torch.from_dlpack(np.asarray(CODES))
    weights = torch.ones(256, 2)
    np.testing.assert_allclose((features @ weights).numpy(), CODES @ weights.numpy(), rtol=1e-4, atol=1e-5)


def test_jax_shares_codes_and_gives_them_back():
    jax = pytest.importorskip("jax")
    array = jax.dlpack.from_dlpack(CODES)
    assert array.unsafe_buffer_pointer() == PLACE
    assert is_shared(ENCODER.codes_from(array))


def test_polars_shares_lists_of_bytes_and_of_features():
    polars = pytest.importorskip("polars")
    column = polars.Series("code", CODES.to_arrow("lists"))
    assert column.dtype == polars.Array(polars.UInt8, CODES.packed.shape[1])
    assert is_shared(ENCODER.codes_from(column))
    array = CODES.to_arrow("features")
    values = polars.Series("feature", array).explode().to_numpy(allow_copy=False)
    assert values.ctypes.data == array.values.buffers()[1].address


def test_polars_has_binary_of_its_own_that_comes_back():
    polars = pytest.importorskip("polars")
    column = polars.Series("code", CODES)
    assert column.dtype == polars.Binary
    assert ENCODER.codes_from(column) == CODES


def test_duckdb_reads_codes_and_gives_back_the_rows_it_picks():
    duckdb, pa = pytest.importorskip("duckdb"), pytest.importorskip("pyarrow")
    items = pa.table({"id": range(len(CODES)), "code": CODES})
    assert items["code"].chunk(0).buffers()[1].address == PLACE
    connection = duckdb.connect()
    connection.register("items", items)
    picked = connection.sql("SELECT code FROM items WHERE id >= 290 ORDER BY id DESC").to_arrow_table()
    assert ENCODER.codes_from(picked["code"]) == CODES[299:289:-1]
    distances = connection.sql(
        "SELECT bit_count(xor(code::BIT, (SELECT code FROM items WHERE id = 7)::BIT)) FROM items ORDER BY id"
    ).fetchall()
    expected = (CODES.levels() != CODES[7].levels()).sum(axis=1)
    np.testing.assert_array_equal(np.ravel(distances), expected)


def test_faiss_finds_what_codes_find_and_gives_its_bytes_back():
    faiss = pytest.importorskip("faiss")
    index = faiss.IndexBinaryFlat(8 * CODES.packed.shape[1])
    index.add(CODES.packed)
    distances, _ = index.search(CODES.packed[:20], 10)
    _, scores = CODES.top_k(CODES[:20], 10)
    # A bit that differs turns plus one square of the codebook's value into minus one.
    square = float(CODES.codebook[0]) ** 2
    np.testing.assert_allclose(scores, square * (256 - 2 * distances), rtol=1e-6)
    held = faiss.rev_swig_ptr(index.xb.data(), CODES.packed.size)
    assert is_shared(ENCODER.codes_from(held), held.ctypes.data)


def test_usearch_finds_what_codes_find_and_gives_its_bytes_back():
    index_module = pytest.importorskip("usearch.index")
    index = index_module.Index(ndim=8 * CODES.packed.shape[1], metric="hamming", dtype="b1")
    index.add(np.arange(len(CODES)), CODES.packed)
    found = index.search(CODES.packed[:20], 10, exact=True)
    _, scores = CODES.top_k(CODES[:20], 10)
    square = float(CODES.codebook[0]) ** 2
    np.testing.assert_allclose(scores, square * (256 - 2 * found.distances), rtol=1e-6)
    assert ENCODER.codes_from(np.stack(index.get(np.arange(len(CODES))))) == CODES


def test_torch_to_codes_to_arrow_to_faiss_and_back_is_one_memory():
    torch, faiss = pytest.importorskip("torch"), pytest.importorskip("faiss")
    pytest.importorskip("pyarrow")
    codes = ENCODER.encode(torch.from_numpy(X))
    place = codes.packed.ctypes.data
    again = ENCODER.codes_from(torch.from_dlpack(ENCODER.codes_from(codes.to_arrow())))
    assert is_shared(again, place)
    _, nearest = faiss.knn_hamming(again.packed[:5], again.packed, 1)  # reads the memory where it is
    np.testing.assert_array_equal(nearest.ravel(), np.arange(5))


FORMS = {
    "torch": lambda rows: pytest.importorskip("torch").from_numpy(rows),
    "jax": lambda rows: pytest.importorskip("jax").numpy.asarray(rows),
    "array_api_strict": lambda rows: pytest.importorskip("array_api_strict").asarray(rows),
    "polars": lambda rows: pytest.importorskip("polars").DataFrame(rows),
    "pyarrow": lambda rows: pytest.importorskip("pyarrow").table({f"x{j}": rows[:, j] for j in range(rows.shape[1])}),
}


@pytest.mark.parametrize("form", FORMS)
def test_encoders_fit_and_encode_rows_of(form):
    rows = FORMS[form](X)
    encoder = lt.RandomFeatures(gamma=0.1, n_components=256, random_state=0).fit(rows)
    assert encoder.encode(rows) == CODES
    np.testing.assert_array_equal(encoder.transform(rows), ENCODER.transform(X))


@pytest.mark.parametrize("form", ["torch", "jax", "array_api_strict"])
def test_tensors_are_read_where_they_lie(form):
    rows = FORMS[form](X)
    taken = host_array("encode", rows)
    assert np.shares_memory(taken, np.from_dlpack(rows))
    assert (taken.dtype, taken.shape) == (np.float32, X.shape)


@pytest.mark.parametrize("form", FORMS)
def test_learners_fit_and_predict_rows_of(form):
    y = (X[:, 0] > 0).astype(int)
    given = {"gamma": 0.1, "n_components": 256, "C": 1.0, "loss": "squared", "metric": None, "random_state": 0}
    rows = FORMS[form](X)
    model = lt.KernelClassifier(**given).fit(rows, y)
    np.testing.assert_array_equal(model.predict(rows), lt.KernelClassifier(**given).fit(X, y).predict(X))


@pytest.mark.parametrize("change", ["requires_grad", "bfloat16", "meta", "sparse"])
def test_torch_tensors_that_numpy_cannot_read_are_refused_with_a_remedy(change):
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(X.copy())
    changed = {
        "requires_grad": lambda: tensor.requires_grad_(),
        "bfloat16": lambda: tensor.bfloat16(),
        "meta": lambda: tensor.to("meta"),
        "sparse": lambda: tensor.to_sparse(),
    }[change]()
    fit = lt.KernelRegressor(n_components=8).fit
    for call in (ENCODER.encode, lt.RandomFeatures().fit, lambda rows: fit(rows, X[:, 0])):
        with pytest.raises(ParameterError, match=r"a tensor must be .* With torch: X.detach\(\).cpu\(\).float\(\)."):
            call(changed)
