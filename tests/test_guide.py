"""The Python of the guide runs, page by page; where it shows a session, it prints what the page says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "guide"
PAGES = sorted(page for page in GUIDE.glob("*.md") if "```python\n" in page.read_text(encoding="utf-8"))
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
