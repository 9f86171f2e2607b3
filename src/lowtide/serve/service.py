"""The state of a server: what is loaded, who may ask, and what has been done."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lowtide._checks import fail
from lowtide.errors import LowtideError
from lowtide.serve.catalog import (
    Batcher,
    Catalog,
    Neighbors,
    Output,
    Query,
    QueryReader,
    Search,
    ServedDatabase,
    ServedModel,
)
from lowtide.serve.guard import KEYS_VARIABLE, KeyRing, RateLimit
from lowtide.serve.http import Call, Problem, Reply, json_reply
from lowtide.serve.observe import EventLog, Metrics
from lowtide.serve.settings import Settings

__all__ = ["Loaded", "Service"]

Answer = dict[str, Any]


class Loaded:
    """A catalog and the batches that wait for it; requests keep the one they began with."""

    def __init__(self, catalog: Catalog, settings: Settings, metrics: Metrics, pool: ThreadPoolExecutor) -> None:
        self.catalog, self._settings, self._metrics, self._pool = catalog, settings, metrics, pool
        self._batchers: dict[tuple[Any, ...], Batcher[Any, Any]] = {}
        self.openapi: bytes | None = None

    async def predict(self, model: ServedModel, query: Query, outputs: tuple[Output, ...]) -> Answer:
        """Return what a model says of a query."""
        key = model.name, query.kind, outputs
        batcher = self._batchers.get(key)
        if batcher is None:

            def run(queries: Sequence[Query]) -> list[Answer]:
                answers = model.answer(key[1], outputs, queries)
                self._metrics.batch(model.name, sum(query.n_rows for query in queries))
                return answers

            batcher = self._add(key, run, model.small_rows(query.kind))
        return await self._answered(batcher, query, query.n_rows)

    async def search(self, database: ServedDatabase, query: Query, k: int) -> Neighbors:
        """Return the rows of a database that are most similar to each row of a query."""
        key = "", database.name, query.kind
        batcher = self._batchers.get(key)
        if batcher is None:

            def run(searches: Sequence[Search]) -> list[Neighbors]:
                found = database.answer(key[2], searches)
                self._metrics.batch(database.name, sum(search.query.n_rows for search in searches))
                return found

            batcher = self._add(key, run, database.small_rows)
        return await self._answered(batcher, Search(query, k), query.n_rows)

    def _add(self, key: tuple[Any, ...], run: Any, small: int) -> Batcher[Any, Any]:
        batcher: Batcher[Any, Any] = Batcher(
            run,
            size=_n_rows,
            small=small,
            most=self._settings.waiting_rows,
            pool=self._pool,
            join=self._settings.batching,
        )
        self._batchers[key] = batcher
        return batcher

    async def _answered(self, batcher: Batcher[Any, Any], item: Any, n_rows: int) -> Any:
        """Wait for an item's result; where threads are at work, no longer than the settings allow."""
        result = batcher.submit(item)
        try:
            if not batcher.may_wait(n_rows):
                return await result
            return await asyncio.wait_for(result, self._settings.work_seconds)
        except TimeoutError:
            retry = [(b"retry-after", b"5")]
            raise Problem(503, "the answer took too long. Send fewer rows, or try again later.", retry) from None
        except LowtideError as error:
            raise Problem(422, str(error)) from error


# Bodies and answers that are read and written within about a millisecond: larger ones are left to a thread.
_SMALL_BYTES = 1 << 16
_SMALL_ANSWER = 1 << 12  # numbers


class Service:
    """What every request sees.

    Parameters
    ----------
    catalog : Catalog
    settings : Settings
    keys : KeyRing
        Without any, whoever reaches the server may ask; so there must be some unless only this machine can.
    keys_path : path, optional
        Read again at a reload; without it the keys stay.
    log : EventLog, optional
    """

    def __init__(
        self,
        catalog: Catalog,
        settings: Settings,
        keys: KeyRing,
        keys_path: str | os.PathLike[str] | None = None,
        log: EventLog | None = None,
    ) -> None:
        if not settings.is_loopback and not len(keys):
            remedy = f"Name a file with --keys, set {KEYS_VARIABLE}, or listen on 127.0.0.1."
            raise fail("serve", "keys must be given to listen where others can reach it", settings.host, remedy)
        self.settings, self.keys, self._keys_path = settings, keys, keys_path
        self.log = log or EventLog()
        self.metrics = Metrics()
        self.rate = None if settings.rate is None else RateLimit(settings.rate)
        self.pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="lowtide-serve")
        self.current = Loaded(catalog, settings, self.metrics, self.pool)
        self.ready = True
        self._reloading = asyncio.Lock()

    async def read(self, reader: QueryReader, call: Call) -> Query:
        """Return the query of a request's body."""
        body = await call.body(self.settings.body_bytes)
        kind, most = call.headers.get(b"content-type"), self.settings.rows
        if len(body) <= _SMALL_BYTES:
            return reader.read(kind, body, most)
        return await asyncio.get_running_loop().run_in_executor(self.pool, reader.read, kind, body, most)

    async def write(self, content: dict[str, Any], n_numbers: int) -> Reply:
        """Return an answer of about so many numbers."""
        if n_numbers <= _SMALL_ANSWER:
            return json_reply(content)
        return await asyncio.get_running_loop().run_in_executor(self.pool, json_reply, content)

    async def reload(self) -> bool:
        """Load models, databases and keys again; where anything is wrong, all stay as they were. Whether it worked."""
        async with self._reloading:  # else an earlier one that takes longer would bring back what it had read
            return await self._reload()

    async def _reload(self) -> bool:
        try:
            keys = self.keys if self._keys_path is None else KeyRing.load(self._keys_path)
            catalog = await asyncio.get_running_loop().run_in_executor(self.pool, self.current.catalog.reload)
        except LowtideError as error:
            self.metrics.reloads["failed"] += 1
            self.log.event("reload failed", logging.ERROR, reason=str(error))
            return False
        except Exception:
            self.metrics.reloads["failed"] += 1
            self.log.failure("reload failed")
            return False
        self.keys, self.current = keys, Loaded(catalog, self.settings, self.metrics, self.pool)
        self.metrics.reloads["done"] += 1
        self.log.event("reloaded", models=list(catalog.models), databases=list(catalog.databases), keys=len(keys))
        return True

    def close(self) -> None:
        """Let the threads go."""
        self.ready = False
        self.pool.shutdown(wait=False, cancel_futures=True)


def _n_rows(item: Query | Search) -> int:
    return item.n_rows if isinstance(item, Query) else item.query.n_rows
