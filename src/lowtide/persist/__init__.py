"""Model files: encoders, learners and codes as safetensors with a JSON header; no pickle, no code run on load."""

from lowtide.persist.description import describe
from lowtide.persist.loading import from_bytes, load
from lowtide.persist.metadata import check_metadata, read_metadata
from lowtide.persist.saving import save, to_bytes
from lowtide.persist.whole_file import PathLike, write_whole

__all__ = [
    "PathLike",
    "check_metadata",
    "describe",
    "from_bytes",
    "load",
    "read_metadata",
    "save",
    "to_bytes",
    "write_whole",
]
