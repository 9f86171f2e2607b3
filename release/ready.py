"""Say whether this tree can be released, and what then remains for a person to do.

Looked at are the state of git, the version wherever it is written, the changelog, the forge's configuration, the conda
recipe and the files in dist/, which `make wheel` makes and tries. Nothing is tagged or uploaded.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from release.changelog import VERSION, fragments
from release.wheels import ROOT, sdist_faults

# Where the version is written, beside pyproject.toml.
WRITTEN = {
    "src/lowtide/__init__.py": r'^__version__ = "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
    "recipe/recipe.yaml": r'^  version: "(.+)"$',
}


def pyproject(root: Path) -> dict[str, Any]:
    """Return the content of pyproject.toml."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def version_of(root: Path) -> str:
    """Return the version that pyproject.toml has."""
    return str(pyproject(root)["project"]["version"])


def tree_faults(root: Path) -> list[str]:
    """Return what git knows that is not committed."""
    status = subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True)
    return [f"not committed: {line[3:]}" for line in status.stdout.splitlines()]


def version_faults(root: Path) -> list[str]:
    """Return where the version is written otherwise, or the tag that has it already."""
    version = version_of(root)
    faults = [] if VERSION.fullmatch(version) else [f"pyproject.toml must have a version like 0.1.0, got {version}"]
    for name, pattern in WRITTEN.items():
        found = re.search(pattern, (root / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
        if found is None or found[1].strip("\"'") != version:
            faults.append(f"{name} must have version {version}, got {found[1] if found else 'none'}")
    tags = subprocess.run(["git", "tag", "--list", f"v{version}"], cwd=root, capture_output=True, text=True, check=True)
    return faults + ([f"tag v{version} is there already"] if tags.stdout.strip() else [])


def changelog_faults(root: Path) -> list[str]:
    """Return what the changelog lacks: a section of this version, with no fragment left out."""
    version, (found, faults) = version_of(root), fragments(root / "changes")
    left = sum(map(len, found.values()))
    if left or f"\n## {version}," not in (root / "CHANGELOG.md").read_text(encoding="utf-8"):
        faults.append(
            f"CHANGELOG.md must have a section {version} and changes/ no fragment, got {left} fragments. "
            f"Run python -m release.changelog --write {version}"
        )
    return faults


def forge_faults(root: Path) -> list[str]:
    """Return what is wrong with the configuration of forge, pre-commit and cibuildwheel, and with CITATION.cff."""
    beside = Path(sys.executable).parent
    workflows = sorted(map(str, (root / ".github" / "workflows").glob("*.yml")))
    commands = [
        [str(beside / "check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *workflows],
        [
            str(beside / "check-jsonschema"),
            "--builtin-schema",
            "vendor.citation-file-format",
            str(root / "CITATION.cff"),
        ],
        [str(beside / "pre-commit"), "validate-config", str(root / ".pre-commit-config.yaml")],
        *(
            [str(beside / "cibuildwheel"), "--print-build-identifiers", "--platform", platform, str(root)]
            for platform in ("linux", "macos", "windows")
        ),
    ]
    runs = [subprocess.run(command, capture_output=True, text=True) for command in commands]
    return [(run.stdout + run.stderr).strip() for run in runs if run.returncode]


def recipe_faults(root: Path) -> list[str]:
    """Return what keeps the conda recipe from being rendered, and what it wants otherwise than pyproject.toml does."""
    # Here, since only who makes a release has it.
    from rattler_build import RattlerBuildError, Stage0Recipe, VariantConfig

    try:
        recipe = Stage0Recipe.from_file(root / "recipe" / "recipe.yaml")
        (rendered,) = recipe.render(VariantConfig.from_file(root / "recipe" / "variants.yaml"))
    except RattlerBuildError as error:
        return [f"recipe/recipe.yaml must be one that rattler-build renders: {error}"]
    return list(unstated(rendered.recipe.to_dict()["requirements"], pyproject(root)))


def unstated(wants: dict[str, list[str]], project: dict[str, Any]) -> Iterator[str]:
    """Yield what pyproject.toml needs, to build and to run, and the requirements of a recipe do not say."""
    needs = {
        "run": [f"python{project['project']['requires-python']}", *project["project"]["dependencies"]],
        "host": project["build-system"]["requires"],
    }
    for part, stated in needs.items():
        for need in (each.replace(">=", " >=") for each in stated):
            if need not in wants[part]:
                yield f"recipe/recipe.yaml must have {need} in {part}, got {', '.join(wants[part])}"


def files_faults(root: Path) -> list[str]:
    """Return what is wrong with the files in dist/: not there, of another version, or not of this tree."""
    version = version_of(root)
    sdists = list((root / "dist").glob(f"lowtide-{version}.tar.gz"))
    wheels = list((root / "dist").glob(f"lowtide-{version}-*manylinux*.whl"))
    if not sdists or not wheels:
        return [f"dist/ must have an sdist and wheels of {version}. Run make wheel"]
    return list(sdist_faults(sdists[0], root))


CHECKS: dict[str, Callable[[Path], list[str]]] = {
    "tree": tree_faults,
    "version": version_faults,
    "changelog": changelog_faults,
    "forge": forge_faults,
    "recipe": recipe_faults,
    "files": files_faults,
}


def remaining(version: str) -> str:
    """Return the steps that are a person's."""
    return f"""What remains is yours:
  1. git tag --annotate v{version} --message "lowtide {version}" and push it: the forge builds the wheels of all systems
  2. look at the wheels that the forge has kept, and upload them with the sdist: twine upload
  3. put the sdist's address and sha256 into recipe/recipe.yaml, and publish the recipe"""


def main(root: Path = ROOT) -> None:
    """Print every check and what it found; end with an error where one found something."""
    found = {name: check(root) for name, check in CHECKS.items()}
    for name, faults in found.items():
        print(f"{name}: {'ready' if not faults else f'{len(faults)} to mend'}")
        for fault in faults:
            print(f"  {fault}")
    if any(found.values()):
        sys.exit("Not ready to be released.")
    print(remaining(version_of(root)))


if __name__ == "__main__":
    main()
