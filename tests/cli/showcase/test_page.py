import re
import sys
from html.parser import HTMLParser

import pytest

import lowtide
from lowtide.cli.showcase import render_page
from lowtide.errors import MissingExtraError

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Outline(HTMLParser):
    """Collects ids, references and attributes, and checks that every element is closed in its turn."""

    def __init__(self, page):
        super().__init__()
        self.ids, self.references, self.attributes, self.tags, self._open = [], [], [], set(), []
        self.feed(page)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        self.references += [value[1:] for name, value in attrs if name == "href"]
        self.references += [found for _, value in attrs for found in re.findall(r"url\(#(.*?)\)", value or "")]

    def handle_endtag(self, tag):
        assert self._open.pop() == tag


@pytest.fixture(scope="module")
def page(comparison):
    return render_page(comparison)


@pytest.fixture(scope="module")
def outline(page):
    return Outline(page)


def test_page_needs_nothing_from_outside(page, outline):
    assert not re.search(r"https?://|//[a-z]|@import|data:", page)
    assert not outline.tags & {"script", "link", "img", "iframe", "object"}
    assert "src" not in {name for name, _ in outline.attributes}
    assert all(value.startswith("#") for name, value in outline.attributes if name == "href")


def test_ids_are_unique_and_every_reference_has_its_target(outline):
    assert len(outline.ids) == len(set(outline.ids))
    assert set(outline.references) <= set(outline.ids)
    assert outline.references


def test_page_is_small(page):
    assert len(page.encode()) < 300_000


def test_page_has_three_drawings_in_the_colors_of_its_style_sheet(page):
    assert page.count("<svg") == 3
    used = set(re.findall(r"var\(--([\w-]+)\)", page))
    style = page[: page.index("</style>")]
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    for name in used:
        assert f"--{name}:" in light
        assert f"--{name}:" in dark
    # What stood for a variable while drawing must be gone.
    assert not re.search(r"#0([1-8])0\1", page)


def test_page_is_the_same_text_for_the_same_comparison(page, comparison):
    assert render_page(comparison) == page


def test_page_escapes_what_it_is_given(monkeypatch, comparison):
    monkeypatch.setattr(lowtide, "__version__", "<b>1</b>")
    assert "&lt;b&gt;1&lt;/b&gt;" in render_page(comparison)


def test_page_ignores_the_settings_of_the_user(page, comparison):
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 40, "axes.facecolor": "red", "svg.fonttype": "path"}):
        assert render_page(comparison) == page
        assert mpl.rcParams["font.size"] == 40


@pytest.mark.parametrize("missing", ["matplotlib", "jinja2"])
def test_missing_extra_is_an_import_error_that_names_the_remedy(monkeypatch, comparison, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'lowtide[report]'")) as caught:
        render_page(comparison)
    assert isinstance(caught.value, ImportError)
    assert missing in str(caught.value)
