"""`lowtide demo` compares an exact kernel machine with its copies on float32 features and on 4, 2 and 1 bits."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lowtide.cli.terminal import check_writable

if TYPE_CHECKING:
    from lowtide.cli.demo_measure import Report

__all__ = ["demo", "progress"]


@click.command()
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=Path("lowtide-demo.html"),
    show_default=True,
    help="Page to write, with the plots.",
)
@click.option(
    "--components",
    type=click.IntRange(64, 8192),
    default=2048,
    show_default=True,
    help="Random features of each method.",
)
@click.option("--no-html", is_flag=True, help="Write no page.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Split and frequencies.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON in place of the table.")
def demo(output: Path, components: int, no_html: bool, seed: int, as_json: bool) -> None:
    """Compare an exact SVM with random features in float32 and in 4, 2 and 1 bits, on real digits.

    Takes some ten seconds. Prints a table, and writes an HTML page that needs no other file.
    """
    from lowtide.cli.demo_measure import Plan, compare
    from lowtide.cli.demo_report import render_page, show, to_json
    from lowtide.persist import write_whole

    target = None if no_html else check_writable(output, "--output")
    with progress() as report:
        comparison = compare(Plan(n_components=components, seed=seed), report)
    if as_json:
        click.echo(to_json(comparison))
    else:
        show(comparison)
    if target is not None:
        write_whole(target, [render_page(comparison).encode()])
        click.echo(f"Plots and details: {output}", err=True)


@contextmanager
def progress() -> Iterator[Report]:
    """Give a function that moves a bar on stderr; silent when stderr is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:28}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("loading")
        yield lambda done, total, what: bar.update(task, completed=done, total=total, description=what)
