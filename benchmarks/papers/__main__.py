"""List the studies, run some or all of them, or write the guide's tables from the record of full runs."""

from __future__ import annotations

import argparse

from benchmarks.papers.study import add_options, find_studies, options, parsed, print_claims, run_study
from benchmarks.papers.tables import PAPERS, STUDIES, write_page


def main() -> None:
    studies = find_studies()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="name", help="studies to run, 'all', or 'tables' for the guide; none: list them"
    )
    add_options(parser)
    given = parsed(parser)
    if given.names == ["tables"]:
        for page in (STUDIES, PAPERS):
            print(f"{page.name}: {'rewritten' if write_page(page) else 'as it should be'}")
        return
    names = list(studies) if given.names == ["all"] or (given.quick and not given.names) else given.names
    if unknown := [name for name in names if name not in studies]:
        parser.error(f"a name must be 'all', 'tables' or one of {', '.join(studies)}, got {', '.join(unknown)}")
    if not names:
        for study in studies.values():
            print(f"{study.name:24} {study.figure:10} {study.title}")
    for name in names:
        print_claims(run_study(studies[name], given.out, **options(given)))


if __name__ == "__main__":
    main()
