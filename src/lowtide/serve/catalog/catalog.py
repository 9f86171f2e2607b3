"""All that is served, by name, as it was when it was last loaded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lowtide._checks import fail
from lowtide.codes import Codes
from lowtide.encoders import Encoder
from lowtide.errors import FileFormatError
from lowtide.persist import load
from lowtide.serve.catalog.database import ServedDatabase
from lowtide.serve.catalog.model import ServedModel, load_model
from lowtide.serve.catalog.query import QueryReader
from lowtide.store import CodeStore
from lowtide.wire import CodesReader, Columns

__all__ = ["Catalog", "Named"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


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
        name = name if given else place.stem
        if not _NAME.fullmatch(name):
            must = "a name must be letters, digits, '.', '_' and '-', at most 64"
            raise fail("serve", must, name, "Give another: name=path.")
        return cls(name, place)


@dataclass(frozen=True)
class Catalog:
    """Models and databases by name; the first of each is the default. Never changed: a reload makes another.

    Attributes
    ----------
    models : dict of ServedModel
    databases : dict of ServedDatabase
    sources : what they were loaded from
    """

    models: dict[str, ServedModel]
    databases: dict[str, ServedDatabase]
    sources: tuple[tuple[Named, ...], tuple[Named, ...]] = ((), ())

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
        loaded = {entry.name: load_model(entry.name, entry.path) for entry in models}
        found = {entry.name: _load_database(entry, loaded) for entry in databases}
        return cls(loaded, found, (tuple(models), tuple(databases)))

    def reload(self) -> Catalog:
        """Return what the same files and stores hold now."""
        return Catalog.load(*self.sources)

    @property
    def default_model(self) -> ServedModel:
        """The first."""
        return next(iter(self.models.values()))

    @property
    def default_database(self) -> ServedDatabase | None:
        """The first, None where there is none."""
        return next(iter(self.databases.values()), None)

    def to_json(self) -> dict[str, Any]:
        """Return what is loaded."""
        first = self.default_model.name
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


def _load_database(entry: Named, models: dict[str, ServedModel]) -> ServedDatabase:
    """Return the codes of a file or store with the encoder that made them, where it is known."""
    rows: Any = CodeStore.open(entry.path) if entry.path.is_dir() else load(entry.path, kind=Codes, mmap=True)
    if rows.n_rows == 0:
        raise FileFormatError(f"{str(entry.path)!r} must hold rows to search, got none.")
    codes = CodesReader(rows[:1])
    for name, model in models.items():
        encoder = model.encoder
        if encoder is not None and encoder.fingerprint_ == rows.fingerprint and encoder._has_codes:
            reader = _reader_of(codes, encoder, model.reader.columns)
            return ServedDatabase(entry.name, name, rows, encoder, reader)
    encoder = getattr(rows, "encoder", None)
    if encoder is not None:
        encoder.__dict__.pop("feature_names_in_", None)
    reader = _reader_of(codes, encoder, None)
    return ServedDatabase(entry.name, None, rows, encoder, reader)


def _reader_of(codes: CodesReader, encoder: Encoder | None, columns: Columns | None) -> QueryReader:
    """Return what reads queries: as codes like the database's, or as the full side where that is as wide."""
    template = codes.template
    full = None if encoder is None or encoder._n_features_out != template.shape[1] else encoder._n_features_out
    n_features = None if encoder is None or full is None else encoder.n_features_in_
    return QueryReader(codes, columns, n_features, full, template.fingerprint)
