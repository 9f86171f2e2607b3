"""How often one caller may ask."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["RateLimit"]

_MOST_CALLERS = 1 << 16
_BURST_SECONDS = 2.0


class RateLimit:
    """A bucket of tokens a caller: `rate` more a second, at most two seconds' worth.

    Parameters
    ----------
    rate : float
        Requests a second.
    clock : callable, default=time.monotonic

    Examples
    --------
    >>> now = 0.0
    >>> limit = RateLimit(1.0, clock=lambda: now)
    >>> [limit.wait("a") for _ in range(3)]
    [0.0, 0.0, 1.0]
    """

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._most = max(1.0, _BURST_SECONDS * rate)
        self._tokens: dict[str, tuple[float, float]] = {}

    def wait(self, caller: str) -> float:
        """Take a token and return 0, or return the seconds until there is one."""
        now = self._clock()
        # Taken out and put back: the dict stays in order of use, and the first is the one not seen longest.
        left, then = self._tokens.pop(caller, (self._most, now))
        left = min(self._most, left + self._rate * (now - then))
        spent = left >= 1.0
        self._tokens[caller] = (left - 1.0 if spent else left, now)
        if len(self._tokens) > _MOST_CALLERS:
            del self._tokens[next(iter(self._tokens))]
        return 0.0 if spent else (1.0 - left) / self._rate
