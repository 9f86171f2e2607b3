"""Show the section of CHANGELOG.md that the fragments in changes/ make, or write it there and delete them.

python -m release.changelog                       # shows it
python -m release.changelog --write 0.1.0         # CHANGELOG.md gets it, the fragments go
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# In the order of the section; the names are those of changes/README.md.
KINDS = {
    "feature": "New",
    "fix": "Fixed",
    "speed": "Faster",
    "format": "Formats",
    "docs": "Documentation",
}
NAME = re.compile(rf"(\d+)\.(?:[a-z0-9-]+\.)?({'|'.join(KINDS)})\.md")
VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
UNRELEASED = re.compile(r"## Unreleased\n.*?(?=\n## |\Z)", flags=re.DOTALL)


def fragments(folder: Path) -> tuple[dict[str, list[tuple[int, Path]]], list[str]]:
    """Return the fragments of each kind by number, and the faults of names and texts."""
    found, faults = defaultdict(list), []
    for path in sorted(folder.glob("*")):
        if path.name == "README.md":
            continue
        name = NAME.fullmatch(path.name)
        if name is None:
            faults.append(f"{path.name} must be named <number>.<topic>.<{'|'.join(KINDS)}>.md")
        elif not path.read_text(encoding="utf-8").strip():
            faults.append(f"{path.name} must say what changed, it is empty")
        else:
            found[name[2]].append((int(name[1]), path))
    return {kind: sorted(found[kind]) for kind in KINDS if found[kind]}, faults


def section(found: dict[str, list[tuple[int, Path]]], version: str, date: str) -> str:
    """Return a version's section: a heading a kind, a point a fragment."""
    lines = [f"## {version}, {date}"]
    for kind, paths in found.items():
        lines += ["", f"### {KINDS[kind]}", ""]
        for _, path in paths:
            text = path.read_text(encoding="utf-8").strip()
            lines.append("- " + text.replace("\n", "\n  "))
    return "\n".join(lines) + "\n"


def write(root: Path, version: str, text: str) -> None:
    """Put a section below what is unreleased, which then is nothing, and delete the fragments."""
    path = root / "CHANGELOG.md"
    old = path.read_text(encoding="utf-8")
    if not UNRELEASED.search(old):
        sys.exit("CHANGELOG.md must have a section '## Unreleased', got none.")
    if f"\n## {version}," in old:
        sys.exit(f"CHANGELOG.md must not have a section {version} yet, got one.")
    now = f"## Unreleased\n\nSee [`changes/`](changes/README.md).\n\n{text}"
    path.write_text(UNRELEASED.sub(lambda _: now, old, count=1), encoding="utf-8")
    for fragment in (root / "changes").glob("*.md"):
        if fragment.name != "README.md":
            fragment.unlink()


def main(arguments: list[str] | None = None, root: Path = ROOT) -> None:
    """Show or write the section."""
    parser = argparse.ArgumentParser(description="The section of CHANGELOG.md that the fragments in changes/ make.")
    parser.add_argument("--write", metavar="VERSION", help="write it as this version's, and delete the fragments")
    version = parser.parse_args(arguments).write
    found, faults = fragments(root / "changes")
    if faults:
        sys.exit("\n".join(faults))
    if version is None:
        sys.stdout.write(section(found, "Next version", "not yet released"))
        return
    if not VERSION.fullmatch(version):
        sys.exit(f"A version must be spelled like 0.1.0 or 0.2.0rc1, got {version!r}.")
    if not found:
        sys.exit("changes/ must have fragments for a version, got none.")
    write(root, version, section(found, version, datetime.date.today().isoformat()))
    print(f"CHANGELOG.md has {version}; {sum(map(len, found.values()))} fragments are gone.")


if __name__ == "__main__":
    main()
