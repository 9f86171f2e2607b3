"""The benchmark of vector search measures what it says, on a small set and without other libraries."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks import search


@pytest.fixture(scope="module")
def found():
    """Rows of our own codes on a small set, of which each is its own best row."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((300, 32)).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "vectors_of", lambda name, n: (rows, rows[:n], "l2"))
        return list(search.rows_of("small", 40, search.OWN.__eq__, rotations=2))


def test_recall_grows_with_bits_and_bytes_are_all_counted(found):
    assert [row.row_bytes for row in found] == [8 + 8, 8 + 8, 8 + 16, 8 + 32]
    assert np.all(np.diff([row.recall_10 for row in found]) > 0)
    for row in found:
        assert len(row.hits) == 40
        assert np.mean(row.hits) / 10 == pytest.approx(row.recall_10)
        assert row.processor_us > 0


def test_a_method_that_finds_fewer_than_rabitq_is_told(found):
    other = [replace(row, method=search.RABITQ) for row in found]
    assert search.behind([*found, *other]) == []
    better = [replace(row, hits=tuple(np.minimum(10, np.array(row.hits) + 1 + np.arange(40) % 2))) for row in other]
    assert [line.split(":")[0] for line in search.behind([*found, *better])] == [
        "small, 1 bits",
        "small, 2 bits",
        "small, 4 bits",
    ]


def test_differences_are_paired_by_query(found):
    other = [replace(row, method=search.RABITQ, hits=tuple(np.array(row.hits) - 1.5)) for row in found]
    for row, rabitq, difference, error in search.pairs([*found, *other]):
        assert (row.bits, row.method, rabitq.method) == (rabitq.bits, search.OWN, search.RABITQ)
        assert (difference, error) == pytest.approx((0.15, 0), abs=1e-12)
    assert search.against_rabitq([*found, *other]).count("| small |") == 4
    assert list(search.pairs(found)) == []


def test_table_and_curves_have_every_method(found, tmp_path):
    assert search.table(found).count(search.OWN) == len(found) == 4
    pytest.importorskip("matplotlib")
    search.plot(found, tmp_path / "curves.svg")
    assert search.OWN in (tmp_path / "curves.svg").read_text(encoding="utf-8")


def test_what_was_prepared_is_timed_later_from_the_folder(tmp_path, monkeypatch, capsys):
    rows = np.random.default_rng(0).standard_normal((300, 32)).astype(np.float32)
    monkeypatch.setattr(search, "vectors_of", lambda name, n: (rows, rows[:n], "l2"))
    guide = tmp_path / "search.md"
    guide.write_text("# Page\n\n<!-- measured: begin -->\nold\n<!-- measured: end -->\n")
    run = ["text", "--folder", str(tmp_path), "--queries", "40", "--rotations", "1", "--method", f"{search.OWN}$"]
    assert search.main([*run, "--prepare"]) == 0
    prepared = (tmp_path / "text.json").read_text()
    monkeypatch.setattr(search, "prepared", lambda *_: pytest.fail("all of it is prepared"))
    assert search.main([*run, "--page", str(guide)]) == 0
    written = guide.read_text()
    assert "old" not in written
    assert written.count(f"| text | {search.OWN} |") == 4
    assert "means of 1 rotations" in written
    # Times belong to a run, not to what was prepared.
    assert (tmp_path / "text.json").read_text() == prepared
    assert capsys.readouterr().out.count(search.OWN) == 4


@pytest.mark.parametrize("name", ["IndexRaBitQ", "IndexRaBitQFastScan", "IndexPQ"])
def test_an_index_of_faiss_comes_back_from_its_file(tmp_path, name):
    pytest.importorskip("faiss")
    rows = np.random.default_rng(0).standard_normal((600, 32)).astype(np.float32)
    builds = {"IndexPQ": search.of_faiss(lambda f, d, m: f.IndexPQ(d, 4, 4, m))}
    build = builds.get(name) or search.of_faiss(lambda f, d, m: getattr(f, name)(d, m), is_rotated=True)
    kept = tmp_path / "some" / "a.index"
    first, size = build(rows, "l2", 0, kept)
    again, same = build(np.zeros_like(rows), "l2", 0, kept)
    assert (kept.exists(), size) == (True, same)
    np.testing.assert_array_equal(again(rows[:20], 5), first(rows[:20], 5))
