"""Numpy's PCG64 as C: what was drawn from a seed is drawn again on the device and takes no flash."""

from __future__ import annotations

import numpy as np

from lowtide.device.text import filled

__all__ = ["pcg64_source"]


def pcg64_source(stream: np.random.PCG64) -> tuple[str, str]:
    """Return the functions that give the words of a stream, and the state that it is in.

    Parameters
    ----------
    stream : PCG64

    Returns
    -------
    tuple of str
        Source, and the initializer of a `State`.
    """
    state = stream.state["state"]
    (high, low), (more, less) = (divmod(int(state[key]), 1 << 64) for key in ("state", "inc"))
    return filled("pcg64.c", increment_high=hex(more), increment_low=hex(less)), f"{{{high:#x}u, {low:#x}u}}"
