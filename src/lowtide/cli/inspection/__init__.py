"""The work of `lowtide inspect`."""

from lowtide.cli.inspection.inspection import Inspection
from lowtide.cli.inspection.stored import StoreInspection

__all__ = ["Inspection", "StoreInspection"]
