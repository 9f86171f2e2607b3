"""The symmetric part of a kernel, what is left when direction is averaged away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import fail
from lowtide.kernels.complex.shift_gaussian import ShiftGaussian
from lowtide.kernels.measure import MeasureBlock, MeasureKernel
from lowtide.spec import registry_of

__all__ = ["SymmetricPart"]

Floats = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class SymmetricPart(MeasureKernel):
    """Kernel (k(x, y) + k(y, x)) / 2 of another kernel: its real measure alone, indefinite in general.

    What an asymmetric kernel is compared with: the same blocks without the imaginary one.

    Parameters
    ----------
    kernel : MeasureKernel, default=None
        One in closed form. None stands for `ShiftGaussian()`.

    Examples
    --------
    >>> part = SymmetricPart(ShiftGaussian(shift=1.0))
    >>> part.at([[0.5], [-0.5]]).round(4)
    array([0.6036, 0.6036])
    >>> [block.turn for block in part.measures(1)]
    [0.0, 0.5]
    """

    kernel: Any = None

    def check(self) -> None:
        """Refuse what is not a kernel."""
        self._whole()

    def _whole(self) -> MeasureKernel:
        """Return the kernel; a configuration, as a file has it, becomes one."""
        given = ShiftGaussian() if self.kernel is None else self.kernel
        # A file cannot nest one symmetric part in another without end: it is the same kernel.
        nested = isinstance(given, dict) and given.get("type") == "SymmetricPart"
        whole = registry_of(MeasureKernel).from_config(given) if isinstance(given, dict) and not nested else given
        if not isinstance(whole, MeasureKernel) or not whole.closed_form:
            raise fail("SymmetricPart", "kernel must be a MeasureKernel in closed form", self.kernel)
        return whole

    def to_config(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary with that of the kernel within."""
        return {"type": "SymmetricPart", "kernel": self._whole().to_config()}

    def at(self, difference: ArrayLike) -> Floats:
        """Return (kappa(difference) + kappa(-difference)) / 2, differences along the last axis."""
        delta = np.asarray(difference, dtype=np.float64)
        return np.asarray((self._whole().at(delta) + self._whole().at(-delta)) / 2)

    def gram(self, X: Any, Y: Any = None) -> Floats:
        """Return the exact kernel matrix of rows of X against rows of Y (X itself when None), (n, n_y)."""
        K = self._whole().gram(X, Y)
        back = K.T if Y is None else self._whole().gram(Y, X).T
        return np.asarray((K + back) / 2)

    def measures(self, n_features: int) -> tuple[MeasureBlock, ...]:
        """Return the blocks of the real measure."""
        return tuple(block for block in self._whole().measures(n_features) if not block.is_skew)

    def phase_measure(self, n_features: int) -> None:
        """Return None: its blocks have laws of their own."""
        return None
