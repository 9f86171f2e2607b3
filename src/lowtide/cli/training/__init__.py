"""The work of `lowtide fit`: read, hold out, learn, score."""

from lowtide.cli.training.outcome import Outcome
from lowtide.cli.training.training import Training, check_output

__all__ = ["Outcome", "Training", "check_output"]
