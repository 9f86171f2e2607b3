"""Model files: encoders, learners and codes as safetensors with a JSON header; no pickle, no code run on load."""

from lowtide.persist.description import describe
from lowtide.persist.loading import load
from lowtide.persist.metadata import read_metadata
from lowtide.persist.saving import save

__all__ = ["describe", "load", "read_metadata", "save"]
