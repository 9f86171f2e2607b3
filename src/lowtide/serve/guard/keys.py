"""API keys: kept as hashes, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from lowtide.errors import FileAccessError, FileFormatError

__all__ = ["KEYS_VARIABLE", "KeyRing"]

KEYS_VARIABLE = "LOWTIDE_KEYS"
_SHORTEST = 16
_LINE = re.compile(r"(?:([\w.-]{1,64})\s*[:=]\s*)?(sha256:[0-9a-fA-F]{64}|[!-~]{1,512})")


class KeyRing:
    """Keys by name, only their sha256 in memory.

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
            if key.lower().startswith("sha256:"):
                digests[name] = bytes.fromhex(key[7:])
            elif len(key) < _SHORTEST:
                remedy = "python -c 'import secrets; print(secrets.token_urlsafe(24))' makes one."
                raise FileFormatError(
                    f"{source}, line {number}: a key must have at least {_SHORTEST} characters. {remedy}"
                )
            else:
                digests[name] = hashlib.sha256(key.encode()).digest()
        return cls(digests)

    @classmethod
    def load(cls, path: str | os.PathLike[str] | None) -> Self:
        """Return the keys of a file and of the environment variable LOWTIDE_KEYS (commas or lines between them)."""
        text = os.environ.get(KEYS_VARIABLE, "").replace(",", "\n")
        rings = [cls.from_text(text, KEYS_VARIABLE)]
        if path is not None:
            try:
                rings.append(cls.from_text(Path(path).read_text(encoding="utf-8"), repr(str(path))))
            except (OSError, UnicodeDecodeError) as error:
                reason = getattr(error, "strerror", None) or "no UTF-8 text"
                raise FileAccessError(f"{str(path)!r} must be a readable file of keys, got: {reason}.") from error
        named = {f"environment-{name}": digest for name, digest in rings[0]._digests.items()}
        return cls({**named, **(rings[1]._digests if len(rings) > 1 else {})})
