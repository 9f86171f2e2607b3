"""The comparison as one HTML page that needs no other file and no network."""

from __future__ import annotations

import platform
from importlib import resources

import lowtide
from lowtide.cli.showcase.reading import notes, percent, reading
from lowtide.cli.showcase.results import Comparison
from lowtide.errors import MissingExtraError

__all__ = ["render_page"]


def render_page(comparison: Comparison) -> str:
    """Return the page; equal comparisons give equal text. Needs the extra `report`."""
    try:
        import matplotlib  # noqa: F401
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise MissingExtraError(
            f"The page with the plots needs matplotlib and jinja2, got: {error}. "
            "Run pip install 'lowtide[report]', or leave the page out with --no-html."
        ) from error
    from lowtide.cli.showcase.plots import accuracy_plot, kernel_plot, score_plot

    template = resources.files("lowtide.cli").joinpath("templates", "demo.html.j2").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["percent"] = percent
    # The drawings hold numbers and our own words only; nothing of the user's is marked as safe.
    drawings = {"accuracy": accuracy_plot, "kernel": kernel_plot, "score": score_plot}
    return environment.from_string(template).render(
        comparison=comparison,
        reading=reading(comparison),
        notes=notes(comparison),
        plots={name: Markup(draw(comparison)) for name, draw in drawings.items()},
        version=lowtide.__version__,
        machine=f"{platform.machine()}, Python {platform.python_version()}",
    )
