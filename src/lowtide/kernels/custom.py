"""Kernels that a user puts together: signed sums, the symmetric part of another, and any complex density.

The first two are symmetric and need not be positive. Frequencies of a density are drawn by acceptance and rejection;
one of a registered class is saved with its kernel.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_integer, fail, is_sparse
from lowtide.errors import ParameterError
from lowtide.kernels.asymmetric import ShiftGaussian
from lowtide.kernels.base import Frequencies, FrequencyLaw, Kernel, MeasureBlock, MeasureKernel
from lowtide.kernels.masses import Masses, fit_masses
from lowtide.kernels.symmetric import Gaussian
from lowtide.spec import Spec, registry_of

Floats = NDArray[np.float64]
Part = Callable[[NDArray[np.complex128]], Floats]
# Of each part of a measure, its turn and what it is at values of the density.
_PARTS: dict[str, tuple[float, Part]] = {
    "positive": (0.0, lambda mu: np.maximum(mu.real, 0.0)),
    "negative": (0.5, lambda mu: np.maximum(-mu.real, 0.0)),
    "imaginary": (0.25, lambda mu: np.maximum(mu.imag, 0.0)),
}
_PILOT = 20_000
# A part below this share of the whole is left out: fitted masses are not known as well, and rejection would crawl.
_NEGLIGIBLE = 1e-3
_BATCH = 16_384
# Proposals for one frequency before a loop is given up: a bound a thousand times too large still passes.
_MOST_PROPOSALS = 20_000


@dataclass(eq=False, repr=False)
class SignedMeasureKernel(MeasureKernel):
    """Kernel sum_i weight_i kappa_i(x - y) with weights of either sign: symmetric, not positive definite in general.

    Its signed measure has one block a term, so each keeps a law that orthogonal layouts can carry.

    Parameters
    ----------
    terms : sequence of (weight, Kernel), default=None
        Weights that are not 0; None stands for the delta-Gaussian exp(-|x-y|^2/2) - exp(-|x-y|^2/200).

    Examples
    --------
    >>> kernel = SignedMeasureKernel.delta_gaussian(bandwidths=(1.0, 10.0), weights=(1.0, 0.5))
    >>> kernel.at([0.0, 0.0]).item(), [(block.mass, block.turn) for block in kernel.measures(2)]
    (0.5, [(1.0, 0.0), (0.5, 0.5)])
    """

    terms: Any = None

    @classmethod
    def delta_gaussian(cls, bandwidths: tuple[float, float], weights: tuple[float, float] = (1.0, 1.0)) -> Self:
        """Return the difference of two Gaussians, weights[0] times the first less weights[1] times the second."""
        return cls(((weights[0], Gaussian(bandwidths[0])), (-weights[1], Gaussian(bandwidths[1]))))

    def check(self) -> None:
        """Refuse terms that are not pairs of a number and a kernel."""
        self._pairs()

    def _pairs(self) -> list[tuple[float, Kernel]]:
        """Return the terms; configurations of kernels, as a file has them, become kernels."""
        if self.terms is None:
            return [(1.0, Gaussian(1.0)), (-1.0, Gaussian(10.0))]
        try:
            given = [(float(weight), kernel) for weight, kernel in self.terms]
        except (TypeError, ValueError):
            given = []
        known = registry_of(Kernel).of(Kernel)
        pairs = [(weight, known.from_config(k) if isinstance(k, dict) else k) for weight, k in given]
        if not pairs or not all(w and np.isfinite(w) and isinstance(kernel, Kernel) for w, kernel in pairs):
            need = "terms must be pairs of a finite weight that is not 0 and a Kernel"
            raise fail("SignedMeasureKernel", need, self.terms)
        return pairs

    def to_config(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary, terms as pairs of a weight and a configuration."""
        terms = [[weight, kernel.to_config()] for weight, kernel in self._pairs()]
        return {"type": "SignedMeasureKernel", "terms": terms}

    def at(self, difference: ArrayLike) -> Floats:
        """Return kappa of differences x - y along the last axis."""
        return np.asarray(sum(weight * kernel.at(difference) for weight, kernel in self._pairs()))

    def gram(self, X: Any, Y: Any = None) -> Floats:
        """Return the exact kernel matrix of rows of X against rows of Y (X itself when None), (n, n_y)."""
        return np.asarray(sum(weight * kernel.gram(X, Y) for weight, kernel in self._pairs()))

    def measures(self, n_features: int) -> tuple[MeasureBlock, ...]:
        """Return a block a term, of half a turn where the weight is negative."""
        return tuple(MeasureBlock(abs(w), kernel, turn=0.0 if w > 0 else 0.5) for w, kernel in self._pairs())


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


class Density(Spec):
    """A complex density of frequencies, and the kernel that is its Fourier transform, as a class of your own.

    Derive a dataclass from it and register that: a `ComplexMeasureKernel` of such a density is saved, by the name of
    the class and its parameters, and loaded where the class is registered.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import lowtide as lt
    >>> @lt.register
    ... @dataclass
    ... class Moved(lt.kernels.Density):
    ...     step: float = 0.7
    ...     def density(self, W):
    ...         return lt.kernels.Gaussian().density(W) * np.exp(1j * self.step * W[:, 0])
    ...     def function(self, D):
    ...         return np.exp(-0.5 * ((D[:, 0] + self.step) ** 2 + np.sum(D[:, 1:] ** 2, axis=1)))
    >>> lt.kernels.ComplexMeasureKernel(Moved(0.3)).to_config()["density"]
    {'type': 'Moved', 'step': 0.3}
    >>> lt.kernels.DENSITIES.remove(Moved)
    """

    @abstractmethod
    def density(self, W: Floats) -> ArrayLike:
        """Return mu of frequencies (n, n_features), n complex numbers, with mu(-w) the conjugate of mu(w)."""

    @abstractmethod
    def function(self, D: Floats) -> ArrayLike:
        """Return kappa of differences (n, n_features), n real numbers."""


@dataclass(eq=False, repr=False)
class ComplexMeasureKernel(MeasureKernel):
    """A kernel k(x, y) = kappa(x - y) = int e^{i w.(x - y)} mu(w) dw with mu and kappa given as functions.

    The real part of mu is split into its positive and negative parts, of the odd imaginary part the positive one is
    enough. Frequencies come from a proposal by acceptance and rejection, with `bound` checked on every draw; masses
    from least squares against exact kernel values of a few rows, kappa(0) kept.

    Parameters
    ----------
    density : callable or Density
        mu: frequencies (n, n_features) to n complex numbers, with mu(-w) the conjugate of mu(w); or an object that
        knows mu and kappa.
    function : callable, default=None
        kappa: differences (n, n_features) to n real numbers; None for a `Density`.
    proposal : Kernel, default=Gaussian()
        Its frequencies are proposed; one that knows its density: `Gaussian`, `Matern`, `Laplace`.
    bound : float, default=1.0
        At least |mu(w)| / proposal(w) for every w; a frequency that violates it is an error.
    n_rows, n_frequencies : int, default=50, 2000
        Rows, and frequencies a block, of the least squares problem.
    fitted : Masses or tuple of three numbers, default=None
        Masses m_R+, m_R-, m_I+ where they are known; None to fit them.

    Notes
    -----
    Blocks below 1e-3 of the total mass are left out. A kernel is saved to files when its density is a `Density` of a
    registered class; one with callables is not.

    References
    ----------
    AsK-RFF (He, He, Liu and Huang), Algorithm 2 and (12), the sign of its last term corrected.

    Examples
    --------
    >>> def density(W):
    ...     return Gaussian().density(W) * np.exp(0.7j * W[:, 0])
    >>> kernel = ComplexMeasureKernel(density, function=lambda D: np.exp(-0.5 * (D[:, 0] + 0.7) ** 2))
    >>> X = np.random.default_rng(0).standard_normal((200, 1))
    >>> masses = kernel.resolve(X, np.random.default_rng(0)).fitted
    >>> round(masses.positive, 2), round(masses.imaginary, 2)         # exactly 0.79, 0.24
    (0.79, 0.24)
    """

    density: Any
    function: Callable[[Floats], ArrayLike] | None = None
    proposal: Any = None
    bound: float = 1.0
    n_rows: int = 50
    n_frequencies: int = 2000
    fitted: Any = None
    closed_form: ClassVar[bool] = False
    positive: ClassVar[tuple[str, ...]] = ("bound",)

    def __post_init__(self) -> None:
        # What a file has in place of objects.
        if isinstance(self.density, dict):
            self.density = registry_of(Density).from_config(self.density)
        if isinstance(self.proposal, dict):
            self.proposal = registry_of(Kernel).of(Kernel).from_config(self.proposal)
        super().__post_init__()

    def check(self) -> None:
        """Refuse what is not callable, a proposal that is no kernel, masses that are none, and limits."""
        owner, own = "ComplexMeasureKernel", isinstance(self.density, Density)
        if own and self.function is not None:
            raise fail(owner, "function must be None for a Density, which has its own", self.function)
        for name, value in () if own else (("density", self.density), ("function", self.function)):
            if not callable(value):
                raise fail(owner, f"{name} must be callable", value)
        if self.proposal is not None and not isinstance(self.proposal, Kernel):
            raise fail(owner, "proposal must be a Kernel that knows its density", self.proposal, "Use Gaussian().")
        super().check()
        check_integer(owner, "n_rows", self.n_rows, 2)
        check_integer(owner, "n_frequencies", self.n_frequencies, 1)
        self._masses()

    def _masses(self) -> Masses | None:
        """Return the masses that are known; three numbers, as a file has them, become masses."""
        if self.fitted is None or isinstance(self.fitted, Masses):
            return self.fitted
        try:
            values = np.array([float(value) for value in self.fitted])
        except (TypeError, ValueError):
            values = np.array([])
        if values.shape != (3,) or not np.all(np.isfinite(values) & (values >= 0)):
            raise fail("ComplexMeasureKernel", "fitted must be Masses or three numbers of at least 0", self.fitted)
        return Masses(*values.tolist())

    def to_config(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary with those of density and proposal; refuse callables, which have none."""
        if not isinstance(self.density, Density):
            raise ParameterError(
                "ComplexMeasureKernel: a saved kernel must not hold callables, got density and function. Write them as "
                "the methods of a Density and register its class: lowtide.register."
            )
        masses = self._masses()
        return {
            "type": "ComplexMeasureKernel",
            "density": registry_of(Density).to_config(self.density),
            "proposal": None if self.proposal is None else registry_of(Kernel).to_config(self.proposal),
            "bound": float(self.bound),
            "n_rows": int(self.n_rows),
            "n_frequencies": int(self.n_frequencies),
            "fitted": None if masses is None else [masses.positive, masses.negative, masses.imaginary],
        }

    def comparison_key(self) -> str:
        """Return what the parameters print as: functions are equal where they are the same object."""
        return repr({**self.get_params(), "fitted": self._masses()})

    def at(self, difference: ArrayLike) -> Floats:
        """Return kappa of differences x - y along the last axis."""
        delta = np.asarray(difference, dtype=np.float64)
        function = self.density.function if self.function is None else self.function
        value = np.asarray(function(delta.reshape(-1, delta.shape[-1])), dtype=np.float64)
        if value.size != delta.size // delta.shape[-1]:
            need = "function must map differences (n, n_features) to n numbers"
            raise fail("ComplexMeasureKernel", need, value.shape)
        return value.reshape(delta.shape[:-1])

    def gram(self, X: Any, Y: Any = None) -> Floats:
        """Return the exact kernel matrix of rows of X against rows of Y (X itself when None), (n, n_y)."""
        X, Y = (np.asarray(A.toarray() if is_sparse(A) else A, float) for A in (X, X if Y is None else Y))
        rows = [self.at(x - Y) for x in X]
        return np.array(rows).reshape(len(X), len(Y))

    def resolve(self, X: Any, rng: np.random.Generator) -> Self:
        """Return the kernel with its masses fitted to exact values of some rows of X."""
        if self.fitted is not None:
            return self
        chosen = np.sort(rng.choice(X.shape[0], size=min(X.shape[0], self.n_rows), replace=False))
        some = X[chosen]
        rows = np.asarray(some.toarray() if is_sparse(some) else some, dtype=np.float64)
        # The mean of a part over proposals is an unbiased first look at its mass.
        ratio = self._ratios(self._proposal.sample(rng, rows.shape[1], _PILOT))
        pilot = {name: float(part(ratio).mean()) for name, (_, part) in _PARTS.items()}
        least = _NEGLIGIBLE * Masses(**pilot).total
        grams = {name: np.zeros((len(rows), len(rows))) for name in _PARTS}
        for name, mass in pilot.items():
            if mass > least:
                law = RejectionLaw(self, _PARTS[name][1])
                wave = np.exp(1j * (rows @ law.sample(rng, rows.shape[1], self.n_frequencies)))
                mean = wave @ wave.conj().T / self.n_frequencies
                grams[name] = mean.imag if name == "imaginary" else mean.real
        resolved = copy(self)
        zero = float(self.at(np.zeros((1, rows.shape[1])))[0])
        positive, negative, imaginary = (grams[name] for name in _PARTS)
        resolved.fitted = fit_masses(self.gram(rows), positive, negative, imaginary, zero)
        return resolved

    @property
    def _proposal(self) -> Kernel:
        return Gaussian() if self.proposal is None else self.proposal

    def _ratios(self, W: Floats) -> NDArray[np.complex128]:
        """Return density / proposal at frequencies in columns; raise where its modulus is above the bound.

        A violated bound would thin out the law where it is largest, a bias that nothing else shows.
        """
        rows = np.ascontiguousarray(W.T)
        density = self.density.density if isinstance(self.density, Density) else self.density
        value = np.asarray(density(rows), dtype=np.complex128)
        if value.shape != (len(rows),) or not np.isfinite(value).all():
            need = "density must map frequencies (n, n_features) to n finite complex numbers"
            raise fail("ComplexMeasureKernel", need, f"{value.dtype} {value.shape}")
        ratio = np.asarray(value / self._proposal.density(rows))
        largest = float(np.abs(ratio).max(initial=0.0))
        if largest > self.bound * (1 + 1e-9):
            raise ParameterError(
                f"ComplexMeasureKernel: bound must be at least |density| / proposal everywhere, got {self.bound:g} "
                f"where the ratio is {largest:g}. Raise bound, or use a proposal with heavier tails."
            )
        return ratio

    def measures(self, n_features: int) -> tuple[MeasureBlock, ...]:
        """Return the blocks; masses must be given or fitted."""
        masses = self._masses()
        if masses is None:
            raise fail("ComplexMeasureKernel", "masses must be fitted to rows", None, "Call resolve(X, rng) first.")
        sizes = {"positive": masses.positive, "negative": masses.negative, "imaginary": 2 * masses.imaginary}
        least = _NEGLIGIBLE * masses.total
        return tuple(
            MeasureBlock(sizes[name], RejectionLaw(self, part), turn)
            for name, (turn, part) in _PARTS.items()
            if sizes[name] > least
        )


@dataclass(frozen=True)
class RejectionLaw(Frequencies):
    """Frequencies with density part(mu(w)), drawn from a proposal g and kept with probability part / (bound g)."""

    kernel: ComplexMeasureKernel
    part: Part
    law: ClassVar[FrequencyLaw] = "joint"

    def sample(self, rng: np.random.Generator, n_features: int, size: int) -> Floats:
        """Draw independent frequencies, shape (n_features, size); raise on a violated bound, or one far too large."""
        found: list[Floats] = []
        n_found = n_proposed = 0
        while n_found < size:
            if n_proposed > _MOST_PROPOSALS * max(size, 1) or (n_proposed > 100 * _BATCH and n_found == 0):
                raise ParameterError(
                    f"ComplexMeasureKernel: the bound must let proposals through, got {n_found} of {n_proposed} with "
                    f"bound {self.kernel.bound:g}. Lower it, or propose where the density is."
                )
            W = self.kernel._proposal.sample(rng, n_features, _BATCH)
            kept = W[:, rng.random(_BATCH) * self.kernel.bound < self.part(self.kernel._ratios(W))]
            found.append(kept)
            n_found, n_proposed = n_found + kept.shape[1], n_proposed + _BATCH
        return np.concatenate([np.empty((n_features, 0)), *found], axis=1)[:, :size]

    def second_moment(self, n_features: int) -> float:
        """Return E|w|^2 over 65536 frequencies of a fixed seed."""
        W = self.sample(np.random.default_rng(0), n_features, 4 * _BATCH)
        return float(np.mean(np.sum(W * W, axis=0)))
