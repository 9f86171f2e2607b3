"""Shards that other processes write, and the one commit that makes them count."""

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from store.samples import LAYOUT, fitted, rows, write_shard

import lowtide as lt
from lowtide.errors import FingerprintMismatchError, ParameterError


def _tasks(writer, codes, n_before=0):
    y = np.arange(200)
    size = writer.shard_rows
    return [
        (writer, i, codes[begin : begin + size], y[begin : begin + size])
        for i, begin in enumerate(range(n_before, 200, size))
    ]


@pytest.fixture
def store(tmp_path):
    with lt.CodeStore.create(tmp_path / "s.zarr", fitted(), columns={"y": "int64"}, **LAYOUT) as opened:
        yield opened


@pytest.mark.parametrize("n_before", [0, 48])
def test_shards_of_other_writers_count_once_they_are_committed(n_before, store):
    codes = fitted().encode(rows())
    store.append(codes[:n_before], y=np.arange(n_before))
    writer = pickle.loads(pickle.dumps(store.shard_writer()))
    records = [pickle.loads(pickle.dumps(write_shard(task))) for task in _tasks(writer, codes, n_before)]
    write_shard(_tasks(writer, codes, n_before)[0])  # a task that is repeated changes nothing
    assert store.n_rows == lt.CodeStore.open(store.path).n_rows == n_before
    store.commit(records[::-1])
    assert store[:] == lt.CodeStore.open(store.path)[:] == codes
    assert store.y.tolist() == list(range(200))
    store.verify()
    store.append(codes[:3], y=[1, 2, 3])
    store.verify()


def test_shards_may_be_written_by_several_processes_at_once(store):
    codes = fitted().encode(rows())
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        store.commit(list(pool.map(write_shard, _tasks(store.shard_writer(), codes))))
    assert store[:] == codes
    store.verify()


def test_shards_that_were_never_committed_are_discarded_by_the_next_writer(store):
    codes = fitted().encode(rows())
    for task in _tasks(store.shard_writer(), codes):
        write_shard(task)
    store.close()
    with lt.CodeStore.open(store.path, "a") as again:
        assert len(again.discarded) == 18
        assert again.n_rows == 0


def test_commit_refuses_shards_with_a_gap_or_too_few_rows(store):
    codes = fitted().encode(rows())
    writer = store.shard_writer()
    records = [write_shard(task) for task in _tasks(writer, codes)]
    short = writer.write(0, codes[:5], y=np.arange(5))
    for bad in (records[1:], records[:1] + records[2:], [*records, records[0]], [short, *records[1:]]):
        with pytest.raises(ParameterError, match=r"CodeStore.commit: (shards must follow|every shard but)"):
            store.commit(bad)
    assert store.n_rows == 0
    store.commit([])
    assert store.n_rows == 0


def test_shard_writer_refuses_what_does_not_fit(store):
    codes, writer = fitted().encode(rows()), store.shard_writer()
    for bad in (codes[:0], codes[:25], rows()[:5]):
        with pytest.raises(ParameterError, match="1 to 24 rows of Codes"):
            writer.write(0, bad, y=np.arange(len(bad)))
    with pytest.raises(FingerprintMismatchError):
        writer.write(0, fitted(random_state=3).encode(rows()[:5]), y=np.arange(5))
    with pytest.raises(ParameterError, match="columns of all rows"):
        writer.write(0, codes[:5])
    with pytest.raises(ParameterError, match="index must be"):
        writer.write(-1, codes[:5], y=np.arange(5))
    store.append(codes[:5], y=np.arange(5))
    with pytest.raises(ParameterError, match="must fill its shards"):
        store.shard_writer()
    store.close()
    with pytest.raises(ParameterError, match="open for writing"):
        store.shard_writer()


def test_shard_writer_is_not_for_columns_of_texts(tmp_path):
    with lt.CodeStore.create(tmp_path / "t.zarr", fitted(), **LAYOUT) as store:
        store.append(rows()[:24], y=np.array(["a", "b"] * 12))
        with pytest.raises(ParameterError, match="must hold numbers"):
            store.shard_writer()
