"""Logs as lines of JSON."""

from __future__ import annotations

import json
import logging
import sys
import time
from functools import lru_cache
from typing import IO, Any

__all__ = ["EventLog", "JsonFormatter", "configure_logging"]

_LOGGERS = ("lowtide.serve", "uvicorn.error")


# A write for each line would take as long as the answer itself.
_MOST_LINES = 256
_LONGEST = 200  # of a path


class JsonFormatter(logging.Formatter):
    """A record as one JSON object: time, level, event, and the fields it was given."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        content = {
            "time": _stamp(record.created),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            content["error"] = self.formatException(record.exc_info)
        return json.dumps(content, default=str)


class EventLog:
    """What happens in a server; a request's line is written without the detours of `logging`.

    Parameters
    ----------
    stream : text stream, optional
        Where lines of requests go; None for nowhere.
    """

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._logger = logging.getLogger("lowtide.serve")
        self._stream = stream
        self._second, self._text = 0, ""
        self._lines: list[str] = []

    def event(self, name: str, level: int = logging.INFO, **fields: Any) -> None:
        """Log something that happened to the server."""
        self._logger.log(level, name, extra={"fields": fields})

    def failure(self, name: str, **fields: Any) -> None:
        """Log an error with its traceback."""
        self._logger.exception(name, extra={"fields": fields})

    def request(self, method: str, path: str, status: int, seconds: float, size: tuple[int, int], caller: str) -> None:
        """Write the line of a request that was answered. No header, query or body is in it, so no key can be."""
        if self._stream is None:
            return
        now = time.time()
        if int(now) != self._second:
            self._second = int(now)
            self._text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
        self._lines.append(
            f'{{"time":"{self._text}.{int(now % 1 * 1000):03d}Z","level":"info","event":"request",'
            f'"method":"{method}","path":{_quoted(path)},"status":{status},"ms":{seconds * 1e3:.3f},'
            f'"bytes_in":{size[0]},"bytes_out":{size[1]},"caller":{_quoted(caller)}}}\n'
        )
        if len(self._lines) >= _MOST_LINES:
            self.flush()

    def flush(self) -> None:
        """Write the lines of requests that are still in memory; the server does so once a second."""
        lines, self._lines = self._lines, []
        if self._stream is None or not lines:
            return
        try:
            self._stream.write("".join(lines))
            self._stream.flush()
        except (OSError, ValueError):
            self._stream = None  # whoever read the log is gone; requests go on


def configure_logging(stream: IO[str] | None = None) -> None:
    """Send the server's own log, and uvicorn's, to a stream (stderr) as lines of JSON."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name.startswith("lowtide") else logging.ERROR)


@lru_cache(maxsize=1024)
def _quoted(text: str) -> str:
    """Return a path or a caller as JSON; the same few come again and again."""
    return json.dumps(text[:_LONGEST])


def _stamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03d}Z"
