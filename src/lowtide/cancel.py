"""Work that can be stopped: by a deadline, by another thread, by Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import ParamSpec, TypeVar

from lowtide import _core
from lowtide._checks import check_positive, fail

__all__ = ["CancelToken", "carried", "poll"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


class CancelToken:
    """Stops the work that runs under it, when it is told to or when its time is out.

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

    Ctrl-C needs no token: on the main thread ops run the handlers of signals at least every 50 ms, so that
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
        self._token = _core.Token(None if seconds is None else check_positive("CancelToken", "seconds", seconds))

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
    """Raise CancelledError if a token that holds for this thread says stop: between blocks of work of one's own.

    Examples
    --------
    >>> from lowtide.cancel import poll
    >>> poll()
    """
    _core.poll()


def carried(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return the function, to be called on another thread under the tokens that hold for this one.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from lowtide.cancel import CancelToken, carried, poll
    >>> with CancelToken(seconds=60), ThreadPoolExecutor() as pool:
    ...     pool.submit(carried(poll)).result()
    """
    tokens = _core.tokens()
    if not tokens:
        return function

    def under_tokens(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with ExitStack() as stack:
            for token in tokens:
                _core.enter_token(token)
                stack.callback(_core.leave_token, token)
            return function(*args, **kwargs)

    return under_tokens
