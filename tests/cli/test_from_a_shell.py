"""The commands as a shell runs them: help, pipes, interruption."""

import os
import signal
import subprocess
import sys

import pytest
from cli.samples import FAST, flower_csv, lowtide

SCRIPT = "from lowtide.cli.main import main; main()"


def shell(folder, *arguments):
    command = [sys.executable, "-c", SCRIPT, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", ["fit", "predict", "encode", "inspect", "evaluate", "tune", "completion"])
def test_help_loads_nothing_heavy_and_shows_how_to_call(command):
    heavy = ("numpy", "scipy", "sklearn", "rich", "pyarrow")
    code = (
        "import sys\nfrom lowtide.cli.main import main\n"
        f"main([{command!r}, '--help'], standalone_mode=False)\n"
        f"print('LOADED', *[name for name in {heavy!r} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "LOADED"
    assert "Usage:" in run.stdout


def test_fit_and_predict_speak_on_stdout_and_stay_silent_on_stderr_but_for_the_score(tmp_path):
    flower_csv(tmp_path / "flowers.csv")
    fit = shell(tmp_path, "fit", "flowers.csv", "--target", "species", "-o", "m.lowtide", "--validate", 0.2, *FAST)
    # No progress where stderr is not a terminal.
    assert (fit.returncode, fit.stderr) == (0, "")
    predict = shell(tmp_path, "predict", "m.lowtide", "flowers.csv")
    assert predict.stdout.startswith("prediction\n")
    assert len(predict.stdout.splitlines()) == 91
    assert predict.stderr.startswith("Score: ")
    assert sorted(os.listdir(tmp_path)) == ["flowers.csv", "m.lowtide"]
    # A model predicts without scikit-learn, and without the parts of scipy that only a fit needs.
    code = f"import sys\n{SCRIPT.replace('main()', 'main(standalone_mode=False)')}\nprint(*sys.modules)"
    run = [sys.executable, "-c", code, "predict", "m.lowtide", "flowers.csv", "-o", "out.csv"]
    loaded = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()
    assert "lowtide.learners.decision" in loaded
    heavy = {"scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.special", "scipy.stats.distributions", "sklearn"}
    assert not (heavy | {"matplotlib"}) & set(loaded)


def interrupted(folder, blocked, *arguments):
    """Run a command that waits at a method, interrupt it there, and return its exit code and stderr."""
    module, owner, method = blocked
    code = (
        "import signal, sys\n"
        f"from {module} import {owner}\n"
        "from lowtide.cli.main import main\n"
        "def wait(*a, **k):\n"
        "    print('waiting', flush=True)\n"
        "    while True:\n"
        "        signal.pause()\n"
        f"{owner}.{method} = wait\n"
        # A parent in the background may have told its children to ignore the signal.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "main(sys.argv[1:])\n"
    )
    command = [sys.executable, "-c", code, *map(str, arguments)]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    return process.returncode, errors


@pytest.mark.parametrize(
    ("command", "blocked"),
    [
        (("fit", "flowers.csv", "--target", "species", "-o", "out.lowtide"), ("lowtide", "KernelClassifier", "fit")),
        (("predict", "m.lowtide", "flowers.csv", "-o", "out.csv"), ("lowtide.learners", "Decision", "predict")),
    ],
)
def test_interrupt_leaves_no_file_and_no_traceback(tmp_path, command, blocked):
    flower_csv(tmp_path / "flowers.csv")
    lowtide("fit", tmp_path / "flowers.csv", "--target", "species", "-o", tmp_path / "m.lowtide", *FAST)
    assert interrupted(tmp_path, blocked, *command) == (130, "Interrupted.\n")
    assert sorted(os.listdir(tmp_path)) == ["flowers.csv", "m.lowtide"]
