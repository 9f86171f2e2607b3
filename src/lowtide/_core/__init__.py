"""The compiled ops; only this package knows the extension's name. What they take and raise: the stub beside."""

from lowtide._core import threads as threads
from lowtide._core._lowtide_core import *  # noqa: F403 (the stub lists every op, once)
