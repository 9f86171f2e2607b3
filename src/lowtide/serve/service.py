"""The state of a server: its settings, what is loaded, who may ask, and the batches that wait for an answer."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from lowtide._checks import check_integer, check_positive, fail
from lowtide.cancel import CancelToken
from lowtide.errors import CancelledError, LowtideError
from lowtide.serve.budget import Budget
from lowtide.serve.catalog import Catalog, ServedDatabase
from lowtide.serve.exchange import Call, Refusal, Reply, answer_reply
from lowtide.serve.guard import KEYS_VARIABLE, HostList, KeyRing, RateLimit
from lowtide.serve.model import Answer, Query, QueryReader, ServedModel
from lowtide.serve.observe import EventLog, Metrics

T = TypeVar("T")
R = TypeVar("R")
_Batch = list[tuple[T, "asyncio.Future[R]"]]
# Bodies and answers that are read and written within about a millisecond: larger ones are left to a thread.
_SMALL_BYTES, _SMALL_ROWS = 1 << 16, 1 << 20  # of the body, and of the rows that may be in it
_SMALL_ANSWER = 1 << 12  # numbers
_WRONG_KEYS_SECONDS = 60.0


@dataclass(frozen=True)
class Settings:
    """Where a server listens, and how much of anything it takes.

    Parameters
    ----------
    host : str, default="127.0.0.1"
        Address to listen on. Keys are required unless it is a loopback address.
    port : int, default=8000
        0 takes a free one.
    body_bytes : int, default=16 MiB
        Largest body; a larger one is answered with 413.
    head_bytes : int, default=32 KiB
        Largest request line with headers; a larger one is answered with 431.
    rows : int, default=65536
        Most rows of a request.
    head_seconds, body_seconds : float, default=10 and 30
        Time for the headers, and for the body, to arrive; then 408.
    idle_seconds : float, default=75
        How long a connection may be silent between two requests.
    work_seconds : float, default=60
        Time for one request to be read, and for its answer; then 503, and the work is stopped.
    stop_seconds : float, default=30
        How long requests in flight may go on when the server is asked to stop.
    connections : int, default=8192
        At most; beyond, the one that has waited longest for headers, body or its next request is closed.
    waiting_rows : int, default=262144
        Rows that may wait for one model; then 503.
    rate : float or None, default=None
        Requests a second for each key (or address, without keys), with bursts of two seconds' worth; then 429.
    batching : bool, default=True
        One product for requests that wait together.
    memory : int or None, default=None
        Bytes that bodies, rows and answers may take together; then 503. A quarter of what the system has left at the
        start unless given.
    wrong_keys : int, default=20
        Wrong keys that an address may send within a minute; then 429.
    allow_hosts : tuple of str, default=()
        Further names in `Host` under which the server may be asked. On a loopback address others than it and its own
        names are answered with 421; elsewhere only where some are given.
    proxy : bool, default=False
        Whether a proxy that does TLS stands before the server: callers are then told apart by the last address in
        `X-Forwarded-For`, and a key that did not come over https by `X-Forwarded-Proto` is refused.
    plain_http : bool, default=False
        Whether keys may travel without TLS from other machines.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    body_bytes: int = 16 << 20
    head_bytes: int = 32 << 10
    rows: int = 1 << 16
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    idle_seconds: float = 75.0
    work_seconds: float = 60.0
    stop_seconds: float = 30.0
    connections: int = 8192
    waiting_rows: int = 1 << 18
    rate: float | None = None
    batching: bool = True
    memory: int | None = None
    wrong_keys: int = 20
    allow_hosts: tuple[str, ...] = ()
    proxy: bool = False
    plain_http: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.host, str) or not self.host:
            raise fail("serve", "host must be an address", self.host)
        check_integer("serve", "port", self.port, 0, 65535)
        for name in ("body_bytes", "head_bytes", "rows", "connections", "waiting_rows", "wrong_keys"):
            check_integer("serve", name, getattr(self, name), 1)
        for name in ("head_seconds", "body_seconds", "idle_seconds", "work_seconds", "stop_seconds"):
            check_positive("serve", name, getattr(self, name))
        if self.rate is not None:
            check_positive("serve", "rate", self.rate, "Or None for no limit.")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        with contextlib.suppress(ValueError):
            return ipaddress.ip_address(self.host).is_loopback
        return self.host == "localhost"


@dataclass(eq=False)
class Batcher(Generic[T, R]):
    """Batches concurrent requests for one model into a single product.

    Requests are gathered until the event loop has seen all that have come. A batch of up to `small` rows then runs at
    once on the loop: it takes less than handing it to a thread would. A large one runs in a thread, one at a time, and
    whatever comes meanwhile, up to `most` rows, is the next batch. `size` says how many rows an item is. Work that
    nobody waits for any more is stopped.

    `run` takes a list of items and returns a result for each; where it fails, each is run alone, so that what is wrong
    with one request is told to that one. Without `join` each is always answered alone.
    """

    run: Callable[[Sequence[T]], Sequence[R]]
    size: Callable[[T], int]
    small: int
    most: int
    pool: Executor
    join: bool = True
    _waiting: _Batch[T, R] = field(default_factory=list, init=False)
    _rows: int = field(default=0, init=False)
    _busy: bool = field(default=False, init=False)  # a thread is

    def may_wait(self, n_rows: int) -> bool:
        """Whether so many rows are not answered by the event loop's next turn."""
        return self._busy or n_rows > self.small

    def submit(self, item: T) -> asyncio.Future[R]:
        """Return what will be the item's result."""
        loop, size = asyncio.get_running_loop(), self.size(item)
        if self._waiting and self._rows + size > self.most:
            raise Refusal(503, "too many rows are waiting for this model. Try again soon.", [(b"retry-after", b"1")])
        if not self._waiting and not self._busy:
            loop.call_soon(self._start, loop)
        result: asyncio.Future[R] = loop.create_future()
        self._waiting.append((item, result))
        self._rows += size
        return result

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Answer what waits, but not those who were told meanwhile that it took too long."""
        batch = [(item, result) for item, result in self._waiting if not result.done()]
        self._waiting, self._rows = [], 0
        items = [item for item, _ in batch]
        if not items:
            return
        if sum(map(self.size, items)) <= self.small:
            _deliver(batch, self._results(items))
            return
        self._busy = True
        job = loop.run_in_executor(self.pool, self._results_under, _token_of(batch), items)
        job.add_done_callback(lambda job: self._done(batch, job, loop))

    def _results_under(self, token: CancelToken, items: Sequence[T]) -> list[R | Exception]:
        with token:
            return self._results(items)

    def _results(self, items: Sequence[T]) -> list[R | Exception]:
        """Return the result of each item, or what is wrong with it."""
        if self.join or len(items) == 1:
            try:
                return list(self.run(items))
            except CancelledError as error:
                return [error] * len(items)
            except Exception as error:
                if len(items) == 1:
                    return [error]
        return [self._results([item])[0] for item in items]

    def _done(self, batch: _Batch[T, R], job: asyncio.Future[list[R | Exception]], loop: Any) -> None:
        """Give out the results of a thread, and go on with what has come meanwhile."""
        self._busy = False
        if job.cancelled():  # the server stops
            for _, result in batch:
                result.cancel()
            return
        _deliver(batch, job.result())
        if self._waiting:
            loop.call_soon(self._start, loop)


def _token_of(batch: _Batch[T, R]) -> CancelToken:
    """Return a token that stops the work on a batch once nobody waits for any of it."""
    token, waiting = CancelToken(), len(batch)

    def leave(_: asyncio.Future[R]) -> None:
        nonlocal waiting
        waiting -= 1
        if not waiting:
            token.cancel()

    for _, result in batch:
        result.add_done_callback(leave)
    return token


def _deliver(batch: _Batch[T, R], results: list[R | Exception]) -> None:
    """Give each request its result or its error; who has left gets nothing."""
    for (_, future), result in zip(batch, results, strict=True):
        if future.done():
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)


class Loaded:
    """A catalog and the batches that wait for it; requests keep the one they began with."""

    def __init__(self, catalog: Catalog, settings: Settings, metrics: Metrics, pool: ThreadPoolExecutor) -> None:
        self.catalog, self._settings, self._metrics, self._pool = catalog, settings, metrics, pool
        self._batchers: dict[tuple[Any, ...], Batcher[Any, Any]] = {}
        self.documents: dict[str, bytes] = {}  # made once

    async def ask(self, call: Call, served: ServedModel | ServedDatabase, query: Query, *how: Any) -> Answer:
        """Return what a model or database says of a query, answered together with others that ask the same way."""
        key = (served.name, query.kind, *how)
        batcher = self._batchers.get(key)
        if batcher is None:
            small, most, join = served.small_rows(query.kind), self._settings.waiting_rows, self._settings.batching
            run = partial(self._run, served, how)
            batcher = Batcher(run, lambda query: query.n_rows, small, most, self._pool, join)
            self._batchers[key] = batcher
        result = batcher.submit(query)
        if not batcher.may_wait(query.n_rows):
            return await result
        gone = asyncio.ensure_future(call.left())
        try:
            waits = {result, gone}
            await asyncio.wait(waits, timeout=self._settings.work_seconds, return_when=asyncio.FIRST_COMPLETED)
            if not result.done():
                if gone.done():
                    raise Refusal(408, "the connection was closed before the answer.")
                raise _too_late()
            return result.result()
        finally:
            result.cancel()  # also when the server stops; the work ends once all who wait for it are gone
            gone.cancel()

    def _run(self, served: ServedModel | ServedDatabase, how: tuple[Any, ...], queries: Sequence[Query]) -> Any:
        """Return the answers to queries, whose rows are then counted."""
        answers = served.answer(queries, *how)
        self._metrics.batch(served.name, sum(query.n_rows for query in queries))
        return answers


def _too_late() -> Refusal:
    retry = [(b"retry-after", b"5")]
    return Refusal(503, "the answer took too long. Send fewer rows, or try again later.", retry)


class Service:
    """Holds what every request sees: settings, keys, log and metrics, and what is loaded now.

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
        if not settings.is_loopback and not (settings.proxy or settings.plain_http):
            must = "keys must not travel in the clear from other machines, and this server does no TLS"
            remedy = (
                "Put a proxy that does before it and give --proxy, listen on 127.0.0.1, or allow it with --plain-http."
            )
            raise fail("serve", must, settings.host, remedy)
        self.hosts = None
        if settings.is_loopback or settings.allow_hosts:
            self.hosts = HostList(settings.host, settings.allow_hosts)
        self.budget = Budget(settings.memory)
        self.wrong_keys = RateLimit(settings.wrong_keys / _WRONG_KEYS_SECONDS, settings.wrong_keys)
        self.settings, self.keys, self._keys_path = settings, keys, keys_path
        self.log = log or EventLog()
        self.metrics = Metrics()
        self.metrics.memory = lambda: self.budget.used
        self.rate = None if settings.rate is None else RateLimit(settings.rate)
        self.pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="lowtide-serve")
        # Apart from the products: who sends a body need not wait until the longest of those is done.
        self._texts = ThreadPoolExecutor(max_workers=2, thread_name_prefix="lowtide-text")
        self.current = Loaded(catalog, settings, self.metrics, self.pool)
        self.ready = True
        self._reloading = asyncio.Lock()
        self._refused_marks: tuple[Any, ...] = ()
        self._seen_marks: tuple[Any, ...] = ()

    async def read(self, reader: QueryReader, call: Call) -> Query:
        """Return the query of a request's body."""
        body = await call.body(self.settings.body_bytes)
        kind, most = call.headers.get(b"content-type"), self.settings.rows
        needed = reader.bytes_needed(kind, len(body), most)
        call.lease.add(needed)
        if len(body) <= _SMALL_BYTES and needed <= _SMALL_ROWS:
            query = reader.read(kind, body, most)
        else:
            query = await self.in_thread(partial(reader.read, kind, body, most))
        call.lease.become(query.nbytes)
        return query

    async def write(self, content: dict[str, Any], n_numbers: int) -> Reply:
        """Return an answer of about so many numbers."""
        try:
            if n_numbers <= _SMALL_ANSWER:
                return answer_reply(content)
            return await self.in_thread(partial(answer_reply, content))
        except ValueError:
            raise Refusal(422, "values must be of a moderate size, got some whose scores are not finite.") from None

    async def in_thread(self, work: Callable[[], R]) -> R:
        """Return what work returns that takes longer than the event loop can spare."""
        job: Awaitable[R] = asyncio.get_running_loop().run_in_executor(self._texts, work)
        try:
            return await asyncio.wait_for(job, self.settings.work_seconds)
        except TimeoutError:
            raise _too_late() from None

    async def reload(self) -> bool:
        """Load models, databases and keys again; where anything is wrong, all stay as they were. Whether it worked."""
        async with self._reloading:  # else an earlier one that takes longer would bring back what it had read
            marks = self.current.catalog.marks_now()
            try:
                keys = self.keys if self._keys_path is None else KeyRing.load(self._keys_path)
                catalog = await asyncio.get_running_loop().run_in_executor(self.pool, self.current.catalog.reload)
            except Exception as error:
                self._refused_marks = marks
                self.metrics.reloads["failed"] += 1
                if isinstance(error, LowtideError):
                    self.log.event("reload failed", logging.ERROR, reason=str(error))
                else:
                    self.log.failure("reload failed")
                return False
            self.keys, self.current = keys, Loaded(catalog, self.settings, self.metrics, self.pool)
            self.metrics.reloads["done"] += 1
            self.log.event("reloaded", models=list(catalog.models), databases=list(catalog.databases), keys=len(keys))
            return True

    async def reload_when_changed(self) -> None:
        """Reload where a file is another than was loaded; what is loaded answers until then, and where it fails.

        Called in turns. A file must be the same in two of them, since it may still be written; one that could not be
        loaded is tried again once it has changed again.
        """
        catalog = self.current.catalog
        marks = await asyncio.get_running_loop().run_in_executor(self.pool, catalog.marks_now)
        settled, self._seen_marks = marks == self._seen_marks, marks
        if settled and marks not in (catalog.marks, self._refused_marks):
            await self.reload()

    def close(self) -> None:
        """Let the threads go."""
        self.ready = False
        for pool in (self.pool, self._texts):
            pool.shutdown(wait=False, cancel_futures=True)
