"""What is kept beside an object."""

from __future__ import annotations

import numpy as np
import pytest
from persist.samples import encoder

import lowtide as lt
from lowtide.errors import ParameterError
from lowtide.persist import describe, read_metadata


def test_metadata_come_back_and_the_object_does_not_change(tmp_path):
    metadata = {"columns": ["a", "b"], "mean": [0.1, 1e300], "deep": {"yes": True, "no": None, "é": "ü"}}
    lt.save(encoder(), tmp_path / "e.lowtide", metadata=metadata)
    assert read_metadata(tmp_path / "e.lowtide") == metadata
    assert describe(tmp_path / "e.lowtide")["metadata"] == metadata
    assert lt.load(tmp_path / "e.lowtide").fingerprint_ == encoder().fingerprint_


def test_a_file_without_metadata_has_empty_ones_and_the_bytes_it_always_had(tmp_path):
    lt.save(encoder(), tmp_path / "e.lowtide")
    assert read_metadata(tmp_path / "e.lowtide") == {}
    assert b"metadata" not in (tmp_path / "e.lowtide").read_bytes().replace(b"__metadata__", b"")


@pytest.mark.parametrize(
    "metadata", [{"a": np.zeros(2)}, {"a": (1, 2)}, {1: "a"}, {"a": float("nan")}, {"a": object()}, ["a"], "a"]
)
def test_metadata_that_json_would_change_are_refused_and_nothing_is_written(tmp_path, metadata):
    with pytest.raises(ParameterError, match="metadata"):
        lt.save(encoder(), tmp_path / "e.lowtide", metadata=metadata)
    assert list(tmp_path.iterdir()) == []
