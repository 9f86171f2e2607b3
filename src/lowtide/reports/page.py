"""Make self-contained pages of templates: one style sheet, drawings inline, everything else escaped."""

from __future__ import annotations

from importlib import resources
from typing import Any

import lowtide
from lowtide._checks import missing_extra

_LONGEST = 80


def render(package: str, template: str, drawings: dict[str, str], remedy: str, **values: Any) -> str:
    """Return the page that a template of a package makes; equal values give equal text. Needs the extra `report`.

    Parameters
    ----------
    package : str
        Whose folder `templates` has the template; those of this package can be extended and imported.
    template : str
    drawings : dict of str
        SVG by name, the only thing that is not escaped: they hold numbers and our own words alone.
    remedy : str
        What to do without the extra, besides installing it.
    **values
        What the template reads.
    """
    check_extra(remedy)
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FunctionLoader(lambda name: _text("lowtide.reports", name)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "plain": plain, "amount": amount, "size": size_in_words}
    safe = {name: Markup(drawing) for name, drawing in drawings.items()}
    page = environment.from_string(_text(package, template))
    return page.render(**values, plots=safe, version=lowtide.__version__)


def check_extra(remedy: str) -> None:
    """Refuse to go on without what a page is made with, before anything is measured."""
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError as error:
        need = f"The page with the plots needs matplotlib and jinja2, and {error.name} is not installed"
        raise missing_extra(need, "report", remedy) from error


def percent(share: float) -> str:
    """Write a share with one decimal."""
    return f"{100 * share:.1f}%"


def amount(value: float) -> str:
    """Write a number with four digits, or with all before the point."""
    if isinstance(value, int) or 1000 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def size_in_words(n_bytes: float) -> str:
    """Write a number of bytes in a unit that fits."""
    if n_bytes < 10_000:
        return f"{n_bytes:,.0f} byte{'' if n_bytes == 1 else 's'}"
    unit = "kB" if n_bytes < 999_500 else "MB"
    return f"{n_bytes / (1000 if unit == 'kB' else 1e6):,.3g} {unit}"


def plain(text: object) -> str:
    """Return a text of the user's on one line, of at most 80 characters, without those that are not printed."""
    shown = "".join(c if c.isprintable() else "\ufffd" for c in str(text))
    shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
    return shown if shown.strip() else "(blank)"


def _text(package: str, template: str) -> str:
    return resources.files(package).joinpath("templates", template).read_text(encoding="utf-8")
