"""The compiled ops. Only this package knows the extension's name."""

from lowtide._core._lowtide_core import *  # noqa: F403
