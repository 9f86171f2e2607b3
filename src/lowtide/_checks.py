"""Checks of arguments and of memory. Each raises the one message form: owner, what must hold, what came, what to do."""

from __future__ import annotations

import math
import sys
from numbers import Integral, Real
from pathlib import Path, PurePosixPath
from typing import Any

from lowtide.errors import MemoryNeedError, MissingExtraError, ParameterError

# What any process has: below it nobody is asked.
_LITTLE_MEMORY = 1 << 28
# A limit this large is how older systems say that there is none.
_NO_LIMIT = 1 << 60
# Devices of DLPack whose memory the processor reads: its own, and that which is pinned for CUDA or ROCm.
_HOST_DEVICES = (1, 3, 11)


def fail(owner: str, must: str, got: Any, remedy: str = "") -> ParameterError:
    """Build the error `owner: must hold, got value. remedy`."""
    return ParameterError(f"{owner}: {must}, got {got!r}." + (f" {remedy}" if remedy else ""))


def missing_extra(need: str, extra: str, otherwise: str = "") -> MissingExtraError:
    """Build the error of a part that is not installed: what it is needed for, and the commands that install it."""
    commands = f"pip install 'lowtide[{extra}]', or pip install '.[{extra}]' in a clone"
    return MissingExtraError(f"{need}: {commands}{otherwise}.")


def check_integer(owner: str, name: str, value: Any, low: int, high: int | None = None, remedy: str = "") -> int:
    """Return value as int when it is an integer in [low, high]; bool is not an integer here."""
    valid = isinstance(value, Integral) and not isinstance(value, bool)
    if not valid or value < low or (high is not None and value > high):
        limits = f"from {low} to {high}" if high is not None else f"of at least {low}"
        raise fail(owner, f"{name} must be an integer {limits}", value, remedy)
    return int(value)


def check_positive(owner: str, name: str, value: Any, remedy: str = "") -> float:
    """Return value as float when it is a finite number above zero."""
    valid = isinstance(value, Real) and not isinstance(value, bool)
    if not valid or not math.isfinite(value) or value <= 0:
        raise fail(owner, f"{name} must be a finite number above 0", value, remedy)
    return float(value)


def check_interval(owner: str, name: str, value: Any, low: float, high: float, remedy: str = "") -> float:
    """Return value as float when low <= value <= high."""
    valid = isinstance(value, Real) and not isinstance(value, bool)
    if not valid or not low <= float(value) <= high:
        raise fail(owner, f"{name} must be a number from {low} to {high}", value, remedy)
    return float(value)


def check_option(owner: str, name: str, value: Any, options: tuple[str, ...]) -> str:
    """Return value when it is one of the options."""
    if not isinstance(value, str) or value not in options:
        listed = ", ".join(repr(option) for option in options)
        raise fail(owner, f"{name} must be one of {listed}", value)
    return value


def available_memory() -> int | None:
    """Return the bytes that this process can still take without being killed; None where the system does not say.

    The least of what the machine has left and what each group of processes around this one may still use: containers
    and batch systems set their limits there.
    """
    found = []
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            found.append(1024 * int(line.split()[1]))
    for line in _lines("/proc/self/cgroup"):
        _, controllers, path = line.strip().split(":", 2)
        if controllers == "":
            found += _left_in_groups("/sys/fs/cgroup", path, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
            found += _left_in_groups("/sys/fs/cgroup/memory", path, *names)
    return min(found, default=None)


def check_memory(owner: str, need: float, what: str, remedy: str) -> None:
    """Refuse work that needs more bytes than there are, before any of them is taken."""
    if need < _LITTLE_MEMORY:
        return
    available = available_memory()
    if available is not None and need > available:
        raise MemoryNeedError(f"{owner}: {what} take {_size(need)}, and {_size(available)} are left. {remedy}")


def _left_in_groups(root: str, path: str, limit: str, usage: str, cache: str) -> list[int]:
    """Return what a group of processes and those around it may still use; file pages that can go are not counted."""
    left, folder = [], PurePosixPath(path)
    for group in (folder, *folder.parents):
        # Inside a container the path may be one of the host's, and its own group is at the root.
        base = root + ("" if group == group.parent else str(group))
        most, used = (next(iter(_lines(f"{base}/{name}")), "max").strip() for name in (limit, usage))
        if most.isdigit() and used.isdigit() and int(most) < _NO_LIMIT:
            spare = [int(line.split()[1]) for line in _lines(f"{base}/memory.stat") if line.startswith(f"{cache} ")]
            left.append(max(0, int(most) - int(used) + sum(spare)))
    return left


def _lines(path: str) -> list[str]:
    """Return the lines of a file of the system, none where there is no such file."""
    try:
        return Path(path).read_text().splitlines()
    except (OSError, ValueError):
        return []


def _size(n_bytes: float) -> str:
    """Return bytes in words."""
    unit = next((unit for unit in (40, 30, 20) if n_bytes >= 2**unit), 20)
    return f"{n_bytes / 2**unit:.3g} {({40: 'TiB', 30: 'GiB', 20: 'MiB'})[unit]}"


def is_sparse(X: Any) -> bool:
    """Return whether X is a sparse matrix or array of scipy: there is none where nobody has imported scipy.sparse."""
    known = getattr(sys.modules.get("scipy.sparse"), "issparse", None)
    return known is not None and bool(known(X))


def host_array(owner: str, X: Any) -> Any:
    """Return X as numpy shares it when it is a tensor of another library; anything else as it came.

    A tensor is what has a DLPack device: those of torch, JAX, CuPy and every library of the array API standard.
    """
    import numpy as np  # not above: the command line begins without it

    if isinstance(X, np.ndarray) or not hasattr(X, "__dlpack_device__"):
        return X
    try:
        device = int(X.__dlpack_device__()[0])
        if device in _HOST_DEVICES:
            return np.asarray(X) if hasattr(X, "__array__") else np.from_dlpack(X)
        reason = f"on {getattr(X, 'device', f'device {device} of DLPack')}"
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        reason = f"which numpy cannot read: {error}"
    raise fail(
        owner,
        "a tensor must be in the processor's own memory, of a type that numpy has and without gradient",
        f"a {type(X).__name__} {reason}",
        "With torch: X.detach().cpu().float().",
    )
