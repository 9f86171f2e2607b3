"""The files are Zarr: others read them as they are."""

import json
from pathlib import Path

import numpy as np
import pytest
from store.samples import LAYOUT, filled, fitted, rows

import lowtide as lt
from lowtide.checksum import crc32c
from lowtide.store.layout import StoredArray

DATA = Path(__file__).resolve().parents[1] / "data"


@pytest.fixture
def zarr():
    return pytest.importorskip("zarr")


@pytest.mark.parametrize("n", [1, 8, 24, 25, 61])
def test_zarr_reads_codes_and_columns(n, tmp_path, zarr):
    columns = {
        "y": np.arange(n) - 3,
        "weight": np.linspace(0, 1, n, dtype=np.float32),
        "flag": np.arange(n) % 2 == 0,
        "city": np.array(["Oslo", "Bern"] * n)[:n],
    }
    codes = filled(tmp_path / "s.zarr", n=n, **columns)
    group = zarr.open_group(tmp_path / "s.zarr", mode="r")
    assert sorted(name for name, _ in group.arrays()) == ["city", "codes", "flag", "weight", "y"]
    assert np.array_equal(group["codes"][:], codes.packed)
    for name in ("y", "weight", "flag"):
        assert np.array_equal(group[name][:], columns[name])
        assert group[name].dtype == columns[name].dtype
    names = group["city"].attrs["categories"]
    assert [names[place] for place in group["city"][:]] == columns["city"].tolist()
    about = group["codes"].attrs["lowtide"]
    assert (about["bits"], about["n_levels"], about["fingerprint"]) == (1, 100, codes.fingerprint.hex())
    assert np.array_equal(np.float32(about["codebook"]), codes.codebook)


def test_zarr_sees_the_rows_of_each_commit(tmp_path, zarr):
    encoder = fitted()
    with lt.CodeStore.create(tmp_path / "s.zarr", encoder, **LAYOUT) as store:
        for n in (0, 5, 30, 200):
            store.append(rows()[store.n_rows : n])
            array = zarr.open_array(tmp_path / "s.zarr" / "codes", mode="r")
            assert array.shape == (n, 16)
            assert np.array_equal(array[:], encoder.encode(rows()[:n]).packed)


def test_zarr_finds_a_flipped_bit_by_the_same_checksum(tmp_path, zarr):
    filled(tmp_path / "s.zarr")
    file = tmp_path / "s.zarr" / "codes" / "c.0.0"
    data = bytearray(file.read_bytes())
    data[3] ^= 1
    file.write_bytes(data)
    with pytest.raises(ValueError, match="checksum"):
        zarr.open_array(tmp_path / "s.zarr" / "codes", mode="r")[:]


def test_dask_reads_codes(tmp_path, zarr):
    array = pytest.importorskip("dask.array")
    codes = filled(tmp_path / "s.zarr")
    lazy = array.from_zarr(str(tmp_path / "s.zarr"), component="codes", chunks=(24, 16))
    assert np.array_equal(lazy.compute(scheduler="sync"), codes.packed)


def test_shard_is_what_the_guide_says_byte_by_byte():
    array = StoredArray("codes", "uint8", 8, chunk_rows=3, shard_chunks=4)
    packed = np.arange(40, dtype=np.uint8).reshape(5, 8)
    data = b"".join(bytes(piece) for piece in array.pieces([packed[:2], packed[2:]]))
    first, second = bytes(range(24)), bytes(range(24, 40)) + bytes(8)
    assert data[:24] == first
    assert data[24:28] == crc32c(first).to_bytes(4, "little")
    assert data[28:64] == bytes(36)
    assert data[64:88] == second
    assert data[88:92] == crc32c(second).to_bytes(4, "little")
    index = data[128:-4]
    absent = [2**64 - 1, 2**64 - 1]
    assert np.frombuffer(index, "<u8").reshape(4, 2).tolist() == [[0, 28], [64, 28], absent, absent]
    assert data[-4:] == crc32c(index).to_bytes(4, "little")
    assert len(data) == array.file_bytes(2)


def test_store_of_an_earlier_lowtide_is_read(zarr):
    """The golden store pins the format for good: three commits, 21 rows, with norms and texts."""
    store = lt.CodeStore.open(DATA / "store.zarr")
    expected = lt.load(DATA / "store_codes.lowtide")
    store.verify()
    assert store[:] == expected
    assert store.y.tolist() == [["red", "blue"][i % 2] for i in range(21)]
    assert np.array_equal(store.column("weight"), np.arange(21) / 4)
    assert store.metadata == {"made": "for the tests"}
    assert store.encoder.fingerprint_ == expected.fingerprint
    assert json.loads((DATA / "store.zarr" / "lowtide" / "manifest.json").read_text())["format"] == 2
    assert np.array_equal(zarr.open_array(DATA / "store.zarr" / "codes", mode="r")[:], expected.packed)


def test_store_made_anew_has_the_bytes_of_the_golden_one(tmp_path):
    golden = DATA / "store.zarr"
    kept = lt.CodeStore.open(golden)
    with lt.CodeStore.create(
        tmp_path / "s.zarr", kept.encoder, chunk_rows=4, shard_chunks=2, metadata={"made": "for the tests"}
    ) as store:
        store.append(kept[:], y=kept.y, weight=kept.column("weight"))
    files = sorted(file.relative_to(golden) for file in golden.rglob("c.*"))
    assert len(files) == 12
    for file in files:
        assert (tmp_path / "s.zarr" / file).read_bytes() == (golden / file).read_bytes()
