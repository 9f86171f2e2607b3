"""From a model file to C in a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import click
import numpy as np
from numpy.typing import NDArray

import lowtide as lt
from lowtide.cli.models import load_encoder
from lowtide.cli.recipe import TableRecipe, align
from lowtide.cli.tables import open_table
from lowtide.cli.terminal import Voice, bytes_in_words, sheet
from lowtide.device import DeviceCode, export_c, name_from

__all__ = ["Export"]


@dataclass(frozen=True)
class Export:
    """The generated C of a model file."""

    made: DeviceCode
    weights: str | None

    @classmethod
    def of(
        cls,
        path: Path,
        *,
        name: str | None,
        weights: str,
        input: str | None,
        favor: str,
        check: Path | None,
        voice: Voice,
    ) -> Self:
        """Make the C of a model or an encoder in a file."""
        encoder, recipe = load_encoder(path)
        thing = lt.load(path)
        if recipe.scale:
            voice.note(
                "the model's table is standardized: rows on the device must be (x - mean) / scale as in the model, "
                "which 'lowtide inspect' and lt.persist.read_metadata show. Fit with --no-scale for rows as they are."
            )
        if getattr(thing, "scale_", None) is not None:
            problem = "must hold a model whose columns have one length scale, got one a column."
            raise click.BadParameter(problem, param_hint="'MODEL'")
        decides = weights != "none" and hasattr(thing, "predict")
        if check is not None and not decides:
            raise click.BadParameter("needs a model and weights for its decision.", param_hint="'--check'")
        made = export_c(
            thing if decides else encoder,
            name=name_from(path.stem) if name is None else name,
            weights=weights if decides else None,  # type: ignore[arg-type]
            input=input,  # type: ignore[arg-type]
            favor=favor,  # type: ignore[arg-type]
            rows=None if check is None else _rows(check, recipe, voice),
        )
        return cls(made, weights if decides else None)

    def write(self, folder: Path, *, force: bool) -> tuple[Path, Path]:
        """Write both files; those that are there already are replaced only with `force`."""
        header, source = folder / f"{self.made.name}.h", folder / f"{self.made.name}.c"
        there = [str(path) for path in (header, source) if path.exists()]
        if there and not force:
            problem = f"must not hold {there[0]!r} yet. Add --force to replace it."
            raise click.BadParameter(problem, param_hint="'--output'")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            problem = f"must be a folder that can be made, got: {error.strerror}."
            raise click.BadParameter(problem, param_hint="'--output'") from error
        return self.made.write(folder)

    def summary(self, written: tuple[Path, Path]) -> str:
        """Say what was written and what it takes."""
        made = self.made
        tables = ", ".join(f"{name} {bytes_in_words(size)}" for name, size in made.tables.items())
        agreement = "" if made.agreement is None else f"; {made.agreement:.2%} of the classes are the model's"
        rounding = "" if made.error is None else f"weights in {self.weights} move scores by about {made.error:.2g}"
        return sheet(
            [
                ("written", f"{written[0]} and {written[1]}"),
                ("flash", f"{bytes_in_words(made.flash_bytes)}: code {bytes_in_words(made.code_bytes)}, {tables}"),
                ("RAM", f"{bytes_in_words(made.ram_bytes)} besides the row"),
                ("decision", rounding + agreement),
            ]
        )

    def to_json(self, written: tuple[Path, Path]) -> dict[str, Any]:
        """Return the same as plain values."""
        made = self.made
        return {
            "header": str(written[0]),
            "source": str(written[1]),
            "name": made.name,
            "weights": self.weights,
            "flash_bytes": made.flash_bytes,
            "tables": made.tables,
            "code_bytes": made.code_bytes,
            "ram_bytes": made.ram_bytes,
            "error": made.error,
            "agreement": made.agreement,
        }


def _rows(path: Path, recipe: TableRecipe, voice: Voice) -> NDArray[np.float64]:
    """Return the rows of a table as the model takes them."""
    source = open_table(path, header=True)
    alignment = align(recipe, source)
    for note in alignment.notes:
        voice.note(note)
    return np.concatenate([recipe.rows(block.renamed(alignment.names)) for block in source.blocks()])
