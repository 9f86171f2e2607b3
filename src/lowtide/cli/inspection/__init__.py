"""The work of `lowtide inspect`."""

from lowtide.cli.inspection.inspection import Inspection

__all__ = ["Inspection"]
