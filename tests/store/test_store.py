import pickle
import threading

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from store.samples import LAYOUT, filled, fitted, rows

import lowtide as lt
from lowtide.codes import CodeSource
from lowtide.errors import (
    CodeLayoutError,
    FileAccessError,
    FileFormatError,
    FingerprintMismatchError,
    ParameterError,
)
from lowtide.store import is_unfinished, writing

ENCODERS = {
    "one bit": lambda: fitted(),
    "three bits": lambda: fitted(bits=3),
    "phase": lambda: fitted(bits=4, quantizer="phase"),
    "trits": lambda: lt.TernaryFeatures(n_components=77, sparsity=0.0, random_state=0).fit(rows()),
    "sketch": lambda: lt.Sketch(n_components=50, bits=4, random_state=0).fit(rows()),
    "sketch with norms": lambda: lt.Sketch(n_components=50, bits=2, store_norms=True, random_state=0).fit(rows()),
    "asymmetric": lambda: lt.AsymmetricFeatures(n_components=40, bits=2, random_state=0).fit(rows()),
    "learned": lambda: lt.LearnedFeatures(n_components=40, random_state=0).fit(rows()),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_store_gives_back_the_codes_and_the_encoder_of_any_kind(name, tmp_path):
    encoder = ENCODERS[name]()
    with lt.CodeStore.create(tmp_path / "s.zarr", encoder, **LAYOUT) as store:
        store.append(rows()[:50])
        store.append(encoder.encode(rows()[50:]))
    store = lt.CodeStore.open(tmp_path / "s.zarr")
    expected = encoder.encode(rows())
    assert store[:] == expected
    assert store.shape == expected.shape
    assert store.nbytes == expected.nbytes
    assert (store.bits, store.n_levels, store.fingerprint) == (
        expected.bits,
        expected.n_levels,
        expected.fingerprint,
    )
    assert np.array_equal(store.codebook, expected.codebook)
    assert store.encoder.encode(rows()) == expected
    store.verify()


@pytest.mark.parametrize("cuts", [[200], [1, 199], [8, 16, 24, 176], [24, 24, 152], [23, 1, 1, 175], [0, 200, 0]])
def test_store_holds_the_same_bytes_whatever_the_appends(cuts, tmp_path):
    encoder, y, names = fitted(), np.arange(200) % 5, np.array(["b", "a", "c", "a"] * 50)
    for name, sizes in (("whole", [200]), ("parts", cuts)):
        with lt.CodeStore.create(tmp_path / name, encoder, **LAYOUT) as store:
            begin = 0
            for size in sizes:
                part = slice(begin, begin + size)
                store.append(rows()[part], y=y[part], name=names[part])
                begin += size
    files = sorted(path.relative_to(tmp_path / "whole") for path in (tmp_path / "whole").rglob("c.*"))
    assert len(files) == 27
    for file in files:
        assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "parts" / file).read_bytes()


@pytest.mark.parametrize("size", [1, 5, 8, 24, 50, 1000])
def test_store_is_a_source_of_blocks(size, tmp_path):
    codes = filled(tmp_path / "s.zarr")
    store = lt.CodeStore.open(tmp_path / "s.zarr")
    assert isinstance(store, CodeSource)
    blocks = list(store.blocks(size))
    assert [len(block) for block in blocks] == [len(block) for block in codes.blocks(size)]
    assert lt.concatenate(blocks) == codes
    assert len(store) == store.n_rows == 61


@pytest.mark.parametrize("size", [0, -1, 2.5])
def test_blocks_refuses_a_size_that_is_none(size, tmp_path):
    filled(tmp_path / "s.zarr")
    with pytest.raises(ParameterError, match="size must be an integer"):
        next(lt.CodeStore.open(tmp_path / "s.zarr").blocks(size))


KEYS = [
    slice(None),
    slice(5, 7),
    slice(3, 60),
    slice(40, 10),
    slice(None, None, -1),
    slice(60, None, -7),
    slice(-5, None),
    slice(100, 200),
    3,
    -1,
    [],
    [60, 0, 0, 33, -2],
    np.arange(61) % 3 == 0,
    np.zeros(61, bool),
    (np.array([4, 50]), ...),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_rows_of_a_store_are_those_of_codes(key, tmp_path):
    codes = filled(tmp_path / "s.zarr")
    assert lt.CodeStore.open(tmp_path / "s.zarr")[key] == codes[key]


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (61, IndexError),
        ([0, -62], IndexError),
        (np.zeros(60, bool), CodeLayoutError),
        (1.5, CodeLayoutError),
        ("y", CodeLayoutError),
        (np.zeros((2, 2), int), CodeLayoutError),
    ],
)
def test_rows_that_are_not_there_are_refused(key, error, tmp_path):
    filled(tmp_path / "s.zarr")
    with pytest.raises(error):
        lt.CodeStore.open(tmp_path / "s.zarr")[key]


def test_rows_of_one_chunk_stay_in_the_file(tmp_path):
    filled(tmp_path / "s.zarr")
    store = lt.CodeStore.open(tmp_path / "s.zarr")
    inside, across = store[8:16].packed, store[8:17].packed
    assert not inside.flags.owndata
    assert np.shares_memory(inside, store[10:12].packed)
    assert not np.shares_memory(across, store[10:12].packed)
    assert all(block.packed.ctypes.data % 8 == 0 for block in store.blocks(8))


def test_rows_stay_as_they_were_when_the_store_grows_or_is_gone(tmp_path):
    codes = filled(tmp_path / "s.zarr")
    store = lt.CodeStore.open(tmp_path / "s.zarr")
    held = store[56:61]
    with lt.CodeStore.open(tmp_path / "s.zarr", "a") as writer:
        writer.append(rows()[61:], y=np.arange(61, 200))
    assert store.n_rows == 61
    assert store[:] == codes
    for file in (tmp_path / "s.zarr").rglob("c.*"):
        file.unlink()
    assert held == codes[56:61]


def test_reader_sees_what_was_committed_when_it_opened(tmp_path):
    encoder = fitted()
    with lt.CodeStore.create(tmp_path / "s.zarr", encoder, **LAYOUT) as writer:
        for n in (10, 20, 30):
            writer.append(rows()[n - 10 : n])
            reader = lt.CodeStore.open(tmp_path / "s.zarr")
            assert reader.n_rows == writer.n_rows == n
            assert reader[:] == writer[:] == encoder.encode(rows()[:n])


COLUMNS = {
    "int64": np.arange(61) - 30,
    "uint8": np.arange(61, dtype=np.uint8),
    "bool": np.arange(61) % 3 == 0,
    "float32": np.linspace(0, 1, 61, dtype=np.float32),
    "float64": np.where(np.arange(61) % 7 == 0, np.nan, 0.1),
    "texts": np.array(["Bern", "Zürich", "", "Oslo"] * 15 + ["Oslo"]),
    "objects": np.array(["b", "a", "c", "a"] * 15 + ["b"], dtype=object),
    "big-endian": np.arange(61, dtype=">i4"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_column_comes_back_as_it_was_given(name, tmp_path):
    values = COLUMNS[name]
    with lt.CodeStore.create(tmp_path / "s.zarr", fitted(), **LAYOUT) as store:
        store.append(rows()[:11], y=values[:11])
        store.append(rows()[11:61], y=values[11:])
    store = lt.CodeStore.open(tmp_path / "s.zarr")
    assert store.columns == ("y",)
    assert np.array_equal(store.column("y"), values, equal_nan=values.dtype.kind == "f")
    assert np.array_equal(store.y, values, equal_nan=values.dtype.kind == "f")
    if values.dtype.kind in "biuf":
        assert store.y.dtype == values.dtype.newbyteorder("=")


def test_columns_may_be_several_and_of_other_names(tmp_path):
    given = {"sample_weight": np.linspace(0, 1, 61), "city": COLUMNS["texts"], "y": np.arange(61)}
    filled(tmp_path / "s.zarr", **given)
    store = lt.CodeStore.open(tmp_path / "s.zarr")
    assert sorted(store.columns) == sorted(given)
    for name, values in given.items():
        assert np.array_equal(store.column(name), values)


def test_columns_may_be_declared_before_there_are_rows(tmp_path):
    with lt.CodeStore.create(tmp_path / "s.zarr", fitted(), columns={"y": "float32"}) as store:
        with pytest.raises(ParameterError, match="columns of all rows must be the same"):
            store.append(rows())
        store.append(rows()[:3], y=[1, 2, 3])
        assert store.y.dtype == np.float32
        assert store.column_types == {"y": "float32"}


@pytest.mark.parametrize(
    ("dtype", "values"),
    [("float64", [2**53 + 1]), ("float32", [2**24 + 1]), ("uint64", [-1]), ("int64", [np.nan]), ("bool", [2])],
)
def test_append_refuses_numbers_that_the_type_of_a_column_would_change(dtype, values, tmp_path):
    with lt.CodeStore.create(tmp_path / "s.zarr", fitted(), columns={"y": dtype}) as store:
        with pytest.raises(ParameterError, match=f"y must hold values of {dtype}"):
            store.append(rows()[:1], y=np.array(values))
        store.append(rows()[:1], y=np.array([1.0]))
        assert store.y.tolist() == [1]


BAD_COLUMNS = [
    ({"y": np.arange(3)}, "a value a row"),
    ({"y": np.zeros((10, 1))}, "a value a row"),
    ({"y": np.zeros(10, complex)}, "numbers, truth values or texts"),
    ({"y": np.zeros(10, "datetime64[s]")}, "numbers, truth values or texts"),
    ({"y": np.array([None] * 10)}, "numbers, truth values or texts"),
    ({"y": np.array(["a"] * 10)}, "values of int64"),
    ({"y": np.full(10, 0.5)}, "values of int64"),
    ({"y": np.arange(10), "z": np.arange(10)}, "must be the same"),
    ({}, "must be the same"),
]


@pytest.mark.parametrize(("columns", "message"), BAD_COLUMNS, ids=lambda value: str(value)[:40])
def test_append_refuses_columns_that_do_not_fit_and_appends_nothing(columns, message, tmp_path):
    codes = filled(tmp_path / "s.zarr")
    with lt.CodeStore.open(tmp_path / "s.zarr", "a") as store:
        with pytest.raises(ParameterError, match=message):
            store.append(rows()[:10], **columns)
        assert store[:] == codes
        store.append(rows()[:10], y=np.arange(10.0))  # whole numbers fit, whatever their type


@pytest.mark.parametrize("name", ["codes", "lowtide", "../y", "a/b", "a.b", "", "norms", "1st", "ä", "x" * 64])
def test_append_refuses_names_of_columns_that_are_no_folders_of_ours(name, tmp_path):
    store = lt.CodeStore.create(tmp_path / "s.zarr", fitted())
    with store, pytest.raises(ParameterError, match="a column's name"):
        store.append(rows()[:2], **{name: [1, 2]})
    with pytest.raises(ParameterError, match="a column's name"):
        lt.CodeStore.create(tmp_path / "t.zarr", fitted(), columns={name: "int8"})


def test_append_takes_what_the_encoder_takes(tmp_path):
    frame = pd.DataFrame(rows().astype(float), columns=list("abcdef"))
    encoder = lt.RandomFeatures(n_components=64, random_state=0).fit(frame)
    with lt.CodeStore.create(tmp_path / "s.zarr", encoder, **LAYOUT) as store:
        store.append(frame)
        assert store[:] == encoder.encode(frame)
        with pytest.raises(ValueError, match="feature names"):
            store.append(frame[list("abcdfe")])
    plain = fitted()
    with lt.CodeStore.create(tmp_path / "t.zarr", plain, **LAYOUT) as store:
        store.append(sparse.csr_matrix(rows()))
        assert store[:] == plain.encode(rows())
        for bad in (rows()[:, :5], np.full((2, 6), np.nan), rows()[0]):
            with pytest.raises(ValueError, match=r"."):
                store.append(bad)
        assert store.n_rows == 200


def test_append_refuses_codes_of_another_encoder_or_codebook(tmp_path):
    filled(tmp_path / "s.zarr")
    with lt.CodeStore.open(tmp_path / "s.zarr", "a") as store:
        with pytest.raises(FingerprintMismatchError):
            store.append(fitted(random_state=1).encode(rows()), y=np.arange(200))
        with pytest.raises(CodeLayoutError, match="one codebook"):
            store.append(fitted().encode(rows()).with_codebook([0.0, 1.0]), y=np.arange(200))
        assert store.n_rows == 61


def test_append_takes_another_store(tmp_path):
    codes = filled(tmp_path / "a.zarr")
    with lt.CodeStore.create(tmp_path / "b.zarr", fitted(), chunk_rows=5, shard_chunks=2) as store:
        store.append(lt.CodeStore.open(tmp_path / "a.zarr"), y=np.arange(61))
        assert store[:] == codes


def test_store_of_codes_has_no_encoder_and_takes_codes_alone(tmp_path):
    codes = fitted().encode(rows())
    with lt.CodeStore.create(tmp_path / "s.zarr", codes) as store:
        assert store.n_rows == 0
        assert store.encoder is None
        with pytest.raises(ParameterError, match="rows must come as Codes"):
            store.append(rows())
        store.append(codes)
        assert store[:] == codes


def test_empty_store_is_a_store(tmp_path):
    lt.CodeStore.create(tmp_path / "s.zarr", fitted()).close()
    store = lt.CodeStore.open(tmp_path / "s.zarr")
    assert (store.shape, list(store.blocks(5)), len(store[:])) == ((0, 100), [], 0)
    store.verify()
    with pytest.raises(ParameterError, match="column must be one of none"):
        _ = store.y


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (lt.RandomFeatures(), "an unfitted RandomFeatures"),
        ("rbf", "got 'str'"),
        (lt.RandomFeatures(bits=None, n_components=8).fit(rows()), "a coded side"),
    ],
)
def test_create_refuses_what_has_no_codes(encoder, message, tmp_path):
    with pytest.raises(ParameterError, match=message):
        lt.CodeStore.create(tmp_path / "s.zarr", encoder)
    assert not (tmp_path / "s.zarr").exists()


@pytest.mark.parametrize(
    "parameters", [{"chunk_rows": 0}, {"shard_chunks": 0}, {"chunk_rows": 1.5}, {"metadata": {1: 2}}]
)
def test_create_refuses_wrong_parameters(parameters, tmp_path):
    with pytest.raises(ParameterError):
        lt.CodeStore.create(tmp_path / "s.zarr", fitted(), **parameters)


def test_create_refuses_chunks_that_no_reader_takes(tmp_path):
    with pytest.raises(ParameterError, match="chunk_rows must make chunks of at most 1099511627776 bytes"):
        lt.CodeStore.create(tmp_path / "s.zarr", fitted(n_components=4096), chunk_rows=1 << 32)
    assert not (tmp_path / "s.zarr").exists()


def test_create_refuses_a_folder_with_something_in_it(tmp_path):
    filled(tmp_path / "s.zarr")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("s.zarr", "other", "file", "no/such"):
        with pytest.raises(FileAccessError, match="must be a folder that"):
            lt.CodeStore.create(tmp_path / name, fitted())
    assert lt.CodeStore.open(tmp_path / "s.zarr").n_rows == 61


def test_create_goes_on_where_one_was_interrupted(tmp_path):
    lt.CodeStore.create(tmp_path / "s.zarr", fitted()).close()
    (tmp_path / "s.zarr" / "lowtide" / "manifest.json").unlink()
    with lt.CodeStore.create(tmp_path / "s.zarr", fitted()) as store:
        store.append(rows())


def test_create_with_columns_goes_on_where_one_was_interrupted(tmp_path, monkeypatch):
    def interrupted(root, manifest):
        raise KeyboardInterrupt

    assert not is_unfinished(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(writing, "commit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            lt.CodeStore.create(tmp_path / "s.zarr", fitted(), columns={"y": "int64"})
    assert is_unfinished(tmp_path / "s.zarr")
    with lt.CodeStore.create(tmp_path / "s.zarr", fitted(), columns={"z": "int64"}) as store:
        store.append(rows(), z=np.arange(200))
    assert not is_unfinished(tmp_path / "s.zarr")


def test_create_takes_no_group_that_others_have_made(tmp_path):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(tmp_path / "s.zarr", mode="w")
    group.create_array("codes", shape=(3,), dtype="int8")[:] = [1, 2, 3]
    with pytest.raises(FileAccessError, match="must be a folder that is not there or is empty"):
        lt.CodeStore.create(tmp_path / "s.zarr", fitted())
    assert group["codes"][:].tolist() == [1, 2, 3]


def test_create_takes_no_store_that_has_lost_its_manifest(tmp_path):
    filled(tmp_path / "s.zarr")
    (tmp_path / "s.zarr" / "lowtide" / "manifest.json").unlink()
    with pytest.raises(FileAccessError, match="must be a folder that is not there or is empty"):
        lt.CodeStore.create(tmp_path / "s.zarr", fitted())
    assert (tmp_path / "s.zarr" / "codes" / "c.0.0").exists()


def test_append_refuses_more_texts_than_a_reader_takes(tmp_path, monkeypatch):
    monkeypatch.setattr("lowtide.store.columns.MOST_CATEGORIES", 5)
    filled(tmp_path / "s.zarr", n=5, y=list("abcde"))
    with lt.CodeStore.open(tmp_path / "s.zarr", "a") as store:
        store.append(rows()[:2], y=["e", "a"])
        with pytest.raises(ParameterError, match="y must have at most 5 different texts, got 6"):
            store.append(rows()[:2], y=["a", "f"])
        assert store.n_rows == 7


def test_commit_refuses_a_manifest_that_no_reader_takes(tmp_path, monkeypatch):
    filled(tmp_path / "s.zarr", n=5)
    monkeypatch.setattr("lowtide.store.writing.LARGEST_TEXT", 2000)
    with lt.CodeStore.open(tmp_path / "s.zarr", "a") as store:
        with pytest.raises(ParameterError, match="must take at most 2000 bytes, got"):
            store.annotate({"text": "a" * 2000})
        assert store.metadata == {}
        store.annotate({"text": "a"})
        store.verify()


@pytest.mark.parametrize("path", ["no/such", "", "a\0b", 5, None])
def test_open_refuses_what_is_no_store(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for mode in ("r", "a"):
        with pytest.raises((FileAccessError, FileFormatError)):
            lt.CodeStore.open(path, mode)
    with pytest.raises(FileFormatError, match="must be a code store"):
        lt.CodeStore.open(tmp_path, "a")
    assert not list(tmp_path.iterdir())


def test_open_refuses_another_mode(tmp_path):
    filled(tmp_path / "s.zarr")
    with pytest.raises(ParameterError, match="mode must be one of 'r', 'a'"):
        lt.CodeStore.open(tmp_path / "s.zarr", "w")
    with pytest.raises(ParameterError, match="create or CodeStore.open"):
        lt.CodeStore()


def test_reading_store_refuses_to_write(tmp_path):
    filled(tmp_path / "s.zarr")
    store = lt.CodeStore.open(tmp_path / "s.zarr")
    with pytest.raises(ParameterError, match="open for writing"):
        store.append(rows()[:1], y=[1])
    with pytest.raises(ParameterError, match="open for writing"):
        store.annotate({})


def test_metadata_are_kept_and_replaced(tmp_path):
    with lt.CodeStore.create(tmp_path / "s.zarr", fitted(), metadata={"units": ["m", "s"]}) as store:
        store.append(rows())
        assert store.metadata == {"units": ["m", "s"]}
        store.annotate({"done": True})
    store = lt.CodeStore.open(tmp_path / "s.zarr")
    assert store.metadata == {"done": True}
    assert store.n_rows == 200
    store.verify()


def test_store_can_be_pickled_and_is_then_read(tmp_path):
    codes = filled(tmp_path / "s.zarr")
    with lt.CodeStore.open(tmp_path / "s.zarr", "a") as store:
        again = pickle.loads(pickle.dumps(store))
    assert again.mode == "r"
    assert again[:] == codes
    assert repr(again).startswith("CodeStore(")


def test_store_is_read_by_several_threads_at_once(tmp_path):
    codes = filled(tmp_path / "s.zarr", n=200)
    store, found = lt.CodeStore.open(tmp_path / "s.zarr"), []
    threads = [
        threading.Thread(target=lambda: found.append(lt.concatenate(list(store.blocks(5))) == codes)) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 6


def test_path_of_a_store_does_not_follow_the_working_folder(tmp_path, monkeypatch):
    codes = filled(tmp_path / "s.zarr")
    monkeypatch.chdir(tmp_path)
    store = lt.CodeStore.open("s.zarr")
    monkeypatch.chdir("/")
    assert store[:] == codes
