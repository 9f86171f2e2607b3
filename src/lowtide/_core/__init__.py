"""The compiled ops; only this package knows the extension's name. What they take and raise: the stub beside."""

import os as _os
import warnings as _warnings

from lowtide._core import _lowtide_core
from lowtide._core import threads as threads
from lowtide._core._lowtide_core import *  # noqa: F403 (the stub lists every op, once)

if _lowtide_core.isa_complaint():  # said once, by the first use of any op
    _warnings.warn(
        f"{_lowtide_core.isa_complaint()}, got {_os.environ.get('LOWTIDE_ISA', '')!r}. Running at "
        f"{_lowtide_core.isa()}; leave the variable out for the best level.",
        RuntimeWarning,
        stacklevel=2,
    )
