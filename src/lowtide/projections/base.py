"""The contract of a projection, and of what it becomes once drawn."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.errors import ParameterError, UnsuitableLayoutError
from lowtide.kernels import Frequencies
from lowtide.spec import Spec, registry_of

# Columns of a panel, as the ops take W.
_PANEL = 16
# Beyond this place no frequency is drawn to be kept: all before it are drawn too.
MOST_FREQUENCIES = 1 << 24


@dataclass(frozen=True)
class Blocks:
    """How frequencies depend on each other: orthogonal within blocks of `dimension`, independent between them.

    `lengths` says how long they are: "free" (drawn from the kernel), "fixed" (all equal), or "iid" for no dependence.
    """

    lengths: Literal["free", "fixed", "iid"]
    dimension: int
    sizes: tuple[int, ...]

    def keep(self, places: NDArray[np.int64]) -> Blocks:
        """Return the blocks of some of the frequencies, those without one left out."""
        of_block = np.repeat(np.arange(len(self.sizes)), self.sizes)[places]
        return replace(self, sizes=tuple(np.unique(of_block, return_counts=True)[1].tolist()))


class Projection(Spec):
    """Say how frequencies are laid out; `laws` are the frequency laws that the layout works with.

    A layout says in `lay_out` how frequencies are drawn, in `from_arrays` how they come back from a file, and in
    `blocks_of` how they depend on each other; callers use `draw` and `restore`, which look at the law first. A layout
    that keeps W as it is returns a `DenseProjection`.

    Frequency j should not depend on how many are drawn after it: then those that an encoder keeps of many are the same
    whatever their number.
    """

    laws: ClassVar[frozenset[str]]

    def draw(
        self, kernel: Frequencies, n_features: int, n_frequencies: int, rng: np.random.Generator
    ) -> DrawnProjection:
        """Return frozen frequencies; refuse a kernel whose law does not fit the layout."""
        self._check_law(kernel)
        return self.lay_out(kernel, n_features, n_frequencies, rng)

    def restore(
        self,
        kernel: Frequencies,
        n_features: int,
        n_frequencies: int,
        arrays: dict[str, NDArray[Any]],
        metric: NDArray[np.float32] | None = None,
    ) -> DrawnProjection:
        """Return the frequencies whose `arrays()` were kept; refuse arrays of other shapes before using them.

        `metric` is what `DrawnProjection.scaled_by` was given, if it was.
        """
        self._check_law(kernel)
        if metric is None:
            return self.from_arrays(n_features, n_frequencies, arrays)
        return self.from_scaled(n_frequencies, arrays, metric)

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

    def from_scaled(
        self, n_frequencies: int, arrays: dict[str, NDArray[Any]], metric: NDArray[np.float32]
    ) -> DrawnProjection:
        """Return the frequencies of arrays that were kept after `scaled_by`: the matrix that has the metric in it."""
        owner = type(self).__name__
        matrix = kept_array(owner, arrays, "matrix", (len(metric), n_frequencies))
        places = kept_places(owner, arrays, n_frequencies)
        return DenseProjection(matrix, self.blocks_of(metric.shape[-1], n_frequencies, places), places)

    def blocks_of(self, n_features: int, n_frequencies: int, places: NDArray[np.int64] | None = None) -> Blocks:
        """Return how so many frequencies depend on each other, at these places if not the first: by default, not."""
        return Blocks("iid", n_features, (1,) * n_frequencies)


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
    def places(self) -> NDArray[np.int64] | None:
        """Places of the frequencies among all that were drawn, (n_frequencies,); None where they are the first."""

    @property
    def layout(self) -> NDArray[np.float32]:
        """What projects rows: signs and rotations (n_blocks, 3, dimension), or W in panels (n_panels, d, 16)."""

    @property
    def op_layout(self) -> Any:
        """The layout as the ops take it: alone, or with factors of the columns and places of the outputs."""

    @property
    def blocks(self) -> Blocks:
        """How the frequencies depend on each other."""

    @property
    def row_cost(self) -> int:
        """Additions and multiplications that one row takes to be projected."""

    @property
    def rounding(self) -> float:
        """Relative error of a projected value in float32, root mean square."""

    def keep(self, places: NDArray[np.int64]) -> DrawnProjection:
        """Return only these of the frequencies, counted from 0, rising."""

    def scaled_by(self, metric: NDArray[np.float32]) -> DrawnProjection:
        """Return the projection of rows that are multiplied by s (d,), or by a matrix A (d, n_features), first."""

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


@dataclass(frozen=True)
class DenseProjection:
    """W as float32, in turns: 4 n_features n_frequencies bytes, and as much again in panels once rows are projected.

    `places` are those of the frequencies among all that were drawn, where only some were kept.
    """

    matrix: NDArray[np.float32]
    blocks: Blocks
    places: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls, frequencies: NDArray[np.float64], blocks: Blocks, places: NDArray[np.int64] | None = None
    ) -> DenseProjection:
        """Return the projection of angular frequencies in columns."""
        return cls(np.ascontiguousarray(frequencies / (2 * math.pi), dtype=np.float32), blocks, places)

    @classmethod
    def kept(cls, owner: str, arrays: dict[str, NDArray[Any]], n_features: int, n_frequencies: int) -> DenseProjection:
        """Return independent frequencies whose `arrays()` were kept; refuse a matrix of another shape."""
        matrix = kept_array(owner, arrays, "matrix", (n_features, n_frequencies))
        return cls(matrix, Blocks("iid", n_features, (1,) * n_frequencies), kept_places(owner, arrays, n_frequencies))

    @property
    def n_features(self) -> int:
        """Input columns."""
        return int(self.matrix.shape[0])

    @property
    def n_frequencies(self) -> int:
        """Columns of W."""
        return int(self.matrix.shape[1])

    @property
    def scale(self) -> NDArray[np.float32]:
        """Ones: the matrix is in turns already."""
        return np.ones(self.n_frequencies, dtype=np.float32)

    @property
    def row_cost(self) -> int:
        """A multiplication and an addition per entry of W."""
        return 2 * self.matrix.size

    @cached_property
    def layout(self) -> NDArray[np.float32]:
        """W in panels of 16 columns, (n_panels, n_features, 16), the last filled up with zeros; made once."""
        d, p = self.matrix.shape
        n_panels = -(-p // _PANEL)
        filled = np.zeros((d, n_panels * _PANEL), dtype=np.float32)
        filled[:, :p] = self.matrix
        return np.ascontiguousarray(filled.reshape(d, n_panels, _PANEL).transpose(1, 0, 2))

    @property
    def op_layout(self) -> NDArray[np.float32]:
        """The panels."""
        return self.layout

    @property
    def rounding(self) -> float:
        """Relative error of sums of d products: measured, it grows with the square root of d."""
        return (1.0 + 0.3 * math.sqrt(self.n_features)) * 2.0**-24

    def check_range(self, X: NDArray[np.float32]) -> None:
        """Refuse rows with a projection that leaves float32."""
        with np.errstate(over="ignore", invalid="ignore"):
            # No value is larger than the norm of all, and nearly always that is too small to overflow. What is not
            # finite compares as false.
            if 2.0 * math.sqrt(np.vdot(X, X)) < self._largest_safe or not np.isfinite(X).all():
                return
            overflows = not np.isfinite(X @ self.matrix).all()
        if overflows:
            raise ParameterError(
                f"Rows must stay within float32 when projected, got values up to {np.abs(X).max():.3g}. "
                "Scale the columns first."
            )

    @cached_property
    def _largest_safe(self) -> float:
        """Size of values whose sum over any column of W stays within float32."""
        column = float(np.abs(self.matrix).sum(axis=0, dtype=np.float64).max())
        return float(np.finfo(np.float32).max) / max(column, 1.0)

    def keep(self, places: NDArray[np.int64]) -> DenseProjection:
        """Return these columns of W."""
        of_all = places if self.places is None else self.places[places]
        return DenseProjection(np.ascontiguousarray(self.matrix[:, places]), self.blocks.keep(places), of_all)

    def scaled_by(self, metric: NDArray[np.float32]) -> DenseProjection:
        """Return diag(s) W, or A W."""
        wide = metric.astype(np.float64)
        matrix = wide[:, None] * self.matrix if metric.ndim == 1 else wide @ self.matrix.astype(np.float64)
        return DenseProjection(matrix.astype(np.float32), self.blocks, self.places)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the matrix, and places where there are any."""
        return {"matrix": self.matrix} | ({} if self.places is None else {"places": self.places})

    def weights(self) -> NDArray[np.float32]:
        """Return the angular frequencies."""
        return self.matrix * np.float32(2 * math.pi)

    def pull_back(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return values W', a plain product."""
        check_values("DenseProjection", values, self.n_frequencies)
        return np.asarray(values @ self.matrix.T) * np.float32(2 * math.pi)


def block_sizes(dimension: int, n_frequencies: int, places: NDArray[np.int64] | None = None) -> tuple[int, ...]:
    """Return how many frequencies each block gives: whole blocks, and the last perhaps used in part.

    With places, how many of them are in each block that has one.

    Examples
    --------
    >>> block_sizes(5, 12)
    (5, 5, 2)
    """
    if places is not None:
        return tuple(np.unique(places // dimension, return_counts=True)[1].tolist())
    return tuple(min(dimension, n_frequencies - start) for start in range(0, n_frequencies, dimension))


def kept_array(owner: str, arrays: dict[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return a kept array as float32 of its own; the shape is compared before anything of that size is made."""
    array = arrays[name]
    if array.dtype != np.float32 or array.shape != shape or not np.isfinite(array).all():
        raise fail(owner, f"{name} must be finite float32 of shape {shape}", f"{array.dtype} {array.shape}")
    return np.array(array, order="C")


def kept_bytes(owner: str, arrays: dict[str, NDArray[Any]], name: str, n_bytes: int) -> NDArray[np.uint8]:
    """Return a kept array of bytes; its size is compared before anything is made of it."""
    array = arrays[name]
    if array.dtype != np.uint8 or array.shape != (n_bytes,):
        raise fail(owner, f"{name} must be {n_bytes} bytes", f"{array.dtype} {array.shape}")
    return np.array(array)


def check_values(owner: str, values: NDArray[Any], n_frequencies: int) -> None:
    """Refuse what is no float32 matrix with a column a frequency."""
    if values.dtype != np.float32 or values.ndim != 2 or values.shape[1] != n_frequencies:
        need = f"values must be float32 of shape (n, {n_frequencies})"
        raise fail(owner, need, f"{values.dtype} {values.shape}")


def kept_places(owner: str, arrays: dict[str, NDArray[Any]], n_frequencies: int) -> NDArray[np.int64] | None:
    """Return the kept places of frequencies, which rise, or None where there are none."""
    array = arrays.get("places")
    if array is None:
        return None
    if array.dtype != np.int64 or array.shape != (n_frequencies,):
        raise fail(owner, f"places must be {n_frequencies} int64", f"{array.dtype} {array.shape}")
    if array[0] < 0 or array[-1] >= MOST_FREQUENCIES or np.any(array[1:] <= array[:-1]):
        raise fail(owner, f"places must rise, from 0 to below {MOST_FREQUENCIES}", "others")
    return np.array(array)


_LAWS = {
    "gaussian_mixture": "frequencies that are normal vectors times a scalar",
    "sphere": "frequencies on a sphere of the input's dimension",
    "independent": "frequency coordinates drawn one by one",
    "joint": "frequencies of a law that only independent draws can carry",
}
