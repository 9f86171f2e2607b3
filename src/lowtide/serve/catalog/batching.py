"""One call for all that waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, Generic, TypeVar

from lowtide.serve.http import Problem

__all__ = ["Batcher"]

T = TypeVar("T")
R = TypeVar("R")
_Batch = list[tuple[T, "asyncio.Future[R]"]]


class Batcher(Generic[T, R]):
    """Gathers what requests ask of one model until the event loop has seen them all, and answers in one call.

    A small batch runs at once on the event loop: it takes less than handing it to a thread would. A large one runs in
    a thread, one at a time, and whatever comes meanwhile is the next batch.

    Parameters
    ----------
    run : callable
        Takes a list of items and returns a result for each. Where it fails, each item is run alone, so that what is
        wrong with one request is told to that one.
    size : callable
        How many rows an item is.
    small : int
        Rows up to which a batch runs on the event loop.
    most : int
        Rows that may wait.
    pool : Executor
    join : bool, default=True
        False answers each request alone.
    """

    def __init__(
        self,
        run: Callable[[Sequence[T]], Sequence[R]],
        *,
        size: Callable[[T], int],
        small: int,
        most: int,
        pool: Executor,
        join: bool = True,
    ) -> None:
        self._run, self._size, self._small, self._most, self._pool = run, size, small, most, pool
        self._join = join
        self._waiting: list[tuple[T, asyncio.Future[R]]] = []
        self._rows = 0
        self._scheduled = self._busy = False

    def may_wait(self, n_rows: int) -> bool:
        """Whether so many rows are not answered by the event loop's next turn."""
        return self._busy or n_rows > self._small

    def submit(self, item: T) -> asyncio.Future[R]:
        """Return what will be the item's result."""
        loop = asyncio.get_running_loop()
        size = self._size(item)
        if self._waiting and self._rows + size > self._most:
            raise Problem(503, "too many rows are waiting for this model. Try again soon.", [(b"retry-after", b"1")])
        result: asyncio.Future[R] = loop.create_future()
        self._waiting.append((item, result))
        self._rows += size
        if not self._scheduled and not self._busy:
            self._scheduled = True
            loop.call_soon(self._start, loop)
        return result

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Answer what waits, but not those who were told meanwhile that it took too long."""
        self._scheduled = False
        batch = [(item, result) for item, result in self._waiting if not result.done()]
        self._waiting, self._rows = [], 0
        if not batch:
            return
        items = [item for item, _ in batch]
        if sum(map(self._size, items)) <= self._small:
            _deliver(batch, self._results(items))
            return
        self._busy = True
        loop.run_in_executor(self._pool, self._results, items).add_done_callback(
            lambda job: self._done(batch, job, loop)
        )

    def _results(self, items: Sequence[T]) -> list[R | Exception]:
        """Return the result of each item, or what is wrong with it."""
        if not self._join and len(items) > 1:
            return [self._results([item])[0] for item in items]
        try:
            return list(self._run(items))
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
        if self._waiting and not self._scheduled:
            self._scheduled = True
            loop.call_soon(self._start, loop)


def _deliver(batch: _Batch[T, R], results: list[R | Exception]) -> None:
    """Give each request its result or its error; who has left gets nothing."""
    for (_, future), result in zip(batch, results, strict=True):
        if future.done():
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
