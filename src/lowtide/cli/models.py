"""Build, load, describe and score the models behind the commands."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import lowtide as lt
from lowtide.cli.terminal import EncoderOptions, amount, counted
from lowtide.errors import FileFormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lowtide.tables import TableRecipe, Task

__all__ = [
    "Score",
    "bytes_per_row",
    "encoder_of",
    "encoder_summary",
    "load_encoder",
    "load_model",
    "make_encoder",
    "make_learner",
    "name_of_y",
    "recipe_in",
    "save_with_recipe",
    "score",
    "score_in",
    "store_metadata",
    "stored_target",
]

_MOST_COMPONENTS = 4096
_ENTRY, _SCORE = "table", "score"


def make_encoder(options: EncoderOptions, n_rows: int) -> lt.RandomFeatures:
    """Return the encoder that options ask for; few rows need few components, and are then learned from at once."""
    components = options.components
    if components is None:
        components = next((m for m in (1024, 2048) if n_rows <= m), _MOST_COMPONENTS)
    # Frequencies of the laplacian kernel are drawn coordinate by coordinate; no other layout carries them.
    if options.kernel == "laplacian" and options.projection not in (None, "iid"):
        problem = f"must be iid for the laplacian kernel, got {options.projection!r}. Leave it out."
        raise click.BadParameter(problem, param_hint="'--projection'")
    projection = options.projection or ("iid" if options.kernel == "laplacian" else "hadamard")
    return lt.RandomFeatures(
        options.kernel,
        gamma=options.gamma,
        n_components=components,
        projection=projection,
        bits=options.bits,
        random_state=options.seed,
    )


def make_learner(encoder: lt.RandomFeatures, task: Task, *, loss: str | None, C: Any, seed: int, verbose: bool) -> Any:
    """Return a classifier or a regressor; C is 1/(2 alpha) of ridge regression."""
    shared: dict[str, Any] = {"random_state": seed, "verbose": int(verbose)}
    if task == "classification":
        return lt.KernelClassifier(encoder, loss=loss or "squared", C=C, **shared)
    if loss not in (None, "squared"):
        problem = f"must be squared for regression, got {loss!r}. Add --classification to learn classes."
        raise click.BadParameter(problem, param_hint="'--loss'")
    return lt.KernelRegressor(encoder, alpha="auto" if C == "auto" else 0.5 / C, **shared)


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
    if lt.tables.is_table_name(path):
        raise FileFormatError(
            f"{str(path)!r} must be a model file, got the name of a table. 'lowtide fit' writes "
            "model files; 'lowtide predict' takes the model first."
        )
    return lt.load(path)


def recipe_in(metadata: dict[str, Any]) -> TableRecipe | None:
    """Return the recipe in a file's metadata, None when it was saved without."""
    return lt.tables.TableRecipe.from_json(metadata[_ENTRY]) if _ENTRY in metadata else None


def score_in(metadata: dict[str, Any]) -> str:
    """Return the score in a file's metadata; a text that could move the cursor of a terminal is none."""
    text = metadata.get(_SCORE, "")
    return text if isinstance(text, str) and text.isprintable() else ""


def _recipe_of(path: Path, thing: Any) -> TableRecipe:
    """Return the recipe beside a model; it must make as many columns as the model takes."""
    recipe = recipe_in(lt.persist.read_metadata(path)) or lt.tables.TableRecipe.of_model(thing)
    if recipe.n_features != thing.n_features_in_:
        raise FileFormatError(
            f"{str(path)!r} must hold a recipe for {thing.n_features_in_} columns, got one for {recipe.n_features}."
        )
    return recipe


@dataclass(frozen=True)
class Score:
    """A score over some rows.

    Attributes
    ----------
    measure : {"accuracy", "r2"}
    value : float
    rows : int
    baseline : float or None
        Accuracy of always naming the most common class of these rows.
    rmse : float or None
        Root mean square error, for numbers.
    """

    measure: str
    value: float
    rows: int
    baseline: float | None = None
    rmse: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return what the measure has."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def sentence(self, of_rows: str) -> str:
        """Say it; `of_rows` tells which rows they are."""
        rows = f"{counted(self.rows, 'row')} {of_rows}"
        if self.baseline is not None:
            return f"accuracy {self.value:.3f} on {rows} (always the most common class: {self.baseline:.3f})"
        return f"R² {self.value:.3f}, root mean square error {amount(self.rmse or 0.0)} on {rows}"


def score(truth: NDArray[Any], predicted: NDArray[Any], *, classes: bool) -> Score | None:
    """Return accuracy for classes, R² and root mean square error for numbers; None without rows.

    R² of rows with one value is that of scikit-learn: 1 when all are met, else 0.

    Examples
    --------
    >>> import numpy as np
    >>> score(np.array([1, 2, 2]), np.array([1, 2, 1]), classes=True).value
    0.6666666666666666
    """
    import numpy as np

    n = len(truth)
    if n == 0:
        return None
    if classes:
        _, counts = np.unique(truth, return_counts=True)
        return Score("accuracy", float(np.mean(truth == predicted)), n, baseline=float(counts.max() / n))
    square = float(np.sum((truth - predicted) ** 2))
    spread = float(np.sum((truth - truth.mean()) ** 2))
    r2 = 1.0 - square / spread if spread > 0 else float(square == 0)
    return Score("r2", r2, n, rmse=float(np.sqrt(square / n)))


def encoder_summary(encoder: Any) -> str:
    """Say kernel, gamma, components, bits and bytes a row.

    Parameters
    ----------
    encoder : Encoder, fitted
        Those without a kernel of one distance show their parameters.
    """
    if not hasattr(encoder, "quantizer_") or not hasattr(encoder, "kernel_") or not hasattr(encoder, "gamma_"):
        return " ".join(repr(encoder).split())
    gamma = "" if encoder.gamma_ is None else f" with gamma {amount(encoder.gamma_)}"
    kernel = encoder.kernel if isinstance(encoder.kernel, str) else repr(encoder.kernel_)
    width = "as float32"
    if encoder.quantizer_ is not None:
        width = f"of {counted(encoder.quantizer_.bits, 'bit')}"
    size = counted(bytes_per_row(encoder), "byte")
    return f"{kernel} kernel{gamma}, {counted(encoder.n_components, 'component')} {width}: {size} a row"


def bytes_per_row(encoder: Any) -> int:
    """Return what a row takes: packed where there is a coded side, else as float32."""
    import numpy as np

    if encoder.quantizer_ is None:
        return 4 * int(encoder.n_components)
    return int(encoder.encode(np.zeros((1, encoder.n_features_in_))).nbytes)
