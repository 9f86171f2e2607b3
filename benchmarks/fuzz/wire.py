"""Messages of codes and rows, and encoders as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import numpy as np

import lowtide as lt
from benchmarks.fuzz.changes import changed_bytes, changed_json
from benchmarks.fuzz.model import DATA
from benchmarks.fuzz.running import WrongError
from lowtide.checksum import crc32c
from lowtide.encoders import Encoder
from lowtide.errors import FingerprintMismatchError, WireFormatError

__all__ = ["Messages"]

_HEAD, _PART = 48, 16
_MOST_FEATURES = 4096


def _sealed(body: bytes) -> bytes:
    return body + crc32c(body).to_bytes(4, "little")


class Messages:
    """Messages of every encoder whose file pins the format; byte 0 of an input says which of them must read it."""

    kinds: ClassVar[Mapping[str, int]] = {"raw": 45, "resealed": 20, "parts": 20, "description": 15}

    def __init__(self) -> None:
        loaded = [lt.load(file) for file in sorted(DATA.glob("encoder_*.lowtide"))]
        self._encoders = [each.drawn_ for each in loaded if isinstance(each, Encoder)]
        self._templates = [each.template for each in self._encoders]
        rows = [np.arange(3 * each.n_features).reshape(3, -1) % 5 / 4 - 0.5 for each in self._encoders]
        # The last reader is that of rows.
        self._messages = [
            lt.wire.pack(each.encode(X)) if each.has_codes else b"" for each, X in zip(self._encoders, rows)
        ]
        self._messages += [lt.wire.pack_rows(rows[0])]
        self._descriptions = [json.dumps(lt.wire.describe_encoder(each)) for each in self._encoders]
        self._readers = [i for i, message in enumerate(self._messages) if message]

    def open(self, folder: Path) -> None:
        """Nothing is to be made ready."""

    def make(self, kind: str, draw: Random) -> bytes:
        """Return the number of a reader and a changed message."""
        if kind == "description":
            return json.dumps(changed_json(draw.choice(self._descriptions), draw)).encode()
        reader = draw.choice(self._readers)
        message, number = self._messages[reader], bytes([reader])
        if kind == "raw":
            return number + changed_bytes(message, draw, self._messages)
        if kind == "resealed":
            return number + _sealed(changed_bytes(message[:-4], draw, self._messages))
        return number + _sealed(_other_parts(message, draw))

    def seeds(self) -> list[bytes]:
        """Return messages, each with the number of its reader."""
        return [bytes([i]) + self._messages[i][:-4] for i in self._readers]

    def sealed(self, data: bytes) -> tuple[str, bytes]:
        """Return a message with its checksum."""
        return "resealed", bytes([self._readers[data[0] % len(self._readers)] if data else 0]) + _sealed(data[1:])

    def judge(self, kind: str, data: bytes) -> None:
        """Read a message, and write it again."""
        if kind == "description":
            _judge_description(data)
            return
        reader, message = data[0], data[1:]
        again: bytes
        if reader == len(self._encoders):
            found = lt.wire.unpack_rows(message)
            again = lt.wire.pack_rows(found.rows, side=found.side, fingerprint=found.fingerprint)
            if not np.isfinite(found.rows).all():
                raise WrongError("rows were taken that are not finite")
        else:
            codes = lt.wire.unpack(message, self._templates[reader])
            again = lt.wire.pack(codes)
            if not np.isfinite(np.asarray(codes)).all():
                raise WrongError("codes were taken that are not finite")
        if kind == "raw":
            raise WrongError("a message was read although its bytes were changed")
        # Parts may come in any order; they are written in one.
        if sorted(again[:-4]) != sorted(message[:-4]):
            raise WrongError("a message is another one after it was read and written again")


def _other_parts(message: bytes, draw: Random) -> bytes:
    """Return a message without its checksum, with fields of its head, and its parts, changed one by one."""
    head, parts, at = bytearray(message[:_HEAD]), [], _HEAD
    while at < len(message) - 4:
        size = int.from_bytes(message[at + 8 : at + 16], "little")
        parts.append(bytearray(message[at : at + _PART + size]))
        at += _PART + size
    for _ in range(draw.choice((1, 1, 2))):
        way, part = draw.randrange(8), draw.choice(parts) if parts else bytearray(16)
        if way == 0:
            parts.append(bytearray(part))
        elif way == 1 and parts:
            parts.remove(part)
        elif way == 2:
            draw.shuffle(parts)
        elif way == 3:
            part[:4] = draw.choice((b"LEVL", b"NORM", b"ROWS", b"XXXX", b"\xff\0\0\0"))
        elif way == 4:
            part[8:16] = draw.choice((0, 1, len(part), 1 << 31, (1 << 64) - 1, 1 << 63)).to_bytes(8, "little")
        elif way == 5:
            head[40:48] = b"".join(
                draw.choice((0, 1, 3, 4, 1 << 16, (1 << 32) - 1)).to_bytes(4, "little") for _ in "nd"
            )
        elif way == 6:
            part += draw.randbytes(draw.randrange(1, 20))
            part[8:16] = (len(part) - _PART).to_bytes(8, "little")
        else:
            changed = changed_bytes(bytes(part[_PART:]) or b"\0", draw)[: max(1, len(part) - _PART)]
            part[_PART : _PART + len(changed)] = changed
    if draw.random() < 0.9:
        head[6:8] = len(parts).to_bytes(2, "little")
    return bytes(head) + b"".join(parts)


def _judge_description(data: bytes) -> None:
    """Build an encoder of a description; the identity is made the one of what is described, as a forger would."""
    content = json.loads(data)
    try:
        encoder = lt.wire.rebuild_encoder(content)
    except WireFormatError as error:
        if not (words := str(error).partition("as when it was saved, got ")[2]):
            raise
        for name in ("fingerprint", "side"):
            if f"the {name} must be" in str(error):
                content["parts"]["encoder"]["spec"][name] = content[name] = words[:32]
        encoder = lt.wire.rebuild_encoder(content)
    except FingerprintMismatchError:
        raise
    if encoder.n_features > _MOST_FEATURES:
        return
    X = np.arange(2 * encoder.n_features).reshape(2, -1) % 5 / 4 - 0.5
    results: list[Any] = [encoder.transform(X)]
    if encoder.has_codes:
        results.append(np.asarray(encoder.encode(X)))
    again = lt.wire.rebuild_encoder(json.loads(json.dumps(lt.wire.describe_encoder(encoder))))
    if not all(np.isfinite(result).all() for result in results):
        raise WrongError("an encoder was built that gives NaN or infinity")
    if not np.array_equal(again.transform(X), results[0]):
        raise WrongError("an encoder gives other features after it was described and built again")
