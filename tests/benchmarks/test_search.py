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


def test_table_and_curves_have_every_method(found, tmp_path):
    assert search.table(found).count(search.OWN) == len(found) == 4
    pytest.importorskip("matplotlib")
    search.plot(found, tmp_path / "curves.svg")
    assert search.OWN in (tmp_path / "curves.svg").read_text(encoding="utf-8")
