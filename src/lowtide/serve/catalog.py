"""The models and databases that are served, by name, and the search of a database for similar rows."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import available_memory, fail
from lowtide.codes import Codes, CodeSource
from lowtide.encoders import DrawnEncoder, DrawnFeatures, DrawnSketch, Sketch
from lowtide.errors import FileAccessError, FileFormatError, WireFormatError
from lowtide.persist import CodesFile, load, open_codes
from lowtide.serve.exchange import Refusal
from lowtide.serve.model import ANSWER_BYTES, SMALL_WORK, Answer, Kind, Query, QueryReader, ServedModel
from lowtide.store import CodeStore
from lowtide.wire import CodesReader

_LOG = logging.getLogger("lowtide.serve")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
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
    sources: tuple[tuple[Named, ...], tuple[Named, ...]] = ((), ())
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
    def load(cls, models: Sequence[Named], databases: Sequence[Named] = ()) -> Catalog:
        """Load every file; what cannot be served is an error that names the file.

        Parameters
        ----------
        models, databases : sequence of Named
        """
        for what, given in (("models", models), ("databases", databases)):
            names = [entry.name for entry in given]
            if len(set(names)) != len(names):
                raise fail("serve", f"names of {what} must differ", names, "Give others: name=path.")
        if not models:
            raise fail("serve", "there must be a model to serve", "none")
        marks = tuple(_mark(entry.path) for entry in (*models, *databases))
        loaded = {entry.name: ServedModel.load(entry.name, entry.path) for entry in models}
        found = {entry.name: _load_database(entry, loaded) for entry in databases}
        return cls(loaded, found, (tuple(models), tuple(databases)), marks)

    def reload(self) -> Catalog:
        """Return what the same files and stores hold now; objects that came from none stay."""
        return Catalog.load(*self.sources) if self.sources[0] else self

    def marks_now(self) -> tuple[Mark, ...]:
        """Return what tells the files that are there now apart; others than `marks` where one was changed."""
        return tuple(_mark(entry.path) for entries in self.sources for entry in entries)

    def to_json(self) -> dict[str, Any]:
        """Return what is loaded."""
        first = next(iter(self.models))
        models = [{**model.summary, "default": name == first} for name, model in self.models.items()]
        databases = [
            {
                "name": name,
                "model": database.model,
                "n_rows": database.rows.n_rows,
                "fingerprint": database.reader.fingerprint.hex(),
                "accepts": list(database.reader.kinds),
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

    `encoder` is None when it is not known: then only codes are taken, and no errors of estimates are given.
    """

    name: str
    model: str | None
    rows: CodeSource
    encoder: DrawnEncoder | None
    reader: QueryReader
    # Two scans at once would only take the disk from each other, and memory for their blocks.
    scanning: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

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
        """Return the memory that the answer to a query takes: of rows the full side, three numbers a neighbor."""
        width = 0 if query.kind == "codes" or self.encoder is None else 8 * self.encoder.n_outputs
        return query.n_rows * (width + 3 * ANSWER_BYTES * query.k)

    def made_by(self, models: Iterable[ServedModel]) -> list[ServedModel]:
        """Return the models whose encoder made the codes."""
        codes = self.reader.codes
        return [] if codes is None else [model for model in models if _made(model.encoder, codes.template)]

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """Return places, estimates and standard errors (or None) of each query's neighbors, from one scan for all."""
        kind, query = queries[0].kind, self.reader.joined(queries)
        if kind == "rows" and self.encoder is not None:
            query = self.encoder.transform(query)
        try:
            with self.scanning:
                indices, scores = top_k(self.rows, query, max(each.k for each in queries))
                if not np.isfinite(scores).all():
                    need = "features must be of a moderate size, got some whose products are not finite."
                    raise WireFormatError(need)
                estimates, errors = self._estimates(kind, query, indices, scores)
        except (FileAccessError, FileFormatError) as error:
            _LOG.error("%s: %s", self.name, error)  # whoever asked is not told of names on this machine
            refusal = "the codes were changed while they were read, and will be loaded again. Try again soon."
            raise Refusal(503, refusal, [(b"retry-after", b"1")]) from error
        found, begin = [], 0
        columns = {"indices": indices, "estimates": estimates, "standard_errors": errors}
        for each in queries:
            part = slice(begin, begin + each.n_rows), slice(0, each.k)
            found.append({name: None if values is None else values[part] for name, values in columns.items()})
            begin += each.n_rows
        return found

    def _estimates(
        self, kind: Kind, query: Any, indices: NDArray[np.int64], scores: NDArray[np.float32]
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return estimates of the kernel, and their standard errors where theory has them."""
        if isinstance(self.encoder, DrawnFeatures) and self.encoder.kept is None:
            pair = self.encoder.pair(("codes", "codes" if kind == "codes" else "full"))
            variance = pair.variance_seen((None, None), (None, None), scores)
            return scores, np.sqrt(np.maximum(variance, 0.0)).astype(np.float32)
        if isinstance(self.encoder, DrawnSketch) and kind == "codes" and len(indices):
            rows, sketch = self.rows, Sketch().with_drawn(self.encoder)
            estimate = sketch.cosine_similarity if self.encoder.gamma is None else sketch.kernel_estimate
            pairs = [estimate(query[j], rows[row], return_std=True) for j, row in enumerate(indices)]  # type: ignore[index]
            values, errors = (np.concatenate(each) for each in zip(*pairs))
            return values, errors
        return scores, None


def top_k(rows: CodeSource, query: Any, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return places and scores of the best k rows of any source, equal scores by lower place."""
    if isinstance(rows, Codes):
        return rows.top_k(query, k)
    indices: NDArray[np.int64] = np.empty((len(query), 0), dtype=np.int64)
    scores: NDArray[np.float32] = np.empty((len(query), 0), dtype=np.float32)
    begin = 0
    for block in rows.blocks(_BLOCK_ROWS):
        places, values = block.top_k(query, min(k, len(block)))
        scores = np.hstack([scores, values])
        indices = np.hstack([indices, places + begin])
        # Stable, so that of equal scores the earlier row stays first.
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        scores, indices = np.take_along_axis(scores, order, 1), np.take_along_axis(indices, order, 1)
        begin += len(block)
    return indices, scores


def _load_database(entry: Named, models: dict[str, ServedModel]) -> ServedDatabase:
    """Return the codes of a file or store with the encoder that made them, where it is known."""
    is_store = entry.path.is_dir()
    rows: Any = CodeStore.open(entry.path) if is_store else _codes_of(entry.path)
    if rows.n_rows == 0:
        raise FileFormatError(f"{str(entry.path)!r} must hold rows to search, got none.")
    codes = CodesReader(rows[:1])
    template = codes.template
    name = next((name for name, model in models.items() if _made(model.encoder, template)), None)
    recipe, drawn = (None, None) if name is None else (models[name].reader.recipe, models[name].encoder)
    if drawn is None and is_store:
        drawn = None if rows.encoder is None else rows.encoder.drawn_
    # Full queries are taken where the full side is as wide as the codes.
    full = None if drawn is None or drawn.n_outputs != template.shape[1] else drawn.n_outputs
    n_features = None if drawn is None or full is None else drawn.n_features
    if n_features is not None and recipe is not None:
        n_features = len(recipe.columns)
    reader = QueryReader(codes, recipe, n_features, full, template.fingerprint)
    return ServedDatabase(entry.name, name, rows, drawn, reader)


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
