"""Hold the memory of all requests under one limit, and give it back to the system after a load."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

from lowtide._checks import available_memory, check_integer
from lowtide.serve.exchange import Refusal

# Of what is available when the server starts: models are loaded by then, and other processes are there too.
_SHARE = 4
_LEAST = 64 << 20
_UNKNOWN = 1 << 30
# An eighth of the limit is left to requests that hold at most so much: most need no more, and large ones that stop
# half-way are not to keep them out.
_SMALL, _RESERVE = 1 << 16, 8
# Memory that was in use at a time and is worth giving back.
_WORTH = 16 << 20


class Budget:
    """Counts the bytes of bodies, of rows that are read from them, and of answers, and refuses more than its limit.

    All counting is on the event loop: nothing here waits, and nothing needs a lock.

    Parameters
    ----------
    limit : int, optional
        Bytes; a quarter of what the system has left, at least 64 MB, unless given.

    Attributes
    ----------
    used : int
        Bytes that requests hold now.
    make_room : callable
        Called when there is no room for a request: may end others that have waited too long.

    Examples
    --------
    >>> budget = Budget(1000)
    >>> lease = budget.lease()
    >>> lease.add(700)
    >>> budget.used
    700
    >>> lease.close()
    >>> budget.used
    0
    """

    def __init__(self, limit: int | None = None) -> None:
        if limit is None:
            available = available_memory()
            limit = _UNKNOWN if available is None else max(_LEAST, available // _SHARE)
        self.limit = check_integer("serve", "memory", limit, 1)
        self.used = 0
        self.make_room: Callable[[], None] = lambda: None
        self._most = 0  # since memory was last given back

    def lease(self) -> Lease:
        """Return what one request holds: nothing yet."""
        return Lease(self)

    def take(self, n_bytes: int, held: int = 0) -> None:
        """Count bytes for who holds some already, or refuse: 413 for what can never be, 503 for what may be later."""
        used, wanted = self.used + n_bytes, held + n_bytes
        limit = self.limit if wanted <= _SMALL else self.limit - self.limit // _RESERVE
        if used > limit:
            # Closed: the rest of a body would otherwise have to be read to find the next request.
            closing = (b"connection", b"close")
            if wanted > limit:
                must = f"a request must be answered within the server's {limit} bytes of memory"
                raise Refusal(413, f"{must}. Send fewer rows at a time.", [closing])
            self.make_room()
            busy = "the server's memory is in use by other requests. Try again soon."
            raise Refusal(503, busy, [(b"retry-after", b"1"), closing])
        self.used = used
        if used > self._most:
            self._most = used

    def give(self, n_bytes: int) -> None:
        """Count bytes that are free again."""
        self.used -= n_bytes

    def is_worth_returning(self) -> bool:
        """Whether a load has passed whose memory is still kept for the next; says so once a load."""
        if self.used > self._most // 2 or self._most < _WORTH:
            return False
        self._most = self.used
        return True


class Lease:
    """What one request holds of a budget."""

    __slots__ = ("_budget", "size")

    def __init__(self, budget: Budget) -> None:
        self._budget, self.size = budget, 0

    def add(self, n_bytes: int) -> None:
        """Hold more."""
        self._budget.take(n_bytes, self.size)
        self.size += n_bytes

    def become(self, n_bytes: int) -> None:
        """Hold so many bytes in all."""
        if n_bytes > self.size:
            self.add(n_bytes - self.size)
        else:
            self._budget.give(self.size - n_bytes)
            self.size = n_bytes

    def close(self) -> None:
        """Hold nothing."""
        self._budget.give(self.size)
        self.size = 0


def return_memory() -> None:
    """Give memory that is free in the process back to the system, where the C library can; takes milliseconds."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
