"""The exceptions of lowtide. Each is also the built-in error that a caller would expect."""

from __future__ import annotations

__all__ = [
    "BiasWarning",
    "BranchWarning",
    "CancelledError",
    "CodeLayoutError",
    "FileAccessError",
    "FileFormatError",
    "FingerprintMismatchError",
    "LayoutWarning",
    "LowtideError",
    "MemoryNeedError",
    "MissingExtraError",
    "ParameterError",
    "PrecisionWarning",
    "RequestError",
    "ScaleWarning",
    "UnsuitableLayoutError",
    "WireFormatError",
]


class LowtideError(Exception):
    """Base of every error that lowtide raises on purpose."""


class ParameterError(LowtideError, ValueError):
    """A parameter has a value that is not allowed."""


class MemoryNeedError(LowtideError, MemoryError):
    """Work needs more memory than there is; it is refused before any memory is taken."""


class CancelledError(LowtideError, RuntimeError):
    """Work was stopped by its `lowtide.CancelToken`; `timed_out` says whether its time ran out or it was cancelled."""

    def __init__(self, timed_out: bool = False) -> None:
        if timed_out:
            said, remedy = "must be done within the time of its CancelToken, which ran out", "Give it more seconds."
        else:
            said, remedy = "was cancelled by its CancelToken", "Start it again under another one."
        super().__init__(f"The work {said}; nothing of it was kept. {remedy}")
        self.timed_out = timed_out

    def __reduce__(self) -> tuple[type[CancelledError], tuple[bool]]:
        return type(self), (self.timed_out,)


class UnsuitableLayoutError(LowtideError, ValueError):
    """A projection cannot carry the frequencies of this kernel."""


class CodeLayoutError(LowtideError, ValueError):
    """Packed codes and what they are combined with do not have matching shapes or widths."""


class FingerprintMismatchError(LowtideError, ValueError):
    """Codes of two different encoders cannot be compared or joined."""


class FileFormatError(LowtideError, ValueError):
    """A file is not what lowtide writes: foreign, damaged, of a newer format, or of another kind."""


class FileAccessError(LowtideError, OSError):
    """A file cannot be read or written; `errno` says why where the system gave a reason."""


class WireFormatError(LowtideError, ValueError):
    """A message is not what lowtide sends: foreign, damaged, cut short, of a newer version, or of another encoder."""


class RequestError(LowtideError, OSError):
    """A server refused a request or could not be reached; `status` is that of its answer, None without one."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class MissingExtraError(LowtideError, ImportError):
    """A part of lowtide needs an optional dependency that is not installed."""


class BiasWarning(UserWarning):
    """The kernel of a sketch is far from the one that was asked for: more bits, or a smaller gamma, would do."""


class BranchWarning(UserWarning):
    """An estimate belongs to several distances, since the expected kernel rises again beyond the first branch."""


class PrecisionWarning(UserWarning):
    """float32 cannot carry the signal of this input."""


class ScaleWarning(UserWarning):
    """Columns have such different units that a few of them decide all distances: scale them first."""


class LayoutWarning(UserWarning):
    """A layout is too small for what the theory says of it to hold."""
