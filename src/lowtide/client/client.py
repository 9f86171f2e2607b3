"""A client that sends a few hundred bits a row."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import Any, NamedTuple, Self
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer, check_option, check_positive, fail
from lowtide.client.connection import Answer, Transport
from lowtide.codes import Codes
from lowtide.encoders import Encoder
from lowtide.errors import RequestError
from lowtide.wire import CODES_TYPE, ROWS_TYPE, Columns, pack, pack_rows, rebuild_encoder

__all__ = ["Client", "Similar"]

_SENDS = ("codes", "rows", "features")
_FOREIGN = 409


class Similar(NamedTuple):
    """The most similar rows of each query, best first.

    `indices` int64 (q, k), `estimates` float64 (q, k) of the kernel, `standard_errors` float64 (q, k), or None where
    theory has none.
    """

    indices: NDArray[np.int64]
    estimates: NDArray[np.float64]
    standard_errors: NDArray[np.float64] | None


@dataclass(frozen=True)
class _Known:
    """What the server said of a model: its encoder and the columns before it, and the ETag of both."""

    encoder: Encoder | None
    columns: Columns | None
    tag: str | None = None

    def rows(self, X: Any) -> Any:
        return X if self.columns is None or isinstance(X, Codes) else self.columns.matrix(_in_order(X, self.columns))


class Client:
    """Encodes rows here and sends their bits to a server of `lowtide serve`.

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

    With a server at that address, `client.predict(X)` sends 36 bytes and 512 for every row of 4096 one-bit components.
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
        self._transport = Transport(url, key, timeout=timeout, retries=retries)
        self.url, self.model, self.send = url, model, send
        self._lock = threading.Lock()
        self._known: _Known | None = None
        self.bytes_sent = 0

    @property
    def encoder(self) -> Encoder:
        """The server's encoder, built here; fetched when it is first needed."""
        encoder = self._fetched().encoder
        if encoder is None:
            raise RequestError(
                f"{self.url} must have an encoder to be fetched, got a model without one. Send Codes.", 404
            )
        return encoder

    def models(self) -> dict[str, Any]:
        """Return what the server has loaded."""
        return self._content(self._transport.request("GET", "/v1/models"))

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
        """Return the probability of each class, (n, n_classes), in the order of `classes`.

        Parameters
        ----------
        X : array or data frame (n, n_features), or Codes
        """
        return np.array(self._predict(X, "probabilities"), dtype=np.float64)

    def top_k(self, X: Any, k: int = 10, *, database: str | None = None) -> Similar:
        """Return the k rows of a database that are most similar to each row.

        Parameters
        ----------
        X : array or data frame (n, n_features), or Codes
        k : int, default=10
        database : str, optional
            By name; the server's first by default.
        """
        check_integer("Client.top_k", "k", k, 1)
        path = "/v1/similar" if database is None else f"/v1/databases/{quote(database, safe='')}/similar"
        indices, estimates, errors = self._ask(f"{path}?k={k}", X, ("indices", "estimates", "standard_errors"))
        shape = (-1, k)
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

    @property
    def _path(self) -> str:
        return "/v1" if self.model is None else f"/v1/models/{quote(self.model, safe='')}"

    def _ask(self, path: str, X: Any, wanted: tuple[str, ...]) -> list[Any]:
        """Send rows; where the server has another encoder by now, fetch it and send them once more."""
        known = None if isinstance(X, Codes) else self._fetched()
        answer = self._post(path, X, known)
        if answer.status == _FOREIGN and known is not None:
            answer = self._post(path, X, self._fetched(instead_of=known))
        content = self._content(answer)
        missing = [name for name in wanted if name not in content]
        if missing:
            raise RequestError(
                f"{self.url} must answer with {', '.join(missing)}, got none. Is it a lowtide server?", 200
            )
        return [content[name] for name in wanted]

    def _post(self, path: str, X: Any, known: _Known | None) -> Answer:
        body, kind = self._message(X, known)
        with self._lock:
            self.bytes_sent += len(body)
        headers = {"Content-Type": kind}
        if self.send != "rows" and known is not None and known.tag is not None:
            headers["Lowtide-Encoder"] = known.tag
        return self._transport.request("POST", path, body, headers)

    def _message(self, X: Any, known: _Known | None) -> tuple[bytes, str]:
        """Return rows as the bytes that go over the wire, and their media type."""
        if known is None:
            return pack(X), CODES_TYPE
        if self.send == "rows" and known.columns is not None and known.columns.categories:
            rows = _in_order(X, known.columns)
            return json.dumps({"rows": rows if isinstance(rows, list) else rows.tolist()}).encode(), "application/json"
        if self.send == "rows":
            return pack_rows(X if known.columns is None else _in_order(X, known.columns)), ROWS_TYPE
        rows, encoder = known.rows(X), self.encoder if known.encoder is None else known.encoder
        if self.send == "features":
            return pack_rows(encoder.transform(rows), side="features", fingerprint=encoder.fingerprint_), ROWS_TYPE
        codes = encoder.encode(rows) if encoder._has_codes else None
        if not isinstance(codes, Codes):
            raise fail("Client", "send must be 'rows' or 'features' where the encoder has no packed codes", "codes")
        return pack(codes), CODES_TYPE

    def _fetched(self, instead_of: _Known | None = None) -> _Known:
        """Return what is known of the model; asked for once, and again when what was known is no longer true."""
        with self._lock:
            if self._known is None or self._known is instead_of:
                answer = self._transport.request("GET", f"{self._path}/encoder")
                if answer.status == 404 and self.send == "rows":
                    self._known = _Known(None, None)
                else:
                    content = self._content(answer)
                    columns = content.get("columns")
                    parsed = None if columns is None else Columns.from_json(columns)
                    encoder = _without_names(rebuild_encoder(content))
                    self._known = _Known(encoder, parsed, answer.headers.get("etag"))
            return self._known

    def _content(self, answer: Answer) -> dict[str, Any]:
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


def _without_names(encoder: Encoder) -> Encoder:
    """Return an encoder that takes arrays: the columns are put in order before it."""
    encoder.__dict__.pop("feature_names_in_", None)
    return encoder


def _in_order(X: Any, columns: Columns) -> Any:
    """Return the columns of a data frame in the order of the model's; anything else as it is."""
    if not hasattr(X, "columns") or not hasattr(X, "loc"):
        return X if isinstance(X, list) else np.asarray(X)
    missing = [name for name in columns.names if name not in X.columns]
    if missing:
        raise fail(
            "Client", f"X must have the columns {', '.join(columns.names)[:200]}", f"a frame without {missing[:5]}"
        )
    frame = X[list(columns.names)]
    return frame.to_numpy() if not columns.categories else frame.to_numpy(dtype=object).tolist()
