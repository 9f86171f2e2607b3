"""A file, looked at from outside."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import lowtide as lt
from lowtide.cli.inspection.parts import sizes_by_part
from lowtide.cli.inspection.tables import error_table
from lowtide.cli.models import ErrorCurve, encoder_of, encoder_summary, expected_errors, recipe_in, score_in
from lowtide.cli.tables import listed
from lowtide.cli.terminal import amount, bytes_in_words, counted, sheet
from lowtide.persist import describe

__all__ = ["Inspection"]


@dataclass(frozen=True)
class Inspection:
    """What a file says of itself, the object in it, and the error of its kernel values."""

    file: Path
    content: dict[str, Any]
    thing: Any
    errors: list[ErrorCurve]

    @classmethod
    def of(cls, file: Path) -> Self:
        """Look into a file."""
        content = describe(file)
        thing = lt.load(file, mmap=True)
        encoder = encoder_of(thing)
        return cls(file, content, thing, expected_errors(encoder) if _is_radial(encoder) else [])

    def report(self) -> str:
        """Say it in words."""
        content, thing, encoder = self.content, self.thing, encoder_of(self.thing)
        size = bytes_in_words(content["bytes"])
        sizes = [f"{part} {bytes_in_words(n)}" for part, n in sizes_by_part(content).items()]
        text = sheet(
            [
                ("file", f"{self.file}, {size}, format {content['format']}"),
                ("kind", self._kind()),
                ("classes", listed(thing.classes_.tolist(), most=12) if hasattr(thing, "classes_") else ""),
                ("table", self._table()),
                ("score", score_in(content["metadata"])),
                ("features", self._features(encoder)),
                ("projection", self._projection(encoder)),
                ("fingerprint", self._fingerprint()),
                ("bytes", ", ".join(sizes)),
            ]
        )
        return f"{text}\n\n{error_table(self.errors)}" if self.errors else text

    def _kind(self) -> str:
        thing = self.thing
        name = str(self.content["kind"])
        if isinstance(thing, lt.Codes):
            per_row = counted(thing.packed.shape[1], "byte")
            levels = f"{thing.n_levels:,} levels of {counted(thing.bits, 'bit')}"
            return f"codes: {counted(len(thing), 'row')} of {levels}, {per_row} a row"
        if hasattr(thing, "C_"):
            how = f"{thing.loss} loss" if hasattr(thing, "loss") else f"system {thing.system}"
            return f"{name}, {how}, C = {amount(thing.C_)}"
        return f"{name}, alpha = {amount(thing.alpha_)}" if hasattr(thing, "alpha_") else name

    def _table(self) -> str:
        """Say which columns a table must have."""
        recipe = recipe_in(self.content["metadata"])
        if recipe is None:
            n_columns = getattr(self.thing, "n_features_in_", None)
            return "" if n_columns is None else f"{counted(n_columns, 'column')}, as they are"
        parts = []
        if recipe.numeric:
            how = "standardized" if recipe.scale else "as they are"
            parts.append(f"numbers {listed(recipe.numeric)} ({how})")
        parts += [f"categories {name!r} ({len(known)})" for name, known in recipe.categories.items()]
        if recipe.target is not None:
            parts.append(f"target {recipe.target!r}")
        return ", ".join(parts)

    @staticmethod
    def _features(encoder: Any) -> str:
        """Say what the features are; those without a kernel of one distance show their parameters."""
        if encoder is None:
            return ""
        return encoder_summary(encoder) if _is_radial(encoder) else " ".join(repr(encoder).split())

    @staticmethod
    def _projection(encoder: Any) -> str:
        if not _is_radial(encoder):
            return ""
        seed = "" if encoder.random_state is None else f", seed {encoder.random_state}"
        return f"{encoder.projection}, {encoder.feature_map} map{seed}"

    def _fingerprint(self) -> str:
        spec = self.content["spec"]
        return str(spec["fingerprint"]) if isinstance(spec, dict) and "fingerprint" in spec else ""

    def to_json(self) -> dict[str, Any]:
        """Return the file's own description, its sizes by part and the errors."""
        errors = {
            curve.sides: {"worst": curve.worst, "at_kernel": {str(value): std for value, std in curve.at.items()}}
            for curve in self.errors
        }
        encoder, thing = encoder_of(self.thing), self.thing
        own = {
            "file": str(self.file),
            "fingerprint": self._fingerprint() or None,
            "classes": thing.classes_.tolist() if hasattr(thing, "classes_") else None,
            "gamma": getattr(encoder, "gamma_", None),
            "bytes_by_part": sizes_by_part(self.content),
            "kernel_error": errors or None,
        }
        return {**own, "content": self.content}


def _is_radial(encoder: Any) -> bool:
    """Whether an encoder has a kernel of one distance, over which its errors are a curve."""
    return isinstance(encoder, lt.RandomFeatures)
