"""`lowtide versions`: what is installed and what this machine runs."""

from __future__ import annotations

import click

__all__ = ["versions"]


@click.command()
def versions() -> None:
    """Print versions, instruction set and threads, for bug reports."""
    from lowtide import show_versions

    show_versions()
