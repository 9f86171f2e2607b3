"""Work that can be stopped: by a deadline, by another thread, by Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from threading import Condition, Thread
from types import TracebackType
from typing import Any, Generic, ParamSpec, TypeVar
from weakref import WeakSet

import numpy as np
import scipy
from numpy.typing import NDArray

from lowtide import _core
from lowtide._checks import check_positive, fail

__all__ = [
    "CancelToken",
    "Later",
    "Threads",
    "add_gram",
    "aside",
    "carried",
    "matmul",
    "mirrored",
    "poll",
    "ready",
    "signed_parts",
]

# Multiplications between two polls: 10 ms of one core, 0.1 s of a slow one.
_PIECE = 1 << 28
# Rows and columns of a piece at least: fewer would have BLAS read more than it multiplies.
_LEAST_ROWS = 128
# Seconds between two looks at whether to go on waiting.
_WAIT = 0.02

_P = ParamSpec("_P")
_R = TypeVar("_R")


class CancelToken:
    """Stop the work that runs inside its `with` block, after a time or when another thread says so.

    Work under the token, `with token:`, ends with `lowtide.errors.CancelledError` within 0.2 s of `cancel`, and so
    when `seconds` have passed since the token was made: encoding, products, fits, predictions, appends to a store.
    What was stopped leaves nothing half made: no output, no changed store or estimator, no lock.

    Parameters
    ----------
    seconds : float, default=None
        Time from now after which work under the token stops, greater than 0. Without one it is stopped by `cancel`
        alone.

    Notes
    -----
    A token holds for the thread that entered it, and for the threads that lowtide's work there uses. Within another,
    both hold. One may be entered on many threads and any number of times; once it says stop it says so for ever.

    Ctrl-C needs no token: on the main thread ops run the handlers of signals about every 20 ms, so that
    KeyboardInterrupt, or whatever a handler of your own raises, ends them as soon.

    A token costs a look at a flag a block, and with `seconds` one at the clock: some 20 ns every 10 microseconds.

    Examples
    --------
    >>> import numpy as np
    >>> import lowtide as lt
    >>> encoder = lt.RandomFeatures(n_components=256, bits=1, gamma=0.5, random_state=0)
    >>> X = np.random.default_rng(0).normal(size=(100, 5))
    >>> with lt.CancelToken(seconds=60):
    ...     codes = encoder.fit(X).encode(X)
    >>> token = lt.CancelToken()
    >>> token.cancel()  # from any thread
    >>> with token:
    ...     encoder.encode(X)
    ... # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    lowtide.errors.CancelledError: The work was cancelled by its CancelToken; nothing of it was kept. Start it again ...
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._token = _core.make_token(None if seconds is None else check_positive("CancelToken", "seconds", seconds))

    def cancel(self) -> None:
        """Tell the work under the token to stop; any thread may, at any time."""
        self._token.cancel()

    @property
    def cancelled(self) -> bool:
        """Whether work under the token is to stop: `cancel` was called or the time is out."""
        return self._token.state() != 0

    def __enter__(self) -> CancelToken:
        _core.enter_token(self._token)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not _core.leave_token(self._token):
            must = "tokens must be left on the thread that entered them, the last one first"
            raise fail("CancelToken", must, "another order", "Use `with`, and no await or yield within it.")


def poll() -> None:
    """Raise CancelledError if this thread's work was told to stop; call it between blocks of your own work.

    Examples
    --------
    >>> from lowtide.cancel import poll
    >>> poll()
    """
    _core.poll()


def carried(function: Callable[_P, _R], *more: CancelToken) -> Callable[_P, _R]:
    """Return the function, to be called on another thread under the tokens that hold for this one, and some more.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from lowtide.cancel import CancelToken, carried, poll
    >>> with CancelToken(seconds=60), ThreadPoolExecutor() as pool:
    ...     pool.submit(carried(poll)).result()
    """
    tokens = [*_core.tokens(), *(token._token for token in more)]

    def under_tokens(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with ExitStack() as stack:
            for token in tokens:
                _core.enter_token(token)
                stack.callback(_core.leave_token, token)
            return function(*args, **kwargs)

    return under_tokens


class Threads(ThreadPoolExecutor):
    """Threads for tasks of this one: they run under its tokens, and stop when its block ends with an error.

    A block that is interrupted waits for no more than the tasks that have begun, and those end at their next poll.

    Examples
    --------
    >>> from lowtide.cancel import Threads
    >>> with Threads(2) as threads:
    ...     list(threads.map(abs, [-1, 2]))
    [1, 2]
    """

    def __init__(self, n_threads: int, name: str = "lowtide") -> None:
        super().__init__(n_threads, thread_name_prefix=name)
        self._stop = CancelToken()
        self._run = carried(self._done, self._stop)
        self._given: WeakSet[Future[Any]] = WeakSet()
        self._n_running, self._changed = 0, Condition()

    def submit(self, task: Callable[_P, _R], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_R]:
        """Run a task on one of the threads, unless a token says stop before it begins."""
        future = super().submit(self._run, task, *args, **kwargs)
        self._given.add(future)
        return future

    def _done(self, task: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Do a task unless it is to stop, and count those that run."""
        with self._changed:
            self._n_running += 1
        try:
            _core.poll()
            return task(*args, **kwargs)
        finally:
            with self._changed:
                self._n_running -= 1
                self._changed.notify_all()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        stopped = kind is not None
        try:
            if not stopped:
                wait([*self._given])
        except BaseException:
            stopped = True
            raise
        finally:
            if stopped:
                self._stop.cancel()
                # Not for the threads: where Ctrl-C has interrupted that, Python takes one that still runs for ended.
                with self._changed:
                    self._changed.wait_for(lambda: not self._n_running)
            self.shutdown(wait=True)


def aside(task: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Return what a long call of another library gives, made on a thread of its own: this one can be stopped.

    For calls that are in one piece and release Python's lock. If this thread is stopped the other is left alone: it
    ends when the call does, and what that gives is dropped.

    Examples
    --------
    >>> from lowtide.cancel import aside
    >>> aside(abs, -1)
    1
    """
    return Later(task, *args, **kwargs).result()


class Later(Generic[_R]):
    """What a task gives, made on a thread of its own while this one goes on, under its tokens.

    Examples
    --------
    >>> from lowtide.cancel import Later
    >>> later = Later(abs, -1)
    >>> later.result()
    1
    """

    def __init__(self, task: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> None:
        self._done: Future[_R] = Future()
        run = carried(task)

        def call() -> None:
            try:
                self._done.set_result(run(*args, **kwargs))
            except BaseException as error:
                self._done.set_exception(error)

        Thread(target=call, name="lowtide-aside", daemon=True).start()

    def result(self) -> _R:
        """Wait for the task and return what it gave, or raise what it raised."""
        while not wait([self._done], _WAIT).done:
            _core.poll()
        return self._done.result()


def ready(value: _R | Later[_R]) -> _R:
    """Return a value that is there, or wait for one that is still being made.

    Examples
    --------
    >>> from lowtide.cancel import Later, ready
    >>> ready(1), ready(Later(abs, -1))
    (1, 1)
    """
    return value.result() if isinstance(value, Later) else value


def matmul(A: NDArray[Any], B: NDArray[Any], out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return A B, large ones in pieces of some ten milliseconds, between which work can be stopped.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide.cancel import matmul
    >>> matmul(np.eye(2), np.ones((2, 1))).ravel()
    array([1., 1.])
    """
    (n, m), k = A.shape, B.shape[1]
    if n * m * k <= _PIECE:
        return np.matmul(A, B, out=out)
    if out is None:
        out = np.empty((n, k), dtype=np.result_type(A, B))
    rows = max(_LEAST_ROWS, _PIECE // (m * k))
    columns = max(_LEAST_ROWS, _PIECE // (m * rows))
    for i in range(0, n, rows):
        for j in range(0, k, columns):
            _core.poll()
            np.matmul(A[i : i + rows], B[:, j : j + columns], out=out[i : i + rows, j : j + columns])
    return out


def add_gram(total: NDArray[Any], block: NDArray[Any], sign: float = 1.0) -> None:
    """Add sign block' block to the lower triangle of a C-ordered matrix, in pieces where it is large.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide.cancel import add_gram
    >>> total = np.zeros((2, 2))
    >>> add_gram(total, np.array([[1.0, 2.0]]))
    >>> np.tril(total)
    array([[1., 0.],
           [2., 4.]])
    """
    k, m = block.shape
    if k * m * m <= 2 * _PIECE:
        update = scipy.linalg.blas.ssyrk if total.dtype == np.float32 else scipy.linalg.blas.dsyrk
        update(sign, block.T, beta=1.0, c=total.T, overwrite_c=1)
        return
    step = max(_LEAST_ROWS, _PIECE // (k * m))
    for i in range(0, m, step):
        _core.poll()
        part = block[:, i : i + step].T @ block[:, : i + step]
        strip = total[i : i + step, : i + step]
        np.add(strip, part, out=strip) if sign > 0 else np.subtract(strip, part, out=strip)


def mirrored(lower: NDArray[Any]) -> NDArray[Any]:
    """Copy the lower triangle of a square array over its upper one, tile by tile, in place."""
    size = 512
    for j in range(0, lower.shape[0], size):
        corner = lower[j : j + size, j : j + size]
        corner[...] = np.tril(corner) + np.tril(corner, -1).T
        lower[j : j + size, j + size :] = lower[j + size :, j : j + size].T
    return lower


def signed_parts(block: NDArray[Any], weight: NDArray[np.float64] | None) -> Iterator[tuple[float, NDArray[Any]]]:
    """Yield (sign, rows scaled by sqrt|weight|): a rank-k update takes one sign only."""
    if weight is None:
        yield 1.0, block
        return
    root = np.sqrt(np.abs(weight)).astype(block.dtype)
    for sign, chosen in ((1.0, weight > 0), (-1.0, weight < 0)):
        if chosen.all():
            block *= root[:, None]
            yield sign, block
        elif chosen.any():
            yield sign, block[chosen] * root[chosen, None]
