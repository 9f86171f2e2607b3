"""Check the built documentation: `python docs/check.py`, after sphinx, as `make docs` does.

Links: every link, picture and script of the HTML pages that leads to another file of them must find it, and every
`#place` must be the id of an element there. The Markdown of the repository (README and its neighbors) is checked in the
same way, against the files of the repository. Addresses of other sites are counted, not visited. Spelling: codespell,
which knows common misspellings, over the repository, by the settings in pyproject.toml.
"""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "docs" / "_build" / "html"


class Page(HTMLParser):
    """The ids of a page, and what it leads to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = {"", "top"}
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the id of an element, and its address."""
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.ids.add(value)
            elif name == "href" or (name == "src" and not value.startswith("data:")):
                self.links.append(value)


@cache
def page(path: Path) -> Page:
    """Return a page of HTML, read once."""
    return Page(path.read_text(encoding="utf-8"))


def broken(start: Path, link: str) -> str | None:
    """Return what is wrong with a link of the file `start`, None where it leads somewhere."""
    parts = urlsplit(link)
    target = (start.parent / unquote(parts.path)).resolve() if parts.path else start
    if target.is_dir() and start.suffix == ".html":
        target /= "index.html"
    if not target.exists():
        return "no such file"
    if parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in page(target).ids:
        return "no such place on that page"
    return None


def check_links() -> tuple[int, int, list[str]]:
    """Return how many links lead within the project and how many to other sites, and a line for each broken one."""
    pages = [path for path in sorted(HTML.rglob("*.html")) if "_static" not in path.parts]  # templates of the theme
    found = [(path, link) for path in pages for link in dict.fromkeys(page(path).links)]
    for path in sorted(ROOT.glob("*.md")):
        text = re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        found += [(path, link) for link in re.findall(r"\]\(([^)\s]+)\)", text)]
    inside = [(path, link) for path, link in found if not urlsplit(link).scheme and not link.startswith("//")]
    wrong = [
        f"{path.relative_to(ROOT)}: {link}: {why}" for path, link in inside if (why := broken(path, link)) is not None
    ]
    return len(inside), len(found) - len(inside), wrong


def main() -> int:
    """Print what is wrong, and return the exit code."""
    if not (HTML / "index.html").exists():
        print("docs/_build/html is not there: build it with 'make docs'.", file=sys.stderr)
        return 1
    inside, outside, wrong = check_links()
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    print(f"{inside:,} links within the documentation: {len(wrong)} broken; {outside:,} to other sites, not visited")
    spelling = subprocess.run([sys.executable, "-m", "codespell_lib"], cwd=ROOT, check=False).returncode
    print("spelling: " + ("see above" if spelling else "nothing found by codespell"))
    return 1 if wrong or spelling else 0


if __name__ == "__main__":
    sys.exit(main())
