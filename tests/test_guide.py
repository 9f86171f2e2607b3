"""The guide: its Python runs and prints what the pages say, and every page has what a newcomer needs of it."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "guide"
ALL = sorted(page for page in GUIDE.glob("*.md") if page.stem != "index")
# Pages with commands of the command line among their Python: `cli/test_guide.py` runs both, in their order.
SESSIONS = {"command-line", "csv", "few-bits"}
PAGES = [page for page in ALL if "```python\n" in page.read_text(encoding="utf-8") and page.stem not in SESSIONS]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_guide_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
        if not block.lstrip().startswith(">>>"):
            exec(compile(block, page.name, "exec"), names)
            continue
        session = doctest.DocTestParser().get_doctest(block, names, page.name, page.name, 0)
        assert runner.run(session, clear_globs=False).failed == 0
        names.update(session.globs)


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.stem)
def test_guide_page_has_a_runnable_example_that_prints_or_says_why_not(page):
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    runs = page.stem in SESSIONS or any("print(" in block or ">>>" in block for block in blocks)
    assert runs or "**No example here:**" in text


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.stem)
def test_guide_page_begins_with_sentences_and_says_where_to_go_next(page):
    text = page.read_text(encoding="utf-8")
    _title, first, *_ = text.split("\n\n")
    assert re.match(r"[A-Z`\[]|lowtide\b", first), "the first paragraph must be prose"
    assert len(re.findall(r"[.?:](?:\s|$)", first)) >= 2, "the first paragraph must have at least two sentences"
    after = re.search(r"^## Where next\n\n(.+)\Z|^\*\*Where next:\*\* (.+?)\n\n", text, flags=re.DOTALL | re.MULTILINE)
    assert after is not None, "the page must end in a section 'Where next', or say it at its top"
    assert ".md" in after[0]
