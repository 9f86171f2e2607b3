"""Every public name has its place on an API page, and every page of the guide is in a group."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import lowtide

DOCS = Path(__file__).resolve().parents[2] / "docs"
TABLE = re.compile(r"currentmodule:: (\S+)\n.*?:nosignatures:\n\n(.*?)```", re.DOTALL)


def listed() -> list[str]:
    """Return the names of all API pages, with their modules."""
    found = []
    for page in sorted((DOCS / "api").glob("*.md")):
        for module, names in TABLE.findall(page.read_text(encoding="utf-8")):
            found += [f"{module}.{name}" for name in names.split()]
    return found


PACKAGES = sorted(path.parent.name for path in Path(lowtide.__file__).parent.glob("[a-z]*/__init__.py"))


@pytest.mark.parametrize("package", [name for name in PACKAGES if name != "cli"])
def test_every_public_name_of_a_package_is_on_an_api_page(package):
    names = importlib.import_module(f"lowtide.{package}").__all__
    prefix = f"lowtide.{package}."
    on_pages = {name.removeprefix(prefix) for name in listed() if name.startswith(prefix)}
    assert on_pages == set(names)


def test_no_name_is_on_two_pages():
    names = listed()
    assert sorted(set(names)) == sorted(names)


def test_top_level_names_are_on_a_page_of_their_package():
    packages = {*PACKAGES, "errors", "__version__"}
    on_pages = {name.rpartition(".")[2] for name in listed()}
    assert set(lowtide.__all__) - packages <= on_pages


def test_every_page_of_the_guide_is_in_one_group():
    index = (DOCS / "guide" / "index.md").read_text(encoding="utf-8")
    grouped = [
        name for block in re.findall(r"```\{toctree\}\n.*?\n\n(.*?)```", index, re.DOTALL) for name in block.split()
    ]
    pages = sorted(path.stem for path in (DOCS / "guide").glob("*.md") if path.stem != "index")
    assert sorted(grouped) == pages
