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


# What the values and types among the public names are: their own docstrings are those of int, str or Registry.
VALUES = {
    "codes.Bits": "Type of the bits of codes: one number for all levels, or a number for each level of a row.",
    "encoders.ENCODERS": "The encoders that a model file may name, by their names.",
    "kernels.DENSITIES": "The densities of frequencies by their names; `lowtide.register` adds yours.",
    "kernels.KERNELS": 'The kernels by their names, such as `"rbf"`; `lowtide.register` adds yours.',
    "learners.LEARNERS": "The learners that a model file may name, by their names.",
    "learners.LOSSES": 'The losses by their names, such as `"logistic"`; `lowtide.register` adds yours.',
    "learners.RULES": "The rules by which scores become answers, by their names.",
    "maps.FEATURE_MAPS": 'The feature maps by their names, such as `"cos_sin"`; `lowtide.register` adds yours.',
    "maps.N_HARMONICS": "How many Fourier coefficients of a step function are used for expected kernels and variances.",
    "persist.PathLike": "Type of a path: a text, or an object of `os.PathLike`.",
    "projections.PROJECTIONS": 'The projections by their names, such as `"hadamard"`; `lowtide.register` adds yours.',
    "projections.MOST_FREQUENCIES": "The place that every kept frequency must be below.",
    "quantizers.QUANTIZERS": 'The quantizers by their names, such as `"lloyd_max"`; `lowtide.register` adds yours.',
    "quantizers.LINE_QUANTIZERS": "The quantizers of a sketch by their names; `lowtide.register` adds yours.",
    "reports.FLOAT_BITS": "Bits of a float feature, which stands beside codes in a report.",
    "tables.Kind": "Type of what the target of a table holds.",
    "tables.Task": "Type of what is learned from a table.",
    "tables.WISHES": "What a column of a table can be asked to be taken as.",
    "theory.TARGETS": 'The targets of ternary features by their names, such as `"relu"`.',
    "wire.CODES_TYPE": "Media type of a message of codes.",
    "wire.FRAME_BYTES": "Bytes of a message around the content of its one part.",
    "wire.ROWS_TYPE": "Media type of a message of rows.",
}


def describe_values(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Say what a public value is, which has no docstring of its own."""
    if what == "data":
        lines[:] = [VALUES[name.removeprefix("lowtide.")], ""]


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
    app.connect("autodoc-process-docstring", describe_values, priority=900)
    app.connect("autodoc-process-docstring", escape_formulas, priority=1000)
