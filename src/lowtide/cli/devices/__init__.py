"""The work of `lowtide export-c`."""

from lowtide.cli.devices.export import Export

__all__ = ["Export"]
