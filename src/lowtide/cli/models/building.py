"""Encoders and learners from options."""

from __future__ import annotations

from typing import Any

import click

import lowtide as lt
from lowtide.cli.recipe import Task
from lowtide.cli.terminal import EncoderOptions

__all__ = ["make_encoder", "make_learner"]

_MOST_COMPONENTS = 4096


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
