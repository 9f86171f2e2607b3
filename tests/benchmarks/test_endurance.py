"""Threads on one store, and forks amid ops, for moments."""

from benchmarks.endurance import forks, threads


def test_threads_append_to_and_read_one_store(tmp_path):
    found = threads(1.0, tmp_path)
    assert found["wrong"] == 0
    assert found["rows"] == 37 * found["appends"]
    assert found["reads"] > 0


def test_children_forked_amid_ops_work(tmp_path):
    assert forks(5, tmp_path) == {"forks": 5, "stuck": 0, "wrong": 0}
