"""The contract of a projection, and of what it becomes once drawn."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.errors import UnsuitableLayoutError
from lowtide.kernels import Frequencies
from lowtide.spec import Spec, registry_of


@dataclass(frozen=True)
class Blocks:
    """How frequencies depend on each other: orthogonal within blocks of `dimension`, independent between them.

    `lengths` says how long they are: "free" (drawn from the kernel), "fixed" (all equal), or "iid" for no dependence.
    """

    lengths: Literal["free", "fixed", "iid"]
    dimension: int
    sizes: tuple[int, ...]


class Projection(Spec):
    """HOW frequencies are laid out. `laws` are the frequency laws that the layout can carry.

    A layout says in `lay_out` how frequencies are drawn, and in `from_arrays` how they come back from a file; callers
    use `draw` and `restore`, which look at the law first. A layout that keeps W as it is returns a `DenseProjection`.
    """

    laws: ClassVar[frozenset[str]]

    def draw(
        self, kernel: Frequencies, n_features: int, n_frequencies: int, rng: np.random.Generator
    ) -> DrawnProjection:
        """Return frozen frequencies; refuse a kernel whose law does not fit the layout."""
        self._check_law(kernel)
        return self.lay_out(kernel, n_features, n_frequencies, rng)

    def restore(
        self, kernel: Frequencies, n_features: int, n_frequencies: int, arrays: dict[str, NDArray[Any]]
    ) -> DrawnProjection:
        """Return the frequencies whose `arrays()` were kept; refuse arrays of other shapes before using them."""
        self._check_law(kernel)
        return self.from_arrays(n_features, n_frequencies, arrays)

    def _check_law(self, kernel: Frequencies) -> None:
        if kernel.law not in self.laws:
            layouts = registry_of(Projection)
            needed = " or ".join(_LAWS[law] for law in sorted(self.laws))
            fitting = " or ".join(repr(name) for name in layouts if kernel.law in layouts[name].laws)
            raise UnsuitableLayoutError(
                f"{type(self).__name__} needs {needed}, got {kernel!r} with {_LAWS[kernel.law]}. "
                f"Use projection={fitting}."
            )

    @abstractmethod
    def lay_out(
        self, kernel: Frequencies, n_features: int, n_frequencies: int, rng: np.random.Generator
    ) -> DrawnProjection:
        """Return frozen frequencies of a law that fits."""

    @abstractmethod
    def from_arrays(self, n_features: int, n_frequencies: int, arrays: dict[str, NDArray[Any]]) -> DrawnProjection:
        """Return the frequencies of kept arrays, which may be anything: shapes are compared before they are used."""


class DrawnProjection(Protocol):
    """Frozen frequencies. The phase in turns of frequency j is v_j scale_j + offset_j, v the projected row."""

    @property
    def n_features(self) -> int:
        """Input columns."""

    @property
    def n_frequencies(self) -> int:
        """Phases a row."""

    @property
    def scale(self) -> NDArray[np.float32]:
        """Factor of each projected value, (n_frequencies,)."""

    @property
    def layout(self) -> NDArray[np.float32]:
        """What the ops project with: signs and rotations (n_blocks, 3, dimension), or W in panels (n_panels, d, 16)."""

    @property
    def blocks(self) -> Blocks:
        """How the frequencies depend on each other."""

    @property
    def row_cost(self) -> int:
        """Additions and multiplications that one row takes to be projected."""

    @property
    def rounding(self) -> float:
        """Relative error of a projected value in float32, root mean square."""

    def check_range(self, X: NDArray[np.float32]) -> None:
        """Refuse rows whose projection leaves float32 in a way that the ops would not see."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what was drawn, as small as it can be kept."""

    def weights(self) -> NDArray[np.float32]:
        """Return W, angular frequencies in columns, (n_features, n_frequencies), built on request."""

    def pull_back(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return values W', float32 (n, n_frequencies) to (n, n_features): the gradients of sums of phases.

        For f(x) = sum_j h_j(omega_j . x) the row of values h_j'(omega_j . x) becomes grad f(x).
        """


def block_sizes(dimension: int, n_frequencies: int) -> tuple[int, ...]:
    """Return how many frequencies each block gives: whole blocks, and the last perhaps used in part.

    Examples
    --------
    >>> block_sizes(5, 12)
    (5, 5, 2)
    """
    return tuple(min(dimension, n_frequencies - start) for start in range(0, n_frequencies, dimension))


def kept_array(owner: str, arrays: dict[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return a kept array as float32 of its own; the shape is compared before anything of that size is made."""
    array = arrays[name]
    if array.dtype != np.float32 or array.shape != shape or not np.isfinite(array).all():
        raise fail(owner, f"{name} must be finite float32 of shape {shape}", f"{array.dtype} {array.shape}")
    return np.array(array, order="C")


def check_values(owner: str, values: NDArray[Any], n_frequencies: int) -> None:
    """Refuse what is no float32 matrix with a column a frequency."""
    if values.dtype != np.float32 or values.ndim != 2 or values.shape[1] != n_frequencies:
        need = f"values must be float32 of shape (n, {n_frequencies})"
        raise fail(owner, need, f"{values.dtype} {values.shape}")


_LAWS = {
    "gaussian_mixture": "frequencies that are normal vectors times a scalar",
    "sphere": "frequencies on a sphere of the input's dimension",
    "independent": "frequency coordinates drawn one by one",
    "joint": "frequencies of a law that only independent draws can carry",
}
