"""Try an installed lowtide: the README's Python, the commands, and how long it takes to begin.

Run by the Python it is installed for, outside the repository; it needs nothing but the standard library and lowtide:

    python -I smoke.py README.md [--limits]

Times are those of the processor, the best of several, so that a busy machine does not decide. With --limits one that is
above its limit is a failure.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

REPEATS = 7
# Seconds of processor time.
LIMITS = {
    "lowtide --help": 0.150,
    "from lowtide import KernelClassifier, beyond scikit-learn": 0.100,
    "lowtide predict, one row": 1.0,
}
BEYOND_SKLEARN = """
import time
import sklearn.svm, sklearn.kernel_approximation, sklearn.linear_model, sklearn.pipeline
begin = time.process_time()
from lowtide import KernelClassifier
print(time.process_time() - begin)
"""
FLOWERS = """
from sklearn.datasets import load_iris
table = load_iris()
rows = [",".join(map(str, [*row, table.target_names[kind]])) for row, kind in zip(table.data, table.target)]
names = "a,b,c,d,kind"
open("flowers.csv", "w").write("\\n".join([names, *rows]))
open("one.csv", "w").write("\\n".join([names.removesuffix(",kind"), rows[0].rpartition(",")[0]]))
"""


def run(*command: str) -> str:
    """Run a command and return what it prints; what it says when it fails is shown."""
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def lowtide(*arguments: str) -> str:
    """Run the installed command."""
    return run(shutil.which("lowtide", path=sysconfig.get_path("scripts")) or "lowtide", *arguments)


def processor_time(call: Callable[[], object]) -> float:
    """Return the least processor time that the processes started by a call take, after one that warms up."""
    call()
    times = []
    for _ in range(REPEATS):
        before = os.times()
        call()
        after = os.times()
        times.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(times)


def readme_lines(readme: Path) -> list[str]:
    """Run the Python of the README in one process and return the lines that it prints."""
    blocks = re.findall(r"```python\n(.*?)```", readme.read_text(encoding="utf-8"), flags=re.DOTALL)
    return run(sys.executable, "-I", "-c", "\n".join(blocks)).splitlines()


def main() -> None:
    """Run every check in an empty folder and print what came of it."""
    readme = Path(sys.argv[1]).resolve()
    where = Path(run(sys.executable, "-I", "-c", "import lowtide; print(lowtide.__file__)").strip()).parent
    if not where.is_relative_to(sys.prefix):
        sys.exit(f"lowtide must be installed for {sys.executable}, got {where}.")
    size = sum(file.stat().st_size for file in where.rglob("*") if file.suffix != ".pyc")
    print(f"  lowtide in {size / 1e6:.1f} MB, Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        shape, errors, accuracy, *_ = readme_lines(readme)
        print(f"  README: codes {shape}, errors {errors}, accuracy {accuracy}")
        begin = time.perf_counter()
        demo = lowtide("demo", "--json")
        print(f"  lowtide demo: {len(demo)} characters in {time.perf_counter() - begin:.1f} s")
        run(sys.executable, "-I", "-c", FLOWERS)
        lowtide("fit", "flowers.csv", "--target", "kind", "-o", "flowers.lowtide", "--quiet")
        answer = lowtide("predict", "flowers.lowtide", "one.csv").split()
        if answer[-1] != "setosa":
            sys.exit(f"lowtide predict must answer setosa, got {answer}.")
        taken = {
            "lowtide --help": processor_time(lambda: lowtide("--help")),
            "from lowtide import KernelClassifier, beyond scikit-learn": min(
                float(run(sys.executable, "-I", "-c", BEYOND_SKLEARN)) for _ in range(REPEATS)
            ),
            "lowtide predict, one row": processor_time(lambda: lowtide("predict", "flowers.lowtide", "one.csv")),
        }
        os.chdir(sys.prefix)  # so that the folder can go
    slow = []
    for name, seconds in taken.items():
        print(f"  {name}: {seconds * 1e3:.0f} ms, at most {LIMITS[name] * 1e3:.0f}")
        slow += [name] if seconds > LIMITS[name] else []
    if slow and "--limits" in sys.argv:
        sys.exit(f"Above their limits: {'; '.join(slow)}.")


if __name__ == "__main__":
    main()
