"""The models and databases that are served, by name, and the search of a database for similar rows."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import available_memory, fail
from lowtide.codes import Codes, CodeSource
from lowtide.encoders import DrawnEncoder, DrawnFeatures, DrawnSketch, DrawnVectorCodes, Sketch
from lowtide.errors import FileAccessError, FileFormatError, ParameterError, WireFormatError
from lowtide.persist import CodesFile, load, open_codes
from lowtide.serve.exchange import Refusal
from lowtide.serve.model import ANSWER_BYTES, SMALL_WORK, Answer, Kind, Query, QueryReader, ServedModel
from lowtide.store import CodeStore
from lowtide.wire import CodesReader

_LOG = logging.getLogger("lowtide.serve")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# Numbers of rows, and first and last ones of ranges: 0-99,205.
_RANGES = re.compile(r"\d{1,15}(-\d{1,15})?(,\d{1,15}(-\d{1,15})?)*", re.ASCII)
# Packed bytes that are scanned within about a millisecond: no more are on the event loop.
_SMALL_BYTES = 1 << 20
_BLOCK_ROWS = 1 << 18
# Codes of a file are copied where they take no more than this share of the memory that is left: a reload holds two.
_SHARE = 4


# Device, inode, size and time of change; None where there is no such file.
Mark = tuple[int, int, int, int] | None


@dataclass(frozen=True)
class Named:
    """A file and the name it is served by: `name=path`, or a path whose name without its ending will do.

    Examples
    --------
    >>> Named.parse("digits=models/v3.lowtide"), Named.parse("models/flowers.lowtide").name
    (Named(name='digits', path=PosixPath('models/v3.lowtide')), 'flowers')
    """

    name: str
    path: Path

    @classmethod
    def parse(cls, text: str) -> Named:
        """Return the name and the file of a text."""
        name, given, path = text.partition("=")
        place = Path(path if given else text)
        return cls(_checked(name if given else place.stem), place)


@dataclass(frozen=True)
class Catalog:
    """Models and databases by name; the first of each is the default. Never changed: a reload makes another.

    Attributes
    ----------
    models : dict of ServedModel
    databases : dict of ServedDatabase
    sources : what they were loaded from
    marks : what told those files apart from later ones, as `marks_now` had it before they were read
    """

    models: dict[str, ServedModel]
    databases: dict[str, ServedDatabase]
    sources: tuple[tuple[Named, ...], ...] = ()
    marks: tuple[Mark, ...] = ()

    @classmethod
    def of(cls, models: Mapping[str, Any]) -> Catalog:
        """Return the catalog of objects that are not in files.

        Parameters
        ----------
        models : dict of fitted learners, encoders, or Pipelines of known steps and a learner, by name

        Examples
        --------
        >>> import numpy as np
        >>> import lowtide as lt
        >>> model = lt.KernelClassifier(n_components=64, C=1.0).fit(np.eye(6), [0, 0, 0, 1, 1, 1])
        >>> list(Catalog.of({"halves": model}).models)
        ['halves']
        """
        if not models:
            raise fail("serve", "there must be a model to serve", "none")
        return cls({_checked(name): ServedModel.of(name, thing) for name, thing in models.items()}, {})

    @classmethod
    def load(cls, models: Sequence[Named], databases: Sequence[Named] = (), finer: Sequence[Named] = ()) -> Catalog:
        """Load every file; what cannot be served is an error that names the file.

        Parameters
        ----------
        models, databases : sequence of Named
        finer : sequence of Named
            By the name of its database, the same rows in codes of more bits, to score the best again by.
        """
        for what, given in (("models", models), ("databases", databases), ("finer codes", finer)):
            names = [entry.name for entry in given]
            if len(set(names)) != len(names):
                raise fail("serve", f"names of {what} must differ", names, "Give others: name=path.")
        if not models and not databases:
            raise fail("serve", "there must be a model to serve, or codes to search", "none")
        unknown = {entry.name for entry in finer} - {entry.name for entry in databases}
        if unknown:
            remedy = "Give it the name of one: name=path."
            raise fail("serve", "finer codes must have the name of a database", sorted(unknown), remedy)
        marks = tuple(_mark(entry.path) for entry in (*models, *databases, *finer))
        loaded = {entry.name: ServedModel.load(entry.name, entry.path) for entry in models}
        found = {entry.name: _load_database(entry, loaded) for entry in databases}
        for entry in finer:
            found[entry.name] = replace(found[entry.name], finer=_load_finer(entry, found[entry.name]))
        return cls(loaded, found, (tuple(models), tuple(databases), tuple(finer)), marks)

    def reload(self) -> Catalog:
        """Return what the same files and stores hold now; objects that came from none stay."""
        return Catalog.load(*self.sources) if self.sources else self

    def marks_now(self) -> tuple[Mark, ...]:
        """Return what tells the files that are there now apart; others than `marks` where one was changed."""
        return tuple(_mark(entry.path) for entries in self.sources for entry in entries)

    def to_json(self) -> dict[str, Any]:
        """Return what is loaded."""
        first = next(iter(self.models), None)
        models = [{**model.summary, "default": name == first} for name, model in self.models.items()]
        databases = [
            {
                "name": name,
                "model": database.model,
                "n_rows": database.rows.n_rows,
                "fingerprint": database.reader.fingerprint.hex(),
                "accepts": list(database.reader.kinds),
                "metric": database.metric,
                "columns": list(database.columns),
                "rescores": database.finer is not None,
            }
            for name, database in self.databases.items()
        ]
        return {"models": models, "databases": databases}


def _checked(name: str) -> str:
    """Return a name that can stand in a path."""
    if not _NAME.fullmatch(name):
        must = "a name must be letters, digits, '.', '_' and '-', at most 64"
        raise fail("serve", must, name, "Give another: name=path.")
    return name


@dataclass(frozen=True)
class ServedDatabase:
    """Rows of codes under the name they are served by, with the model whose encoder made them.

    `encoder` is None when it is not known: then only codes are taken, and no errors of estimates are given. `finer`
    are the same rows in more bits, None where there are none.
    """

    name: str
    model: str | None
    rows: CodeSource
    encoder: DrawnEncoder | None
    reader: QueryReader
    finer: CodeSource | None = None
    # Two scans at once would only take the disk from each other, and memory for their blocks.
    scanning: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    @property
    def metric(self) -> str | None:
        """What scores of vectors are; None for other codes."""
        return self.encoder.metric if isinstance(self.encoder, DrawnVectorCodes) else None

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns beside the codes, by whose values rows can be chosen."""
        return getattr(self.rows, "columns", ())

    def check_where(self, where: str) -> None:
        """Refuse a choice of rows that cannot be read; whether there are such rows is seen when they are searched."""
        column, is_column, _ = where.partition("=")
        if is_column and column not in self.columns:
            has = ", ".join(self.columns) or "none"
            raise Refusal(400, f"where must name a column of the database ({has[:200]}), got {column[:80]!r}.")
        if not is_column and not _RANGES.fullmatch(where):
            raise Refusal(400, f"where must be column=value, or rows as in 0-99,205, got {where[:80]!r}.")

    def _allowed(self, where: str) -> NDArray[np.bool_] | None:
        """Return which rows are to be chosen from; None for all."""
        if not where:
            return None
        column, is_column, value = where.partition("=")
        if isinstance(self.rows, CodeStore) and is_column:
            try:
                return self.rows.matching(column, value)
            except ParameterError:
                problem = f"where must give a number for the column {column[:80]!r}, got {value[:80]!r}."
                raise Refusal(400, problem) from None
        allowed = np.zeros(self.rows.n_rows, dtype=bool)
        for text in where.split(","):
            first, _, last = text.partition("-")
            begin, end = int(first), int(last or first)
            if not begin <= end < len(allowed):
                raise Refusal(400, f"where must have rows from 0 to {len(allowed) - 1}, the first first, got {text!r}.")
            allowed[begin : end + 1] = True
        return allowed

    def small_rows(self, kind: Kind) -> int:
        """Return how many queries are answered on the event loop: few, of a small database, whose encoding is quick."""
        nbytes = self.rows.nbytes if isinstance(self.rows, Codes) else _SMALL_BYTES + 1
        if not 0 < nbytes <= _SMALL_BYTES:
            return -1
        scanned = _SMALL_BYTES // nbytes
        if kind != "rows" or self.encoder is None:
            return scanned
        return min(scanned, SMALL_WORK // max(1, self.encoder.row_cost))

    def answer_bytes(self, query: Query) -> int:
        """Return the memory that the answer to a query takes: of rows the full side, three numbers a neighbor.

        And a byte for each row of the database that may be left out.
        """
        width = 0 if query.kind == "codes" or self.encoder is None else 8 * self.encoder.n_outputs
        candidates = 3 * ANSWER_BYTES * query.k * max(1, query.rescore)
        return query.n_rows * (width + candidates) + (self.rows.n_rows if query.where else 0)

    def made_by(self, models: Iterable[ServedModel]) -> list[ServedModel]:
        """Return the models whose encoder made the codes."""
        codes = self.reader.codes
        return [] if codes is None else [model for model in models if _made(model.encoder, codes.template)]

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """Return places, estimates and standard errors (or None) of each query's neighbors.

        One scan answers all queries that choose from the same rows.
        """
        found: dict[int, Answer] = {}
        for how in dict.fromkeys((each.where, each.rescore) for each in queries):
            alike = [i for i, each in enumerate(queries) if (each.where, each.rescore) == how]
            found |= dict(zip(alike, self._answer_alike([queries[i] for i in alike], *how)))
        return [found[i] for i in range(len(queries))]

    def _answer_alike(self, queries: Sequence[Query], where: str, rescore: int) -> list[Answer]:
        """Return the answers to queries of the same rows from one scan."""
        kind, query = queries[0].kind, self.reader.joined(queries)
        k = max(each.k for each in queries)
        try:
            with self.scanning:
                allowed = self._allowed(where)
                if isinstance(self.encoder, DrawnVectorCodes):
                    again = {"rescore": rescore, "finer": self.finer} if rescore else {}
                    found = self.encoder.top_k(self.rows, query, k, where=allowed, return_std=True, **again)
                    indices, estimates, errors = found.indices, found.scores, found.std
                else:
                    if kind == "rows" and self.encoder is not None:
                        query = self.encoder.transform(query)
                    indices, estimates = top_k(self.rows, query, k, allowed)
                if not np.isfinite(estimates).all():
                    need = "features must be of a moderate size, got some whose products are not finite."
                    raise WireFormatError(need)
                if not isinstance(self.encoder, DrawnVectorCodes):
                    estimates, errors = self._estimates(kind, query, indices, estimates)
        except (FileAccessError, FileFormatError) as error:
            _LOG.error("%s: %s", self.name, error)  # whoever asked is not told of names on this machine
            refusal = "the codes were changed while they were read, and will be loaded again. Try again soon."
            raise Refusal(503, refusal, [(b"retry-after", b"1")]) from error
        answers, begin = [], 0
        columns = {"indices": indices, "estimates": estimates, "standard_errors": errors}
        for each in queries:
            part = slice(begin, begin + each.n_rows), slice(0, each.k)
            answers.append({name: None if values is None else values[part] for name, values in columns.items()})
            begin += each.n_rows
        return answers

    def _estimates(
        self, kind: Kind, query: Any, indices: NDArray[np.int64], scores: NDArray[np.float32]
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return estimates of the kernel, and their standard errors where theory has them."""
        if isinstance(self.encoder, DrawnFeatures) and self.encoder.kept is None:
            pair = self.encoder.pair(("codes", "codes" if kind == "codes" else "full"))
            variance = pair.variance_seen((None, None), (None, None), scores)
            return scores, np.sqrt(np.maximum(variance, 0.0)).astype(np.float32)
        if isinstance(self.encoder, DrawnSketch) and kind == "codes" and indices.size:
            rows, sketch = self.rows, Sketch().with_drawn(self.encoder)
            estimate = sketch.cosine_similarity if self.encoder.gamma is None else sketch.kernel_estimate
            pairs = [estimate(query[j], rows[row], return_std=True) for j, row in enumerate(indices)]  # type: ignore[index]
            values, errors = (np.concatenate(each) for each in zip(*pairs))
            return values, errors
        return scores, None


def top_k(
    rows: CodeSource, query: Any, k: int, allowed: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return places and scores of the best k rows of any source that are allowed, equal scores by lower place."""
    if isinstance(rows, Codes):
        return rows.top_k(query, k, where=allowed)
    indices: NDArray[np.int64] = np.empty((len(query), 0), dtype=np.int64)
    scores: NDArray[np.float32] = np.empty((len(query), 0), dtype=np.float32)
    begin = 0
    for block in rows.blocks(_BLOCK_ROWS):
        some = None if allowed is None else allowed[begin : begin + len(block)]
        places, values = block.top_k(query, min(k, len(block)), where=some)
        scores = np.hstack([scores, values])
        indices = np.hstack([indices, places + begin])
        # Stable, so that of equal scores the earlier row stays first.
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        scores, indices = np.take_along_axis(scores, order, 1), np.take_along_axis(indices, order, 1)
        begin += len(block)
    return indices, scores


def _load_database(entry: Named, models: dict[str, ServedModel]) -> ServedDatabase:
    """Return the codes of a file or store with the encoder that made them, where it is known."""
    rows = _rows_of(entry.path)
    codes: CodesReader | None = CodesReader(rows[:1])
    template = rows[:1]
    name = next((name for name, model in models.items() if _made(model.encoder, template)), None)
    recipe, drawn = (None, None) if name is None else (models[name].reader.recipe, models[name].encoder)
    if drawn is None and isinstance(rows, CodeStore):
        drawn = None if rows.encoder is None else rows.encoder.drawn_
    # Full queries are taken where the full side is as wide as the codes.
    full = None if drawn is None or drawn.n_outputs != template.shape[1] else drawn.n_outputs
    n_features = None if drawn is None or full is None else drawn.n_features
    if isinstance(drawn, DrawnVectorCodes):
        codes = full = None  # a query of vectors is in full precision, and comes as it is
    if n_features is not None and recipe is not None:
        n_features = len(recipe.columns)
    reader = QueryReader(codes, recipe, n_features, full, template.fingerprint)
    return ServedDatabase(entry.name, name, rows, drawn, reader)


def _load_finer(entry: Named, database: ServedDatabase) -> CodeSource:
    """Return codes by which the best rows of a database of vectors are scored again."""
    rows, encoder = _rows_of(entry.path), database.encoder
    if not isinstance(encoder, DrawnVectorCodes):
        raise FileFormatError(f"{str(entry.path)!r} must rescore vector codes with a known encoder, got other codes.")
    if rows.shape != database.rows.shape or rows[:1].fingerprint != encoder.fingerprint:
        must = f"must hold the {database.rows.n_rows} rows of {database.name!r}, coded with the same rotation"
        raise FileFormatError(f"{str(entry.path)!r} {must}, got others. Fit with the same rows, seed and metric.")
    return rows


def _rows_of(path: Path) -> Any:
    """Return the codes of a store or a file that has rows."""
    rows: Any = CodeStore.open(path) if path.is_dir() else _codes_of(path)
    if rows.n_rows == 0:
        raise FileFormatError(f"{str(path)!r} must hold rows to search, got none.")
    return rows


def _codes_of(path: Path) -> Codes | CodesFile:
    """Return the codes of a file, in memory where they easily fit: what becomes of the file is then of no concern."""
    available = available_memory()
    fits = available is None or not path.is_file() or path.stat().st_size <= available // _SHARE
    return load(path, kind=Codes) if fits else open_codes(path)


def _mark(path: Path) -> Mark:
    """Return what tells a file apart from a later one; of a store its manifest, which every commit replaces."""
    try:
        status = (path / "lowtide" / "manifest.json" if path.is_dir() else path).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _made(encoder: DrawnEncoder | None, codes: Codes) -> bool:
    """Whether codes are those of an encoder: of the same frequencies, by the same rule."""
    return encoder is not None and (encoder.fingerprint, encoder.side) == (codes.fingerprint, codes.side)
