"""A client that encodes rows here and sends their bits, over connections that stay open."""

from __future__ import annotations

import contextlib
import email.utils
import json
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPSConnection
from itertools import zip_longest
from typing import Any, NamedTuple, Self
from urllib.parse import quote, urlencode, urlsplit

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from lowtide._checks import check_integer, check_option, check_positive, fail
from lowtide.codes import Codes
from lowtide.encoders import DrawnEncoder, DrawnVectorCodes
from lowtide.errors import RequestError
from lowtide.tables import Dates, Recipe, TableError, lacking
from lowtide.wire import CODES_TYPE, ROWS_TYPE, pack, pack_rows, rebuild_encoder

_SENDS = ("codes", "rows", "features")
_FOREIGN = 409
_URL = "url must be http://host:port or https://host:port"
_AGAIN = (429, 502, 503, 504)
_LONGEST_WAIT = 30.0
_LONGEST_WHERE = 16_000  # characters; a server takes headers of 32 kB


class Similar(NamedTuple):
    """The most similar rows that a server found for each query, best first.

    `indices` int64 (q, k), `estimates` float64 (q, k) of the kernel, `standard_errors` float64 (q, k), or None where
    theory has none.
    """

    indices: NDArray[np.int64]
    estimates: NDArray[np.float64]
    standard_errors: NDArray[np.float64] | None


@dataclass(frozen=True)
class _Known:
    """What the server said of a model: its encoder and the recipe before it, and the ETag of both."""

    encoder: DrawnEncoder | None
    recipe: Recipe | None
    tag: str | None = None

    def rows(self, X: Any) -> Any:
        """Return rows as the encoder takes them."""
        if self.recipe is not None:
            return self.recipe.apply(X)
        rows = check_array(X, accept_sparse="csr", dtype="numeric", ensure_min_samples=0, input_name="X")
        if self.encoder is not None and rows.shape[1] != self.encoder.n_features:
            raise fail("Client", f"X must have {self.encoder.n_features} columns", rows.shape[1])
        return rows

    def raw(self, X: Any) -> tuple[bytes, str]:
        """Return rows as they are, for the server to make numbers of, and their media type."""
        recipe = self.recipe
        if recipe is None:
            return pack_rows(X), ROWS_TYPE
        if recipe.named and (hasattr(X, "columns") or isinstance(X, Mapping)):
            given = [*(X.columns if hasattr(X, "columns") else X)]
            missing = [name for name in recipe.columns if name not in given]
            if missing:
                raise TableError(lacking("X", missing, recipe.unknown_columns(map(str, given))))
            if isinstance(X, Mapping):
                X = [list(row) for row in zip(*(X[name] for name in recipe.columns), strict=True)]
            else:
                X = X[list(recipe.columns)]
        if not recipe.by_cell and not recipe.filled and not isinstance(X, list):
            return pack_rows(X), ROWS_TYPE
        rows = X if isinstance(X, list) else np.asarray(X, dtype=object).tolist()
        dates = {recipe.columns[known.column]: known for known in recipe.dates}
        listed = [
            {name: _cell(cell, dates.get(name)) for name, cell in row.items()}
            if isinstance(row, dict)
            else [_cell(cell, dates.get(name)) for name, cell in zip_longest(recipe.columns[: len(row)], row)]
            for row in rows
        ]
        return json.dumps({"rows": listed}).encode(), "application/json"


class Client:
    """Ask a server of `lowtide serve`: rows are encoded here, and only their bits are sent.

    The encoder is fetched once, built again here and checked by its fingerprint; on the Hadamard path a row has the
    same bits as on the server. A request that was not answered is sent again: all of them only read.

    Parameters
    ----------
    url : str
        "http://127.0.0.1:8000", as the server prints it.
    key : str, optional
        Where the server asks for one.
    model : str, optional
        A model by name; the server's first by default.
    send : {"codes", "rows", "features"}, default="codes"
        What goes over the wire: bits, the rows themselves in float32, or full features in float32.
    timeout : float, default=30.0
        Seconds for each step of a request.
    retries : int, default=4

    Attributes
    ----------
    bytes_sent : int
        Bytes of all bodies so far, those of repeated attempts not counted.

    Notes
    -----
    Threads may share a client; there are as many connections as requests at once. Only the standard library's HTTP is
    used.

    See Also
    --------
    lowtide.wire : the messages

    Examples
    --------
    >>> import lowtide as lt
    >>> client = lt.Client("http://127.0.0.1:8000", key="correct-horse-battery")   # nothing is sent yet
    >>> client
    Client('http://127.0.0.1:8000')

    With a server at that address, `client.predict(X)` sends 68 bytes and 512 for every row of 4096 one-bit components.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        model: str | None = None,
        send: str = "codes",
        timeout: float = 30.0,
        retries: int = 4,
    ) -> None:
        check_option("Client", "send", send, _SENDS)
        check_positive("Client", "timeout", timeout)
        check_integer("Client", "retries", retries, 0)
        self._transport = _Transport(url, key, timeout=timeout, retries=retries)
        self.url, self.model, self.send = url, model, send
        self._path = "/v1" if model is None else f"/v1/models/{quote(model, safe='')}"
        self._lock = threading.Lock()
        self._known: _Known | None = None
        self.bytes_sent = 0

    @property
    def encoder(self) -> DrawnEncoder:
        """The server's drawn encoder, built here; fetched when it is first needed."""
        encoder = self._fetched().encoder
        if encoder is None:
            raise RequestError(f"{self.url} must have an encoder to be fetched, got none. Send Codes.", 404)
        return encoder

    def models(self) -> dict[str, Any]:
        """Return what the server has loaded."""
        return self._content(self._transport.request("/v1/models"))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class or value of each row.

        Parameters
        ----------
        X : array or data frame (n, n_features), or Codes
        """
        return np.array(self._predict(X, "predictions"))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores of each row, (n,) for two classes and (n, n_classes) for more.

        Parameters
        ----------
        X : array or data frame (n, n_features), or Codes
        """
        return np.array(self._predict(X, "scores"), dtype=np.float64)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, (n, n_classes), in the order of the "classes" that `models` lists.

        Parameters
        ----------
        X : array or data frame (n, n_features), or Codes
        """
        return np.array(self._predict(X, "probabilities"), dtype=np.float64)

    def top_k(
        self,
        X: Any,
        k: int = 10,
        *,
        database: str | None = None,
        where: Any = None,
        rescore: int | None = None,
    ) -> Similar:
        """Return the k rows of a database that are most similar to each row.

        Parameters
        ----------
        X : array or data frame (n, n_features), or Codes
            Of vectors the rows themselves are sent, whatever `send` is: a query is in full precision.
        k : int, default=10
            There are fewer columns where `where` leaves fewer rows.
        database : str, optional
            By name; the server's first by default.
        where : str, mask, or array of row numbers, optional
            Rows to choose from: "column=value" of a column beside the codes, or these rows.
        rescore : int, optional
            Take k times so many candidates, and the best k of them by the finer codes that the server has.
        """
        check_integer("Client.top_k", "k", k, 1)
        path = "/v1/similar" if database is None else f"/v1/databases/{quote(database, safe='')}/similar"
        query: dict[str, Any] = {"k": k}
        if where is not None:
            query["where"] = where if isinstance(where, str) else _ranges(where)
        if rescore is not None:
            query["rescore"] = check_integer("Client.top_k", "rescore", rescore, 1)
        wanted = ("indices", "estimates", "standard_errors")
        indices, estimates, errors = self._ask(f"{path}?{urlencode(query)}", X, wanted)
        shape = (len(indices), len(indices[0]) if indices else k)
        return Similar(
            np.array(indices, dtype=np.int64).reshape(shape),
            np.array(estimates, dtype=np.float64).reshape(shape),
            None if errors is None else np.array(errors, dtype=np.float64).reshape(shape),
        )

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r}{'' if self.model is None else f', model={self.model!r}'})"

    def _predict(self, X: Any, output: str) -> Any:
        query = "" if output == "predictions" else f"?return={output}"
        return self._ask(f"{self._path}/predict{query}", X, (output,))[0]

    def _ask(self, path: str, X: Any, wanted: tuple[str, ...]) -> list[Any]:
        """Send rows; where the server has another encoder by now, fetch it and send them once more."""
        known = None if isinstance(X, Codes) else self._fetched()
        answer = self._post(path, X, known)
        if answer.status == _FOREIGN and known is not None:
            answer = self._post(path, X, self._fetched(instead_of=known))
        content = self._content(answer)
        missing = [name for name in wanted if name not in content]
        if missing:
            words = f"must answer with {', '.join(missing)}, got none. Is it a lowtide server?"
            raise RequestError(f"{self.url} {words}", 200)
        return [content[name] for name in wanted]

    def _post(self, path: str, X: Any, known: _Known | None) -> _Answer:
        body, kind = self._message(X, known)
        with self._lock:
            self.bytes_sent += len(body)
        headers = {"Content-Type": kind}
        if self.send != "rows" and known is not None and known.tag is not None:
            headers["Lowtide-Encoder"] = known.tag
        return self._transport.request(path, body, headers)

    def _message(self, X: Any, known: _Known | None) -> tuple[bytes, str]:
        """Return rows as the bytes that go over the wire, and their media type."""
        if known is None:
            return pack(X), CODES_TYPE
        if self.send == "rows" or isinstance(known.encoder, DrawnVectorCodes):
            return known.raw(X)
        rows, encoder = known.rows(X), self.encoder if known.encoder is None else known.encoder
        if self.send == "features":
            return pack_rows(encoder.transform(rows), side="features", fingerprint=encoder.fingerprint), ROWS_TYPE
        if encoder.template is None:
            raise fail("Client", "send must be 'rows' or 'features' where the encoder has no packed codes", "codes")
        return pack(encoder.encode(rows)), CODES_TYPE  # type: ignore[arg-type]

    def _fetched(self, instead_of: _Known | None = None) -> _Known:
        """Return what is known of the model; asked for once, and again when what was known is no longer true."""
        with self._lock:
            if self._known is None or self._known is instead_of:
                answer = self._transport.request(f"{self._path}/encoder")
                if answer.status == 404 and self.send == "rows":
                    self._known = _Known(None, None)
                else:
                    content = self._content(answer)
                    recipe = content.get("recipe")
                    parsed = None if recipe is None else Recipe.from_json(recipe)
                    self._known = _Known(rebuild_encoder(content), parsed, answer.headers.get("etag"))
            return self._known

    def _content(self, answer: _Answer) -> dict[str, Any]:
        """Return the JSON of an answer, or raise what the server says."""
        try:
            content = json.loads(answer.body)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise RequestError(f"{self.url} must answer in JSON, got status {answer.status} without.", answer.status)
        if answer.status != 200:
            raise RequestError(f"{self.url} refused: {str(content.get('detail'))[:1000]}", answer.status)
        return content


def _ranges(where: Any) -> str:
    """Return chosen rows as ranges: 0-99,205."""
    given = np.asarray(where)
    rows = np.flatnonzero(given) if given.dtype == bool else np.unique(given)
    if given.ndim != 1 or len(rows) == 0 or (rows.dtype.kind not in "iu") or rows[0] < 0:
        raise fail("Client.top_k", "where must be a text, a mask or row numbers that choose some rows", where)
    breaks = np.flatnonzero(np.diff(rows) > 1)
    firsts, lasts = rows[np.r_[0, breaks + 1]], rows[np.r_[breaks, len(rows) - 1]]
    text = ",".join(f"{a}-{b}" if a < b else f"{a}" for a, b in zip(firsts.tolist(), lasts.tolist()))
    if len(text) > _LONGEST_WHERE:
        remedy = "Keep a column beside the codes and choose by it: where='column=value'."
        raise fail("Client.top_k", f"where must fit into {_LONGEST_WHERE} characters as ranges", len(text), remedy)
    return text


def _cell(cell: Any, dates: Dates | None) -> Any:
    """Return a cell of a table as JSON has it: null for what is missing, a date as the text that the table has."""
    if dates is not None and not isinstance(cell, str):
        return dates.text(cell) if np.isfinite(dates.read(np.array([cell], dtype=object)))[0] else None
    value = cell.item() if isinstance(cell, np.generic) else cell
    return None if type(value).__name__ == "NAType" or (isinstance(value, float) and value != value) else value


class _Answer(NamedTuple):
    """What a server said."""

    status: int
    headers: HTTPMessage
    body: bytes


class _Transport:
    """Sends requests to one server, from any number of threads; again where one fails, since all of them only read."""

    def __init__(self, url: str, key: str | None, *, timeout: float, retries: int) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port
        except (AttributeError, TypeError, ValueError) as error:  # no text, or a host or port that cannot be one
            raise fail("Client", _URL, "one with a password" if "@" in str(url) else url) from error
        if parts.username is not None or parts.password is not None:
            raise fail("Client", "url must hold no password", "one that does", "Give the key as key=.")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise fail("Client", _URL, url)
        if key is not None and (not key.isascii() or not key.isprintable() or " " in key):
            raise fail("Client", "key must be printable characters without spaces", "others")
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connect = partial(kind, parts.hostname, port, timeout=timeout)
        self._where = f"{parts.scheme}://{parts.hostname}:{port or kind.default_port}"
        self._base = parts.path.rstrip("/")
        self._key, self._retries = key, retries
        self._lock = threading.Lock()
        self._idle: list[HTTPConnection] = []
        self._closed = False

    def request(self, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> _Answer:
        """Return the answer of the server, after as many attempts as it takes and is allowed."""
        sent = {"Accept": "application/json", **(headers or {})}
        if self._key is not None:
            sent["Authorization"] = f"Bearer {self._key}"
        for attempt in range(self._retries + 1):
            last = attempt == self._retries
            with self._lock:
                if self._closed:
                    raise RequestError("Client: must be open to send a request, got one that was closed.")
                connection = self._idle.pop() if self._idle else self._connect()
            try:
                answer = self._once(connection, self._base + path, body, sent)
            except (OSError, HTTPException) as error:
                if last or self._closed:
                    raise RequestError(f"{self._where} must answer, got {type(error).__name__}: {error}.") from error
                _pause(attempt, "")
                continue
            if answer.status not in _AGAIN or last:
                return answer
            _pause(attempt, answer.headers.get("retry-after", ""))
        raise AssertionError("a request has at least one attempt")

    def close(self) -> None:
        """Close every connection; one that is in use, when its answer is there."""
        with self._lock:
            self._closed = True
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    def _once(self, connection: HTTPConnection, path: str, body: bytes | None, headers: dict[str, str]) -> _Answer:
        """Send a request over a connection; one that fails is not used again."""
        whole = True
        try:
            try:
                connection.request("GET" if body is None else "POST", path, body=body, headers=headers)
            except (BrokenPipeError, ConnectionResetError):
                if connection.sock is None:
                    raise
                whole = False  # who refuses a long body closes before it is read, and may have said why
            response = connection.getresponse()
            content = response.read()
        except BaseException:
            with contextlib.suppress(OSError):
                connection.close()
            raise
        with self._lock:
            if whole and not response.will_close and not self._closed:
                self._idle.append(connection)
            else:
                connection.close()
        return _Answer(response.status, response.headers, content)


def _pause(attempt: int, wish: str) -> None:
    """Wait as long as a Retry-After wishes, or longer each time, by chance so that clients do not come together."""
    wished = 0.0
    if wish.isascii() and wish.strip().isdigit():
        wished = float(wish)
    else:
        with contextlib.suppress(TypeError, ValueError):  # neither a number nor a date
            wished = email.utils.parsedate_to_datetime(wish).timestamp() - time.time()
    own = min(_LONGEST_WAIT, 0.05 * 2**attempt) * (0.5 + random.random())
    time.sleep(max(own, min(_LONGEST_WAIT, wished)))
