"""The work of `lowtide predict`: find the columns, predict block by block, score."""

from lowtide.cli.prediction.prediction import Prediction
from lowtide.cli.prediction.predictor import Predictor, check_output

__all__ = ["Prediction", "Predictor", "check_output"]
