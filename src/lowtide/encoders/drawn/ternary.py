"""Drawn ternary features: signs of columns, and thresholds on their sums."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer, check_interval, check_option, check_positive, fail
from lowtide.codes import Codes
from lowtide.encoders.blocks import PLAUSIBLE
from lowtide.encoders.drawn.base import Arrays, DrawnEncoder, fingerprint, kept_gamma, kept_sizes
from lowtide.encoders.estimation import Pair, Side, Two, product
from lowtide.encoders.rows import dense_rows
from lowtide.encoders.trits import Thresholds, Trits, trit_rows
from lowtide.projections import SparseTernary, SparseTernaryProjection
from lowtide.theory import (
    TARGETS,
    Activation,
    TernaryMap,
    TernaryMatch,
    match_moments,
    ternary_kernel,
)

Floats = NDArray[np.float64]

# Different values of a row up to which they count as multiples of one step.
_FEW_VALUES = 32


@dataclass(frozen=True, eq=False)
class DrawnTernary(DrawnEncoder):
    """Drawn signs of columns, and thresholds on their sums."""

    kind: ClassVar[str] = "TernaryFeatures"
    target: Activation
    gamma: float | None  # of target "rbf"
    match: TernaryMatch  # the map that was solved for
    tau: float  # mean squared length of centered, scaled training rows
    mean: Floats
    sparsity: float
    seed: int  # what W follows from, in raw words
    projection: SparseTernaryProjection
    thresholds: Thresholds
    n_features: int

    def transform(self, rows: Any) -> NDArray[np.float32]:
        """Return the decoded trits, float32 (n, n_components): both sides have the same values."""
        return np.asarray(self.encode(rows))

    def encode(self, rows: Any) -> Codes:
        """Return Codes of the trits."""
        return self.template.with_rows(trit_rows(rows, self.projection, self.thresholds, self.trits))

    @property
    def n_outputs(self) -> int:
        """Columns of either side."""
        return self.projection.n_outputs

    @property
    def trits(self) -> Trits:
        """The trit of a sum below, between and above its thresholds."""
        return Trits.of(self.match.map)

    @property
    def scale(self) -> float:
        """Factor of centered rows."""
        return scale_of(self.gamma)

    @cached_property
    def template(self) -> Codes:
        """Codes of zero rows, with codebook and identity."""
        value = self.match.map.alpha / math.sqrt(self.n_outputs)
        return self.new_template(2, self.n_outputs, [0.0, value, -value, 0.0])

    @property
    def row_cost(self) -> int:
        """Additions of the sums, and a comparison or two for each."""
        return self.projection.row_cost + 2 * self.n_outputs

    @cached_property
    def fingerprint(self) -> bytes:
        """Identity of W."""
        spec = {"encoder": self.kind, "n_components": self.n_outputs, "n_features": self.n_features}
        return fingerprint(spec, self.projection.arrays())

    @cached_property
    def side(self) -> bytes:
        """Identity of the thresholds, not of the values."""
        spec = {"even": self.trits.below == self.trits.above} | ({"inside": True} if self.trits.between else {})
        return fingerprint(spec, {"upper": self.thresholds.upper, "lower": self.thresholds.lower})

    @property
    def random_weights(self) -> NDArray[np.float32]:
        """Frequencies in columns, built on request."""
        return self.projection.weights()

    def pair(self, sides: tuple[Side, Side]) -> Pair:
        """Return mean and variance of the product of two rows: alpha^2 E[sigma(w.z) sigma(w.z')] for normal w.

        Normal centers of windows are one more column of all rows, their spread. Sums of many terms are close to normal,
        whatever the sparsity. Of codes, and of rows whose sums have few terms, the variance is what the components
        show, which are independent draws.
        """

        def moments(left: Floats, right: Floats) -> tuple[Floats, Floats]:
            column = self.match.spread**2
            squares = [np.einsum("ij,ij->i", rows, rows) + column for rows in (left, right)]
            return ternary_kernel(self.match.map, squares[0], squares[1], left @ right.T + column)

        def mean(X: Any, Y: Any) -> Floats:
            few = self._few_terms(X, Y)
            if few:
                remedy = "The mean of such sums is not known; kernel_estimate and its errors hold. Lower the sparsity."
                raise fail(self.kind, "expected values need sums of many terms", few, remedy)
            return moments(self._centered(X), self._centered(Y))[0]

        def variance(X: Any, Y: Any) -> Floats | None:
            if self._few_terms(X, Y):
                return None
            first, second = moments(self._centered(X), self._centered(Y))
            return np.maximum(second - first**2, 0.0) / self.n_outputs

        def at_typical_length() -> float:
            length = np.array([[math.sqrt(self.tau)]])
            return float(moments(length, length)[0][0, 0])

        return Pair(mean, variance, self._spread, at_typical_length)

    def _centered(self, rows: Any) -> Floats:
        return (dense_rows(rows) - self.mean) * self.scale

    def _spread(self, _given: Two, made: Two, K: NDArray[Any]) -> Floats:
        """Return the variance of a sum of products that are 0 or +-v, from how many are which.

        A few components more may differ than are seen to: as many as in `plausible_variance`.
        """
        size, value = float(np.abs(self.template.codebook).max()), self.match.map.alpha**2 / self.n_outputs
        book = np.array([0.0, size, size, 0.0], dtype=np.float32)
        sizes = (side.with_codebook(book) if isinstance(side, Codes) else np.abs(side) for side in made)
        square = value * product(*sizes).astype(np.float64)
        spread = np.maximum(square - K.astype(np.float64) ** 2 / self.n_outputs, 0.0)
        return np.asarray(spread + (PLAUSIBLE * value) ** 2)

    def _few_terms(self, X: Any, Y: Any) -> str:
        """Return which rows, or differences of rows, have sums too far from normal ones; empty for none.

        A sum of n terms of one size is off the normal law by about 0.025/n, and one that takes values h of its standard
        deviations apart by up to h/5; a quarter of a standard error is allowed.
        """
        allowed = 0.125 / math.sqrt(self.n_outputs)
        fewest, density = max(3.0, 0.025 / allowed), self.projection.density
        left, right, unit = self._centered(X), self._centered(Y), self.scale / math.sqrt(density)
        for raw, rows in ((X, left), (Y, right)):
            least, terms = _fewest_terms(rows, density)
            if terms < fewest:
                return f"row {least} with about {terms:.2g}, fewer than {fewest:.3g}"
            coarsest, step = _coarsest(dense_rows(raw) * unit, rows)
            if step / 5.0 > allowed:
                return f"row {coarsest} whose sums take few values, {step:.2g} standard deviations apart"
        for i, row in enumerate(left):
            apart = row - right
            least, terms = _fewest_terms(apart, density)
            if terms < 3.0:
                return f"rows {i} and {least} whose difference has about {terms:.2g}, fewer than 3"
            # Sums of a difference that is small beside the row itself decide too little for their values to matter.
            far = np.flatnonzero(np.sum(apart**2, axis=1) > 0.25 * float(row @ row))
            coarsest, step = _coarsest(apart[far] * (unit / self.scale), apart[far])
            if step / 5.0 > allowed:
                other = far[coarsest]
                return f"rows {i} and {other}: sums of their difference are {step:.2g} standard deviations apart"
        return ""

    def describe(self) -> tuple[dict[str, Any], Arrays]:
        """Return what a file keeps: the seed of W, the mean, the map and the thresholds."""
        spec = {
            "target": TARGETS.to_config(self.target),
            "gamma": self.gamma,
            "tau": self.tau,
            "case": self.match.case,
            "sparsity": self.sparsity,
            "seed": self.seed,
            "n_components": self.n_outputs,
            "n_features": self.n_features,
        }
        sigma = self.match.map
        windows = (sigma.middle,) if sigma.middle else ()
        arrays = {
            "mean": self.mean,
            "map": np.array([sigma.s_minus, sigma.s_plus, sigma.low, sigma.high, *windows]),
            "upper": self.thresholds.upper,
            "lower": self.thresholds.lower,
        }
        return spec, arrays

    @classmethod
    def restore(cls, spec: dict[str, Any], arrays: Arrays) -> Self:
        """Return the features that were described; W is made again from raw words of the seed."""
        owner, (n_features, n_components) = cls.kind, kept_sizes(cls.kind, spec)
        target, tau = TARGETS.from_config(spec["target"]), check_positive(owner, "tau", spec["tau"])
        sparsity = check_interval(owner, "sparsity", spec["sparsity"], 0.0, 0.999)
        seed = check_integer(owner, "seed", spec["seed"], 0, 2**63)
        # These bound W by the size of the file before it is drawn.
        mean = _kept(owner, arrays, "mean", n_features)
        thresholds = Thresholds(*(_kept(owner, arrays, name, n_components) for name in ("upper", "lower")))
        case = check_option(owner, "case", spec["case"], ("exact", "scaled", "even", "windows"))
        sigma = TernaryMap(*_kept(owner, arrays, "map", 5 if case == "windows" else 4).tolist())
        pairs = (mean, 0.0), (thresholds.lower, sigma.s_minus), (thresholds.upper, sigma.s_plus)
        if any(np.isfinite(kept).all() != np.isfinite(origin) for kept, origin in pairs):
            raise fail(owner, "the mean, and thresholds where those of the map are, must be finite", "others")
        if case == "windows":
            match = replace(match_moments(target, tau, method=case), map=sigma)
        else:
            match = replace(match_moments(target, tau), case=case, map=sigma, moments=sigma.moments(tau))
        return cls(
            target=target,
            gamma=kept_gamma(owner, spec),
            match=match,
            tau=tau,
            mean=mean,
            sparsity=sparsity,
            seed=seed,
            projection=SparseTernary(sparsity).draw(n_features, n_components, seed),
            thresholds=thresholds,
            n_features=n_features,
        )


def scale_of(gamma: float | None) -> float:
    """Return the factor of centered rows."""
    return 1.0 if gamma is None else math.sqrt(2.0 * gamma)


def _kept(owner: str, arrays: Arrays, name: str, size: int) -> Floats:
    """Return a kept vector; thresholds may be infinite, nothing is missing."""
    array = arrays[name]
    if array.dtype != np.float64 or array.shape != (size,) or np.isnan(array).any():
        raise fail(owner, f"{name} must be {size} float64 without NaN", f"{array.dtype} {array.shape}")
    return np.array(array)


def _fewest_terms(rows: Floats, density: float) -> tuple[int, float]:
    """Return which row's sums have the fewest terms of one size, as many as its fourth powers tell, and how many."""
    square, fourth = np.sum(rows**2, axis=1), np.sum(rows**4, axis=1)
    terms = density * np.divide(square**2, fourth, out=np.full(len(rows), np.inf), where=fourth > 0.0)
    least = int(np.argmin(terms)) if len(terms) else 0
    return least, float(terms[least]) if len(terms) else np.inf


def _coarsest(raw: Floats, centered: Floats) -> tuple[int, float]:
    """Return which row's sums take the fewest values, and how far apart these are, in their standard deviations.

    Rows of a few different values, whole numbers for example, have sums that are multiples of their least difference.
    """
    steps = np.zeros(len(raw))
    for i, (row, spread) in enumerate(zip(raw, np.linalg.norm(centered, axis=1))):
        values = np.unique(np.round(np.append(np.abs(row), 0.0), 9))
        if len(values) <= _FEW_VALUES and len(values) > 1 and spread > 0.0:
            steps[i] = np.diff(values).min() / spread
    worst = int(np.argmax(steps)) if len(steps) else 0
    return worst, float(steps[worst]) if len(steps) else 0.0
