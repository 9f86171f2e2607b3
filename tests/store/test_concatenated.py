import pickle

import numpy as np
import pytest
from store.samples import LAYOUT, filled, fitted, rows

import lowtide as lt
from lowtide.codes import CodeSource
from lowtide.errors import CodeLayoutError, FingerprintMismatchError, ParameterError


@pytest.fixture
def three(tmp_path):
    encoder, stores = fitted(), []
    for name, part in (("a", slice(0, 61)), ("b", slice(61, 61)), ("c", slice(61, 200))):
        with lt.CodeStore.create(tmp_path / name, encoder, columns={"y": "int64"}, **LAYOUT) as store:
            store.append(rows()[part], y=np.arange(200)[part])
        stores.append(store)
    return lt.CodeStore.concatenate(stores), encoder.encode(rows())


def test_stores_are_read_as_one(three):
    joined, codes = three
    assert isinstance(joined, CodeSource)
    assert joined[:] == codes
    assert joined.shape == codes.shape
    assert lt.concatenate(list(joined.blocks(17))) == codes
    assert np.array_equal(joined.y, np.arange(200))
    assert joined.encoder.fingerprint_ == codes.fingerprint
    assert joined.columns == ("y",)


@pytest.mark.parametrize(
    "key", [slice(55, 70), slice(None, None, -3), [199, 0, 61, 60, 61], 61, [], slice(9, 3)], ids=str
)
def test_rows_of_several_stores_are_those_of_codes(key, three):
    joined, codes = three
    assert joined[key] == codes[key]


def test_stores_read_as_one_can_be_pickled_and_joined_again(three):
    joined, codes = three
    assert pickle.loads(pickle.dumps(joined))[:] == codes
    twice = lt.CodeStore.concatenate([joined, joined])
    assert twice.n_rows == 400
    assert twice[200:] == codes


def test_rows_of_several_stores_keep_their_numbers_when_one_grows(tmp_path):
    codes = [filled(tmp_path / name) for name in "ab"]
    joined = lt.CodeStore.concatenate([lt.CodeStore.open(tmp_path / name) for name in "ab"])
    with lt.CodeStore.open(tmp_path / "a", "a") as store:
        store.append(rows()[:5], y=range(5))
    for found in (joined, pickle.loads(pickle.dumps(joined))):
        assert found[:] == lt.concatenate(codes)
        assert found.y.tolist() == [*range(61), *range(61)]


def test_stores_of_different_encoders_or_columns_are_not_joined(tmp_path):
    filled(tmp_path / "a")
    filled(tmp_path / "b", encoder=fitted(random_state=1))
    filled(tmp_path / "c", z=np.arange(61))
    with lt.CodeStore.create(tmp_path / "d", fitted().encode(rows()).with_codebook([0.0, 1.0])) as other:
        pass
    a, b, c = (lt.CodeStore.open(tmp_path / name) for name in "abc")
    with pytest.raises(FingerprintMismatchError):
        lt.CodeStore.concatenate([a, b])
    with pytest.raises(ParameterError, match="same columns"):
        lt.CodeStore.concatenate([a, c])
    with pytest.raises(CodeLayoutError, match="one codebook"):
        lt.CodeStore.concatenate([a, other])
    for bad in ([], [a, a[:]]):
        with pytest.raises(ParameterError, match="one or more stores"):
            lt.CodeStore.concatenate(bad)


def test_columns_of_texts_and_of_numbers_are_not_joined(tmp_path):
    filled(tmp_path / "a", n=2, y=["u", "v"])
    filled(tmp_path / "b", n=2, y=[1, 2])
    filled(tmp_path / "c", n=2, y=[0.5, 2])
    a, b, c = (lt.CodeStore.open(tmp_path / name) for name in "abc")
    numbers = lt.CodeStore.concatenate([b, c])
    assert numbers.column_types == {"y": "float64"}
    assert numbers.y.tolist() == [1, 2, 0.5, 2]
    for stores in ([a, b], [numbers, a]):
        with pytest.raises(ParameterError, match="column y must hold texts in all stores, or numbers in all"):
            lt.CodeStore.concatenate(stores)
