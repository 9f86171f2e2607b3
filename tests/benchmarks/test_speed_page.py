"""The tables of speed are what the records say, and a record is of one machine."""

import json

import numpy as np
import pytest
from benchmarks.peers import page
from benchmarks.peers.__main__ import DUELS, keep


def test_pages_show_the_records():
    found = page.records()
    guide = (page.ROOT / "docs" / "guide" / "speed.md").read_text(encoding="utf-8")
    readme = (page.ROOT / "README.md").read_text(encoding="utf-8")
    assert page.table(found) in guide
    assert page.notes(found) in guide
    assert page.short_table(found) in readme


def test_the_readme_shows_two_levels_and_where_another_is_faster():
    head, _, *rows = page.short_table(page.records()).splitlines()
    assert "AVX2 (`avx2`)" in head
    assert head.count("`") == 4
    ratios = np.array([[float(cell.replace(",", "")) for cell in row.split("|")[-3:-1]] for row in rows])
    assert ratios.shape == (len(page._SHORT), 2)
    assert ratios.min() < 1 < np.median(ratios)


def _record(level, rows):
    about = {"lowtide": "ours", "peer": "theirs"}
    return {
        "machine": {"processor": "one", "instruction set": level},
        "rows": [{"name": name, "ratio": ratio, **about} for name, ratio in rows.items()],
        "notes": {},
    }


def test_a_record_keeps_older_rows_and_refuses_another_level(tmp_path):
    path = tmp_path / "records" / "one.json"
    keep(_record("avx2", {"gram": 3.0, "encode": 1.5}), path)
    keep(_record("avx2", {"gram": 4.0}), path)
    assert {row["name"]: row["ratio"] for row in json.loads(path.read_text())["rows"]} == {"encode": 1.5, "gram": 4.0}
    with pytest.raises(SystemExit, match="must be of this machine and level"):
        keep(_record("vbmi", {"gram": 9.0}), path)


def test_the_best_level_comes_first_and_what_is_not_measured_is_a_dash(tmp_path):
    keep(_record("avx2", {"encode": 1.5, "gram": 4.0, "auto-squared-4k": 0.5}), tmp_path / "a.json")
    keep(_record("vbmi", {"gram": 1020.04}), tmp_path / "b.json")
    assert page.table(page.records(tmp_path)).splitlines() == [
        "| row | lowtide | instead of | AVX-512 (`vbmi`) | AVX2 (`avx2`) |",
        "| --- | --- | --- | --- | --- |",
        "| `encode` | ours | theirs | - | 1.50 |",
        "| `gram` | ours | theirs | 1,020 | 4.0 |",
    ]


def test_every_name_on_the_pages_is_a_row():
    assert {name for *_, name in page._SHORT} <= set(DUELS)
