"""Models behind the commands: built from options, kept with their recipe, scored, described."""

from lowtide.cli.models.building import make_encoder, make_learner
from lowtide.cli.models.files import (
    encoder_of,
    load_encoder,
    load_model,
    name_of_y,
    recipe_in,
    save_with_recipe,
    score_in,
    store_metadata,
    stored_target,
)
from lowtide.cli.models.kernel_error import ErrorCurve, expected_errors
from lowtide.cli.models.scoring import Score, score
from lowtide.cli.models.splitting import split
from lowtide.cli.models.summary import bytes_per_row, encoder_summary

__all__ = [
    "ErrorCurve",
    "Score",
    "bytes_per_row",
    "encoder_of",
    "encoder_summary",
    "expected_errors",
    "load_encoder",
    "load_model",
    "make_encoder",
    "make_learner",
    "name_of_y",
    "recipe_in",
    "save_with_recipe",
    "score",
    "score_in",
    "split",
    "store_metadata",
    "stored_target",
]
