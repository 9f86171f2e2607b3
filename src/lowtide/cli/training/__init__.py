"""The work of `lowtide fit`: read, hold out, learn, score."""

from lowtide.cli.training.outcome import Outcome
from lowtide.cli.training.stored import StoreTraining, check_store_options
from lowtide.cli.training.training import Training, check_output

__all__ = ["Outcome", "StoreTraining", "Training", "check_output", "check_store_options"]
