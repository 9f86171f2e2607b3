"""Sphinx configuration. `make docs` builds with warnings as errors."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import lowtide

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import gallery_order  # noqa: E402
import pictures  # noqa: E402

project = "lowtide"
author = "lowtide developers"
project_copyright = author
version = release = lowtide.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode", "numpydoc"]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
nitpicky = False
# Single backticks in docstrings are names and formulas.
default_role = "literal"
highlight_language = "python"
# Quotes in docstrings are those of Python strings.
smartquotes = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "groupwise"
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"
autodoc_default_options = {"show-inheritance": True}
numpydoc_show_class_members = False

# Wide pages: the front, tables of many columns, and sources of 120.
WITHOUT_TOC = ("index", "guide/roofline", "extending/kernel", "extending/quantizer", "extending/op")
html_theme = "pydata_sphinx_theme"
html_title = "lowtide"
html_static_path = ["_static"]
html_css_files = ["lowtide.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "lowtide"},
    "navbar_align": "left",
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"], **{page: [] for page in WITHOUT_TOC}},
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
html_sidebars = {"index": [], "glossary": []}

extensions.append("sphinx_gallery.gen_gallery")
# About the folder that the project was cloned to; links are relative to it.
suppress_warnings = ["sphinx_gallery.space_in_filename"]
sphinx_gallery_conf = {
    "ignore_pattern": r"^own_parts",  # imported by an example, not one
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "subsection_order": [f"../examples/{group}" for group in gallery_order.GROUPS],
    "within_subsection_order": "gallery_order.place",
    "filename_pattern": "/plot_",
    "abort_on_example_error": True,
    # What is printed is shown, and a report as the page it is; not the names of objects that plots are made of.
    "capture_repr": ("_repr_html_",),
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
}

_BAR_OR_TRAILING_UNDERSCORE = re.compile(r"(?<!\\)\||(?<=\w)(?<!\\)_(?!\w)")


def escape_formulas(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Keep formulas plain: reStructuredText takes |x| for a substitution and gamma_ for a link."""
    in_doctest = False
    for i, line in enumerate(lines):
        in_doctest = line.lstrip().startswith(">>>") or (in_doctest and bool(line.strip()))
        if not in_doctest:
            lines[i] = "`".join(_escaped(part) if j % 2 == 0 else part for j, part in enumerate(line.split("`")))


def _escaped(text: str) -> str:
    return _BAR_OR_TRAILING_UNDERSCORE.sub(lambda match: "\\" + match[0], text)


def skip_strangers(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what base classes of other packages add: they have their own documentation."""
    home = getattr(getattr(obj, "fget", obj), "__module__", None) or ""
    return True if home and home.partition(".")[0] != "lowtide" else None


def draw_pictures(app: Any) -> None:
    """Draw what the chapter on the ideas shows."""
    pictures.draw(HERE / "guide" / "pictures")


def setup(app: Any) -> None:
    """Draw before pages are read, and escape after numpydoc has turned sections into markup."""
    app.connect("builder-inited", draw_pictures)
    app.connect("autodoc-skip-member", skip_strangers)
    app.connect("autodoc-process-docstring", escape_formulas, priority=1000)
