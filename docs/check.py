"""Check the built documentation: `python docs/check.py`, after sphinx, as `make docs` does.

Links: every link, picture and script of the HTML pages that leads to another file of them must find it, and every
`#place` must be the id of an element there. The Markdown of the repository (README and its neighbors) is checked in the
same way, against the files of the repository. Addresses of other sites are counted, not visited.

Spelling: every word of prose on these pages must be in the American dictionary or in docs/words.txt, the project's own
terms. Code, signatures, formulas, abbreviations in capitals and words with a capital inside are not prose. Besides,
codespell, which knows common misspellings, reads the whole repository, by the settings in pyproject.toml.
"""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import spylls.hunspell
from spylls.hunspell import Dictionary

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "docs" / "_build" / "html"
WORDS = ROOT / "docs" / "words.txt"
AMERICAN = Path(spylls.hunspell.__file__).parent / "data" / "en" / "en_US"
# Not what is joined to a digit, an underscore or by a dot (float32, n_components, README.md), and not the symbols of a
# formula, which have one or two letters or stand in braces.
WORD = re.compile(r"(?<![\w.{'])[^\W\d_]{3,}(?:'[^\W\d_]+)*(?!\w|\.\w)")
# Elements whose text is no prose, by tag or class: code, signatures, types of parameters, formulas, references.
NO_PROSE = {"script", "style", "code", "pre", "svg", "sig", "classifier", "math", "citation", "sphx-glr-download"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Page(HTMLParser):
    """The ids of a page, what it leads to, and the prose of its article."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = {"", "top"}
        self.links: list[str] = []
        self.prose: list[str] = []
        self._open: list[tuple[str, bool]] = []  # the elements around this place, and whether their text is prose
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
        if tag not in VOID:
            names = {tag, *(dict(attrs).get("class") or "").split()}
            inside = self._open[-1][1] if self._open else False
            self._open.append((tag, (inside or "bd-article" in names) and not names & NO_PROSE))

    def handle_endtag(self, tag: str) -> None:
        """Leave an element, and those in it that HTML lets one leave open."""
        if any(tag == name for name, _ in self._open):
            while self._open.pop()[0] != tag:
                pass

    def handle_data(self, data: str) -> None:
        """Keep prose."""
        if self._open and self._open[-1][1]:
            self.prose.append(data)


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


def prose_of_markdown(text: str) -> str:
    """Return a Markdown text without code, addresses, and the addresses of links."""
    return re.sub(r"```.*?```|`[^`]*`|\]\([^)\s]*\)|<[^>\s]*>|https?://\S+", " ", text, flags=re.DOTALL)


def check_words() -> tuple[int, list[str]]:
    """Return how many different words of prose there are, and a line for each that no dictionary has."""
    places: dict[str, str] = {}
    texts = {path: " ".join(page(path).prose) for path in sorted(HTML.rglob("*.html")) if "_static" not in path.parts}
    texts |= {path: prose_of_markdown(path.read_text(encoding="utf-8")) for path in sorted(ROOT.glob("*.md"))}
    for path, text in texts.items():
        for word in WORD.findall(text.replace("\N{SOFT HYPHEN}", "").replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")):
            places.setdefault(word, str(path.relative_to(ROOT)))
    own = WORDS.read_text(encoding="utf-8").split()
    known, american = set(own), Dictionary.from_files(str(AMERICAN))
    wrong = [] if own == sorted(known, key=lambda word: (word.lower(), word)) else ["docs/words.txt: not sorted"]
    used: set[str] = set()
    for word, place in places.items():
        stem = word.removesuffix("'s")
        is_name = not stem[1:].islower() or not stem.isascii()  # an abbreviation, CamelCase, a symbol
        if is_name or american.lookup(stem):
            continue
        entry = stem if stem in known else stem.lower()
        used.add(entry)
        if entry not in known:
            wrong.append(f"{place}: {word}: not in the dictionary; correct it, or add a term to docs/words.txt")
    wrong += [f"docs/words.txt: {word}: on no page, or in the dictionary; remove it" for word in sorted(known - used)]
    return len(places), wrong


def main() -> int:
    """Print what is wrong, and return the exit code."""
    if not (HTML / "index.html").exists():
        print("docs/_build/html is not there: build it with 'make docs'.", file=sys.stderr)
        return 1
    inside, outside, wrong = check_links()
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    print(f"{inside:,} links within the documentation: {len(wrong)} broken; {outside:,} to other sites, not visited")
    n_words, unknown = check_words()
    print(*unknown, sep="\n", end="\n" if unknown else "", file=sys.stderr)
    print(f"{n_words:,} different words of prose: {len(unknown)} unknown")
    spelling = subprocess.run([sys.executable, "-m", "codespell_lib"], cwd=ROOT, check=False).returncode
    print("common misspellings: " + ("see above" if spelling else "nothing found by codespell"))
    return 1 if wrong or unknown or spelling else 0


if __name__ == "__main__":
    sys.exit(main())
