"""Run inputs in processes of their own, so that a crash, a hang or a hunger for memory ends one input and no run."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import logging
import mmap
import os
import resource
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Protocol

import numpy as np

from lowtide.errors import LowtideError

__all__ = ["OUTCOMES", "Failure", "Limits", "Report", "Target", "WrongError", "attempt", "made", "replay", "run"]

OUTCOMES = ("refused", "taken", "crash", "hang", "memory", "exception", "wrong")
_FAILURES = OUTCOMES[2:]
_POLL_SECONDS = 0.05
_KEPT_ALIKE = 3


class WrongError(Exception):
    """What was taken must not have been, or is not what it must be."""


class Target(Protocol):
    """What is attacked: inputs by kind, and what must hold for one."""

    kinds: ClassVar[Mapping[str, int]]

    def open(self, folder: Path) -> None:
        """Make ready in the process that judges; the folder is in memory, and its own."""

    def make(self, kind: str, draw: Random) -> bytes:
        """Return an input; reads nothing but the corpus, and runs nothing that is attacked."""

    def seeds(self) -> list[bytes]:
        """Return inputs to begin with for tools that change them by themselves."""

    def sealed(self, data: bytes) -> tuple[str, bytes]:
        """Return the kind and the input of what such a tool has made of a seed, with its checksums right."""

    def judge(self, kind: str, data: bytes) -> None:
        """Return when the input was taken as it may be; raise LowtideError for one refused, WrongError otherwise."""


@dataclass(frozen=True)
class Limits:
    """What one input may take: processor and wall seconds, and bytes of memory."""

    seconds: float = 1.0
    wall_seconds: float = 30.0
    memory: int = 300 << 20


@dataclass(frozen=True)
class Failure:
    """An input that failed, by its number and what was seen."""

    number: int
    kind: str
    outcome: str
    what: str


@dataclass
class Report:
    """What became of the inputs: how many of each outcome by kind, where they were refused, and what failed."""

    seconds: float
    counts: dict[str, dict[str, int]]
    places: set[str] = field(default_factory=set)
    failures: list[Failure] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Inputs that were judged."""
        return sum(sum(each.values()) for each in self.counts.values())

    @property
    def failed(self) -> int:
        """Inputs that failed."""
        return sum(each[outcome] for each in self.counts.values() for outcome in _FAILURES)

    def table(self) -> str:
        """Return a line a kind, with the columns of all outcomes."""
        lines = [f"{'':12}" + "".join(f"{outcome:>11}" for outcome in OUTCOMES)]
        lines += [f"{kind:12}" + "".join(f"{n:11d}" for n in found.values()) for kind, found in self.counts.items()]
        rate = self.total / max(self.seconds, 1e-9)
        end = f"{self.total} inputs in {self.seconds:.0f} s ({rate:.0f} a second), {self.failed} failed"
        return "\n".join([*lines, f"{end}; refused at {len(self.places)} places"])


def made(target: Target, seed: int, number: int) -> tuple[str, bytes]:
    """Return the kind and the bytes of an input."""
    draw = Random((seed << 40) + number)
    (kind,) = draw.choices([*target.kinds], [*target.kinds.values()])
    return kind, target.make(kind, draw)


def attempt(target: Target, kind: str, data: bytes) -> tuple[str, str]:
    """Return the outcome of an input that ends, and what was seen: of a refusal, where it was decided."""
    try:
        target.judge(kind, data)
    except LowtideError as error:
        first: BaseException = error
        while first.__cause__ is not None or first.__context__ is not None:
            first = first.__cause__ or first.__context__  # type: ignore[assignment]
        hungry = isinstance(first, MemoryError) and not isinstance(first, LowtideError)
        return ("memory", str(error)) if hungry else ("refused", _place(first))
    except WrongError as error:
        return "wrong", str(error)
    except MemoryError as error:
        return "memory", f"{_place(error)}: {error}"
    except Exception as error:
        return "exception", f"{type(error).__name__} at {_place(error)}: {str(error)[:300]}"
    return "taken", ""


def _place(error: BaseException) -> str:
    """Return the line that raised."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return "" if step is None else f"{Path(step.tb_frame.f_code.co_filename).name}:{step.tb_lineno}"


class _Worker:
    """A process that judges every `jobs`-th input, and says in shared memory which one it is at and what it found."""

    def __init__(self, jobs: int, number: int, n_kinds: int) -> None:
        size = 8 * (1 + n_kinds * len(OUTCOMES))
        self._shared = np.frombuffer(mmap.mmap(-1, size), dtype=np.int64)
        self.counts = self._shared[1:].reshape(n_kinds, len(OUTCOMES))
        self.jobs, self.process = jobs, 0
        self.at = number

    @property
    def at(self) -> int:
        """The number of the input that is judged now."""
        return int(self._shared[0])

    @at.setter
    def at(self, number: int) -> None:
        self._shared[0] = number

    def start(self, body: Callable[[], None]) -> None:
        self.process = os.fork()
        if self.process == 0:
            try:
                body()
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        self._seen, self._since, self._spent = -1, 0.0, 0.0

    def ended(self) -> int | None:
        """Return the status of a process that has ended, None while it runs."""
        done, status = os.waitpid(self.process, os.WNOHANG)
        return status if done else None

    def late(self, limits: Limits) -> bool:
        """Whether one input has taken longer than it may."""
        now, number = time.monotonic(), self.at
        fields = Path(f"/proc/{self.process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
        spent = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        if number != self._seen:
            self._seen, self._since, self._spent = number, now, spent
        return spent - self._spent > limits.seconds or now - self._since > limits.wall_seconds


class _Run:
    """A run of one target: workers, the file in which they note failures, and what came of them."""

    def __init__(
        self, target: Target, inputs: int, seed: int, jobs: int, limits: Limits, folder: Path, seconds: float | None
    ) -> None:
        self._target, self._inputs, self._seed, self._limits = target, inputs, seed, limits
        self._folder, self._notes = folder, folder / "notes"
        self._notes.touch()
        self._kinds = [*target.kinds]
        self._end = None if seconds is None else time.monotonic() + seconds
        self._workers = [_Worker(jobs, number, len(self._kinds)) for number in range(min(jobs, inputs))]

    def report(self) -> Report:
        """Run all inputs."""
        begin, running = time.monotonic(), list(self._workers)
        try:
            for worker in running:
                worker.start(lambda worker=worker: self._work(worker))
            while running:
                time.sleep(_POLL_SECONDS)
                running = [worker for worker in running if self._goes_on(worker)]
        except KeyboardInterrupt:  # what was judged so far counts
            pass
        finally:
            for worker in running:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker.process, signal.SIGKILL)
                    os.waitpid(worker.process, 0)
        summed = sum(worker.counts for worker in self._workers)
        counts = {kind: dict(zip(OUTCOMES, row.tolist())) for kind, row in zip(self._kinds, summed)}
        found = Report(time.monotonic() - begin, counts)
        for line in self._notes.read_text(encoding="utf-8").splitlines():
            note = json.loads(line)
            if isinstance(note, str):
                found.places.add(note)
            else:
                found.failures.append(Failure(*note))
        return found

    def _goes_on(self, worker: _Worker) -> bool:
        """Look after a worker; one that died or hangs is noted, and another goes on after its input."""
        status = worker.ended()
        if status == 0:
            return False
        if status is None:
            if not worker.late(self._limits):
                return True
            os.kill(worker.process, signal.SIGKILL)
            os.waitpid(worker.process, 0)
            self._failed(worker, "hang", f"over {self._limits.seconds:g} s of processor time, or waiting")
        else:
            dead = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            what = signal.Signals(dead).name if dead else f"exit {os.waitstatus_to_exitcode(status)}"
            self._failed(worker, "crash", what)
        worker.at += worker.jobs
        worker.start(lambda: self._work(worker))
        return True

    def _failed(self, worker: _Worker, outcome: str, what: str) -> None:
        kind, _ = made(self._target, self._seed, worker.at)
        worker.counts[self._kinds.index(kind), OUTCOMES.index(outcome)] += 1
        self._note([worker.at, kind, outcome, what])

    def _note(self, content: Any) -> None:
        with self._notes.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(content) + "\n")

    def _work(self, worker: _Worker) -> None:
        """Judge inputs one after the other, in a process of its own."""
        warnings.simplefilter("ignore")
        logging.disable()
        own = self._folder / str(os.getpid())
        own.mkdir()
        self._target.open(own)
        gc.freeze()  # what is there stays: looking through all of it would count as time of an input
        limit_memory(self._limits.memory)
        places: set[str] = set()
        for number in range(worker.at, self._inputs, worker.jobs):
            if self._end is not None and time.monotonic() > self._end:
                return
            worker.at = number
            kind, data = made(self._target, self._seed, number)
            outcome, what = attempt(self._target, kind, data)
            worker.counts[self._kinds.index(kind), OUTCOMES.index(outcome)] += 1
            if outcome == "refused":
                if what not in places:
                    places.add(what)
                    self._note(what)
            elif outcome in _FAILURES:
                self._note([number, kind, outcome, what])


def limit_memory(more: int) -> None:
    """Let this process map only so many bytes more than now: who asks for more gets a MemoryError, which is noted."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * mmap.PAGESIZE + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def run(
    target: Target,
    inputs: int,
    *,
    seed: int = 0,
    jobs: int = 2,
    limits: Limits | None = None,
    keep: Path | None = None,
    seconds: float | None = None,
) -> Report:
    """Judge so many inputs of a target, or as many as there is time for.

    Parameters
    ----------
    target : Target
    inputs : int
    seed : int
    jobs : int
        Processes.
    limits : Limits, optional
        Of one input.
    keep : Path, optional
        A folder for inputs that failed, a few of each sort.
    seconds : float, optional
        When to stop, however many are left.
    """
    place = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="lowtide-fuzz-", dir=place) as folder:
        report = _Run(target, inputs, seed, jobs, limits or Limits(), Path(folder), seconds).report()
    if keep is not None:
        _keep(target, seed, report.failures, keep)
    return report


def _keep(target: Target, seed: int, failures: list[Failure], folder: Path) -> None:
    alike: dict[tuple[str, str, str], int] = {}
    for failure in failures:
        sort = failure.kind, failure.outcome, failure.what[:60]
        alike[sort] = alike.get(sort, 0) + 1
        if alike[sort] <= _KEPT_ALIKE:
            kind, data = made(target, seed, failure.number)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{kind}-{hashlib.sha256(data).hexdigest()[:12]}").write_bytes(data)


class _Kept:
    """A target with one input, that of a file whose name says of which kind it is."""

    def __init__(self, target: Target, file: Path) -> None:
        self._data, self.kinds = file.read_bytes(), {file.name.partition("-")[0]: 1}
        self.open, self.judge = target.open, target.judge

    def make(self, kind: str, draw: Random) -> bytes:
        """Return the input."""
        return self._data


def replay(target: Target, file: Path) -> Report:
    """Judge an input that was kept, under the limits of all others."""
    return run(_Kept(target, file), 1, jobs=1)
