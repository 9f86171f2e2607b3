"""Decide who may ask, how often and under which name: API keys, kept as hashes, limits a caller, and hosts."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Self

from lowtide.errors import FileAccessError, FileFormatError

KEYS_VARIABLE = "LOWTIDE_KEYS"
_SHORTEST = 16
_HASH = "sha256:"
# No name is taken from a hash; and '=' parts nothing, since keys in base64 end in it.
_LINE = re.compile(r"(?:(?!(?i:sha256)\s*:)([\w.-]{1,64})\s*:\s*)?([!-~]{1,512})")
_HEX = re.compile(r"[0-9a-fA-F]{64}")
_MOST_CALLERS = 1 << 16
_BURST_SECONDS = 2.0


class KeyRing:
    """API keys by name, of which only the sha256 is in memory; they are compared in constant time.

    Parameters
    ----------
    digests : dict of bytes
        sha256 of each key, by its name in logs.

    Examples
    --------
    >>> ring = KeyRing.from_text("laptop: correct-horse-battery")
    >>> ring.name_of(b"correct-horse-battery"), ring.name_of(b"correct-horse-batterz")
    ('laptop', None)
    """

    def __init__(self, digests: Mapping[str, bytes]) -> None:
        self._digests = dict(digests)

    def __len__(self) -> int:
        return len(self._digests)

    def name_of(self, key: bytes) -> str | None:
        """Return the name of a key, None when it is none; the time does not tell how near it came."""
        given, found = hashlib.sha256(key).digest(), None
        for name, digest in self._digests.items():
            if hmac.compare_digest(given, digest):
                found = name
        return found

    @classmethod
    def from_text(cls, text: str, source: str = "keys") -> Self:
        """Return the keys of a text: one a line, `name: key` or the key alone, `sha256:<hex>` in place of a key.

        Empty lines, and lines that begin with #, are left out. No message repeats a line.
        """
        digests: dict[str, bytes] = {}
        for number, line in enumerate(text.splitlines(), 1):
            entry = line.strip()
            if not entry or entry.startswith("#"):
                continue
            found = _LINE.fullmatch(entry)
            if found is None:
                raise FileFormatError(f"{source}, line {number}: must be 'name: key' or a key without spaces.")
            name, key = found[1] or f"key-{len(digests) + 1}", found[2]
            if name in digests:
                raise FileFormatError(f"{source}, line {number}: names of keys must differ, got {name!r} again.")
            digests[name] = _digest(key, f"{source}, line {number}")
        return cls(digests)

    @classmethod
    def load(cls, path: str | os.PathLike[str] | None) -> Self:
        """Return the keys of a file and of the environment variable LOWTIDE_KEYS (commas or lines between them).

        A file without any is refused: whoever names one does not want to serve everyone.
        """
        text = os.environ.get(KEYS_VARIABLE, "").replace(",", "\n")
        found = {f"environment-{name}": digest for name, digest in cls.from_text(text, KEYS_VARIABLE)._digests.items()}
        if path is not None:
            try:
                content = Path(path).read_text(encoding="utf-8-sig")
            except (OSError, UnicodeDecodeError) as error:
                reason = getattr(error, "strerror", None) or "no UTF-8 text"
                raise FileAccessError(f"{str(path)!r} must be a readable file of keys, got: {reason}.") from error
            given = cls.from_text(content, repr(str(path)))._digests
            if not given:
                raise FileFormatError(f"{str(path)!r} must hold a key, got none. Write 'name: key' on a line of it.")
            found |= given
        return cls(found)


def _digest(key: str, where: str) -> bytes:
    """Return the sha256 of a key, or the one that stands in its place."""
    if key.lower().startswith(_HASH):
        if not _HEX.fullmatch(key[len(_HASH) :]):
            raise FileFormatError(f"{where}: {_HASH} must be followed by the 64 hex digits of the key's hash.")
        return bytes.fromhex(key[len(_HASH) :])
    if len(key) < _SHORTEST:
        remedy = "python -c 'import secrets; print(secrets.token_urlsafe(24))' makes one."
        raise FileFormatError(f"{where}: a key must have at least {_SHORTEST} characters. {remedy}")
    return hashlib.sha256(key.encode()).digest()


class RateLimit:
    """Limits what each caller does by a bucket of tokens: `rate` more a second, at most `burst`, two seconds' worth."""

    def __init__(self, rate: float, burst: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._most = max(1.0, _BURST_SECONDS * rate if burst is None else burst)
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

    def wait_left(self, caller: str) -> float:
        """Return the seconds until there is a token for a caller, 0 where there is one; none is taken."""
        left, then = self._tokens.get(caller, (self._most, 0.0))
        return max(0.0, 1.0 - left - self._rate * (self._clock() - then)) / self._rate


# Names of a machine for itself: no other machine's name can be made to be one of them in a browser's address.
_OWN_NAMES = ("localhost", "127.0.0.1", "[::1]")
_MOST_SEEN = 256


class HostList:
    """Names under which a server may be asked; a page from elsewhere whose name was made to point here has another.

    A browser lets a page talk to the address its own name stands for, and whoever owns the name may change that to
    127.0.0.1: the request then comes from this machine, with the page's name in `Host`. Ports are not compared: a
    forwarded one is another.

    Parameters
    ----------
    address : str
        What the server listens on; always a name of its own.
    allowed : iterable of str
        Further names.

    Examples
    --------
    >>> names = HostList("127.0.0.1", ["models.example.org"])
    >>> [names.has(host) for host in (b"localhost:8000", b"models.example.org", b"evil.example", b"localhost.evil")]
    [True, True, False, False]
    """

    def __init__(self, address: str, allowed: Iterable[str] = ()) -> None:
        own = f"[{address}]" if ":" in address else address
        self._allowed = frozenset(_name_of(name) for name in allowed)
        self._names = self._allowed | {own, *_OWN_NAMES}
        self._seen: dict[bytes, bool] = {}

    def has(self, host: bytes) -> bool:
        """Whether a `Host` header has one of the names; what it said before is not looked at again."""
        known = self._seen.get(host)
        if known is None:
            if len(self._seen) >= _MOST_SEEN:
                self._seen.clear()
            known = self._seen[host] = _name_of(host.decode("latin-1")) in self._names
        return known

    def is_own(self, origin: bytes, host: bytes) -> bool:
        """Whether a page may ask: one of this server, or of a further name."""
        scheme, parted, place = origin.decode("latin-1").partition("://")
        if not parted or scheme not in ("http", "https"):
            return False
        return place.lower() == host.decode("latin-1").lower() or _name_of(place) in self._allowed


def _name_of(host: str) -> str:
    """Return the name or address of a host with or without port, in lower case."""
    name = host.strip().lower()
    end = name.find("]") + 1 if name.startswith("[") else name.find(":")
    rest = name[end:] if end > 0 else ""
    if rest and not (rest.startswith(":") and rest[1:].isdecimal()):
        return ""  # what is no host has no name
    return (name[:end] if end > 0 else name).removesuffix(".")
