"""Model files: encoders, learners and codes as safetensors with a JSON header; no pickle, no code run on load."""

from lowtide.persist.files import check_metadata, describe, from_bytes, load, read_metadata, save, to_bytes
from lowtide.persist.whole_file import PathLike, as_path, refused, sync_folder, write_whole

__all__ = [
    "PathLike",
    "as_path",
    "check_metadata",
    "describe",
    "from_bytes",
    "load",
    "read_metadata",
    "refused",
    "save",
    "sync_folder",
    "to_bytes",
    "write_whole",
]
