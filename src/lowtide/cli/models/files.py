"""Models in files, together with the recipe of the table they were fitted on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lowtide as lt
from lowtide.cli.recipe import TableRecipe
from lowtide.cli.tables import is_table_name
from lowtide.errors import FileFormatError
from lowtide.persist import read_metadata

__all__ = [
    "encoder_of",
    "load_encoder",
    "load_model",
    "name_of_y",
    "recipe_in",
    "save_with_recipe",
    "score_in",
    "store_metadata",
    "stored_target",
]

_ENTRY, _SCORE = "table", "score"


def save_with_recipe(model: Any, path: Path, recipe: TableRecipe, score: str = "") -> None:
    """Write a model or an encoder, what was done to the table before, and how well it did in words."""
    lt.save(model, path, metadata={_ENTRY: recipe.to_json(), _SCORE: score})


def store_metadata(recipe: TableRecipe, progress: Any, kind: str | None, target: str | None) -> dict[str, Any]:
    """Return what a store keeps of its table: recipe, target, and how far a run has come."""
    return {_ENTRY: recipe.to_json(), "target": {"name": target, "kind": kind}, "encode": progress}


def stored_target(store: lt.CodeStore, target: str) -> str:
    """Return the column of a store that holds a target: the one of that name, or "y", which had it in the table."""
    return "y" if target not in store.columns and target == name_of_y(store) else target


def name_of_y(store: lt.CodeStore) -> str:
    """Return what the column "y" of a store is called in its table; "y" where that is not known."""
    about = store.metadata.get("target")
    return str((isinstance(about, dict) and about.get("name")) or "y")


def load_model(path: Path) -> tuple[Any, TableRecipe]:
    """Return a learner and its recipe; one saved from Python has none and takes its columns as they are."""
    thing = _load(path)
    if not hasattr(thing, "predict"):
        raise FileFormatError(
            f"{str(path)!r} must hold a model, got {type(thing).__name__}. 'lowtide fit' writes models."
        )
    return thing, _recipe_of(path, thing)


def load_encoder(path: Path) -> tuple[Any, TableRecipe]:
    """Return the encoder of a file, or of the model in it, and its recipe."""
    thing = _load(path)
    encoder = encoder_of(thing)
    if encoder is None:
        raise FileFormatError(
            f"{str(path)!r} must hold an encoder or a model with one, got {type(thing).__name__}. 'lowtide fit' and "
            "'lowtide encode --save-encoder' write them."
        )
    return encoder, _recipe_of(path, thing)


def encoder_of(thing: Any) -> Any:
    """Return an encoder itself, or that of a model; None where there is none."""
    return thing if hasattr(thing, "encode") else getattr(thing, "features_", None)


def _load(path: Path) -> Any:
    if is_table_name(path):
        raise FileFormatError(
            f"{str(path)!r} must be a model file, got the name of a table. 'lowtide fit' writes "
            "model files; 'lowtide predict' takes the model first."
        )
    return lt.load(path)


def recipe_in(metadata: dict[str, Any]) -> TableRecipe | None:
    """Return the recipe in a file's metadata, None when it was saved without."""
    return TableRecipe.from_json(metadata[_ENTRY]) if _ENTRY in metadata else None


def score_in(metadata: dict[str, Any]) -> str:
    """Return the score in a file's metadata; a text that could move the cursor of a terminal is none."""
    text = metadata.get(_SCORE, "")
    return text if isinstance(text, str) and text.isprintable() else ""


def _recipe_of(path: Path, thing: Any) -> TableRecipe:
    """Return the recipe beside a model; it must make as many columns as the model takes."""
    recipe = recipe_in(read_metadata(path)) or TableRecipe.of_model(thing)
    if recipe.n_features != thing.n_features_in_:
        raise FileFormatError(
            f"{str(path)!r} must hold a recipe for {thing.n_features_in_} columns, got one for {recipe.n_features}."
        )
    return recipe
