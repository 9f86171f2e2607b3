"""A served file that changes is loaded again; what was loaded answers until then."""

import asyncio
import os
import shutil

import numpy as np
import pytest
from serve.serving import serving

import lowtide as lt
from lowtide.serve import Catalog, Named, catalog
from lowtide.serve.exchange import Refusal


def turn(service, times=2):
    """Look at the files as the server does once a second."""
    for _ in range(times):
        asyncio.run(service.reload_when_changed())


@pytest.fixture
def quiet(monkeypatch):
    """Let only the test look at the files."""
    monkeypatch.setattr("lowtide.serve.server._CHORES_SECONDS", 3600.0)


def test_changed_file_is_loaded_again_and_the_old_one_answers_until_then(tmp_path, digits, quiet):
    path = tmp_path / "known.lowtide"
    shutil.copy(digits.codes_path, path)
    with serving([digits.path], [path], head_seconds=3600, body_seconds=3600) as (_, service):
        rows = service.current.catalog.databases["known"].rows
        turn(service)
        assert service.current.catalog.databases["known"].rows is rows
        os.truncate(path, 1000)
        turn(service)
        assert service.metrics.reloads["failed"] == 1
        assert service.current.catalog.databases["known"].rows is rows
        assert rows == digits.codes
        turn(service)
        assert service.metrics.reloads["failed"] == 1  # tried once
        path.write_bytes(b"")
        lt.save(digits.codes[:50], path)
        turn(service, 1)
        assert service.current.catalog.databases["known"].rows is rows  # it may still be written
        turn(service, 1)
        assert service.current.catalog.databases["known"].rows == digits.codes[:50]


def test_rows_that_are_appended_to_a_store_are_served(tmp_path, digits, quiet):
    with lt.CodeStore.create(tmp_path / "s.zarr", digits.encoder) as store:
        store.append(digits.codes[:60])
        with serving([digits.path], [tmp_path / "s.zarr"], head_seconds=3600, body_seconds=3600) as (_, service):
            store.append(digits.codes[60:])
            turn(service)
            assert service.current.catalog.databases["s"].rows.n_rows == 200


def test_codes_that_do_not_fit_are_read_from_their_file_and_refused_when_it_changes(tmp_path, digits, monkeypatch):
    path = tmp_path / "known.lowtide"
    shutil.copy(digits.codes_path, path)
    monkeypatch.setattr(catalog, "available_memory", lambda: 1000)
    database = Catalog.load([Named.parse(str(digits.path))], [Named.parse(str(path))]).databases["known"]
    assert isinstance(database.rows, lt.persist.CodesFile)
    body = digits.encoder.transform(digits.X[:2])
    query = catalog.Query("features", 2, body, k=3)
    expected = [row.tolist() for row in digits.codes.top_k(body, 3)[0]]
    assert database.answer([query])[0]["indices"].tolist() == expected
    os.truncate(path, 1000)
    with pytest.raises(Refusal, match="changed while they were read") as refusal:
        database.answer([query])
    assert refusal.value.status == 503
    assert str(tmp_path) not in refusal.value.detail


def test_served_scores_are_those_of_the_same_product_before_saving_bit_by_bit(tmp_path, digits):
    lt.save(digits.model, tmp_path / "m.lowtide")
    # As many codes as the server multiplies at once: products of other numbers of rows add in another order.
    codes = digits.encoder.encode(digits.X[:15])
    with serving([tmp_path / "m.lowtide"]) as (address, _), lt.Client(address) as client:
        found = client.decision_function(codes)
    assert np.array_equal(found, digits.model.decision_function(codes))
