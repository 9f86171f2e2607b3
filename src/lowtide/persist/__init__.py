"""Model files: encoders, learners and codes as safetensors with a JSON header; no pickle, no code run on load."""

from lowtide.persist.codes_file import CodesFile, open_codes
from lowtide.persist.container import (
    PathLike,
    as_path,
    read_into,
    refused,
    refusing,
    sync_folder,
    write_together,
    write_whole,
)
from lowtide.persist.files import (
    check_metadata,
    describe,
    from_bytes,
    load,
    load_decision,
    read_metadata,
    save,
    to_bytes,
)

# fmt: off
__all__ = [  # noqa: RUF022
    "save", "load", "load_decision", "open_codes", "CodesFile", "to_bytes", "from_bytes", "describe", "read_metadata",
    "check_metadata",
    "PathLike", "as_path", "write_whole", "write_together", "sync_folder", "refused", "refusing", "read_into",
]
# fmt: on
