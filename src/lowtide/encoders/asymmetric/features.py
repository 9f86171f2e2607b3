"""Random features of kernels with two different sides, full and coded."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from lowtide._checks import check_integer, check_option, fail
from lowtide.codes import Codes, row_bytes
from lowtide.encoders.asymmetric.allocation import allocate, choose_form
from lowtide.encoders.asymmetric.estimation import TwoSidedEstimation
from lowtide.encoders.asymmetric.parts import Parts, block_layout
from lowtide.encoders.asymmetric.state import TwoSidedState
from lowtide.encoders.base import Encoder
from lowtide.encoders.precision import (
    some_rows,
    warn_when_float32_loses_the_signal,
    warn_when_phases_lose_their_fraction,
)
from lowtide.encoders.quantizing import count_levels, resolve_quantizer
from lowtide.encoders.rows import check_within_float32
from lowtide.kernels import MEASURE_KERNELS, MeasureKernel, ShiftGaussian
from lowtide.maps import CosSin
from lowtide.projections import PROJECTIONS, Projection
from lowtide.quantizers import DrawnQuantizer, Quantizer
from lowtide.theory import measure_blocks

__all__ = ["AsymmetricFeatures"]


class AsymmetricFeatures(TwoSidedEstimation, TwoSidedState, Encoder):
    """Random Fourier features with a left and a right side: left(x) . right(y) estimates k(x, y), not k(y, x).

    The kernel is a sum of blocks M_b E cos(w.(x - y) + theta_b(w)). With frequencies w_j of block b, dither xi_j and
    n_b columns, the right side of y is sqrt(2 M_b/n_b) cos(w_j.y + xi_j) and its sine, the left side of x the same with
    the phase theta_b(w_j) added. Either side has a coded form, unbiased against the other in full.

    Parameters
    ----------
    kernel : str or MeasureKernel, default=None
        "shift", "sinh", "cosh", "signed", or an object of `lowtide.kernels`; symmetric kernels are the case of one
        block. None stands for `ShiftGaussian(shift=0.5, bandwidth=1.0)`.
    n_components : int, default=1024
        Features out, two a frequency, shared among the blocks; each block has at least one frequency, so there may be
        a few more.
    form : {"blocks", "phase", "auto"}, default="blocks"
        One block a part of the measure (positive, negative, imaginary), which has no error at x = y; one block that
        carries the phase of the measure, which has none where a shift-Gaussian kernel peaks and spends all frequencies
        on one law; or the one with less variance over a sample of the rows.
    allocation : {"equal", "optimal"}, default="equal"
        Equally many frequencies a block, as in the paper, or in proportion to its mass, which is best for distant rows.
    projection : {"hadamard", "orthogonal", "haar", "iid"} or Projection, default="hadamard"
        Layout of the blocks whose law it can carry; the others have independent frequencies.
    bits : int or None, default=1
        Bits a level, 1 to 8; None for no coded sides. A quantizer object's own bits win.
    quantizer : {"lloyd_max", "phase", "stochastic", "uniform"} or Quantizer, default="lloyd_max"
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    kernel_ : MeasureKernel
        The kernel, with masses where they had to be fitted.
    form_ : {"blocks", "phase"}
    blocks_ : tuple of MeasureBlock
    n_frequencies_ : tuple of int
        Frequencies a block.
    fingerprint_, fingerprint_right_ : bytes
        Of left and of right codes.
    n_features_in_ : int

    Notes
    -----
    Codes of the left and of the right side are different things and carry different fingerprints; they meet only in
    `kernel_estimate`.

    References
    ----------
    AsK-RFF (He, He, Liu and Huang), (7), (8); the phase form, codes and variances are derived.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide import AsymmetricFeatures
    >>> from lowtide.kernels import ShiftGaussian
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> ak = AsymmetricFeatures(ShiftGaussian(shift=0.3, bandwidth=2.0), n_components=4096, random_state=0).fit(X)
    >>> len(ak.blocks_), ak.transform(X).shape, ak.embed(X).shape
    (2, (100, 4096), (100, 6144))
    >>> K, std = ak.kernel_estimate(X[:3], X[3:6], sides=("codes", "full"), return_std=True)
    >>> bool(np.all(np.abs(K - ak.kernel_.gram(X[:3], X[3:6])) < 5 * std))
    True
    """

    def __init__(
        self,
        kernel: str | MeasureKernel | None = None,
        *,
        n_components: int = 1024,
        form: Literal["blocks", "phase", "auto"] = "blocks",
        allocation: Literal["equal", "optimal"] = "equal",
        projection: str | Projection = "hadamard",
        bits: int | None = 1,
        quantizer: str | Quantizer = "lloyd_max",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.form = form
        self.allocation = allocation
        self.projection = projection
        self.bits = bits
        self.quantizer = quantizer
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw frequencies, dither and quantizer, each from a generator of its own; choose a form, and fit masses.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n_samples, n_features)
            Only its width matters, but for form="auto" and kernels whose masses are fitted.
        y : ignored
        """
        rows = self._rows(X, reset=True)
        for stale in ("fingerprint_", "_no_codes"):
            self.__dict__.pop(stale, None)
        check_within_float32(rows)
        warn_when_float32_loses_the_signal(rows)
        n_components = check_integer("AsymmetricFeatures", "n_components", self.n_components, 1)
        form = check_option("AsymmetricFeatures", "form", self.form, ("blocks", "phase", "auto"))
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        # A stream of its own for each stage: changing the quantizer moves no frequency.
        for_masses, for_projection, for_dither, for_quantizer = (
            np.random.Generator(np.random.PCG64(child)) for child in np.random.SeedSequence(seed).spawn(4)
        )
        self.kernel_ = self._resolve_kernel().resolve(rows, for_masses)
        self.form_ = form if form != "auto" else self._choose_form(rows, -(-n_components // 2))
        self._set_blocks(n_components)
        self.quantizer_spec_ = resolve_quantizer("AsymmetricFeatures", self.bits, self.quantizer)
        self.quantizer_: DrawnQuantizer | None = None
        if self.quantizer_spec_ is not None:
            self.quantizer_ = self.quantizer_spec_.draw(CosSin(), for_quantizer)
        self._layout = PROJECTIONS.resolve(self.projection)
        self._projections = [
            block_layout(block, self._layout).draw(block.frequencies, rows.shape[1], count, for_projection)
            for block, count in zip(self.blocks_, self.n_frequencies_)
        ]
        self._offset = for_dither.random(sum(self.n_frequencies_), dtype=np.float32)
        turns = [block.phases(p.weights()) for block, p in zip(self.blocks_, self._projections)]
        self._left_offset = _fraction(np.concatenate(turns) + self._offset.astype(np.float64))
        self._settle()
        warn_when_phases_lose_their_fraction(self._parts_drawn.phases(some_rows(rows, 64)))
        return self

    def transform_right(self, X: Any) -> NDArray[np.float32]:
        """Return the full features of the right side, of y in k(x, y).

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features)

        Returns
        -------
        ndarray of float32, shape (n, n_features_out)
        """
        return self._transform_right(self._rows(X))

    def encode_right(self, X: Any) -> Codes:
        """Return the codes of the right side, of y in k(x, y); they carry `fingerprint_right_`.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features)

        Returns
        -------
        Codes of shape (n, n_features_out)
        """
        return self._encode_right(self._rows(X))

    def _transform_right(self, rows: Any) -> NDArray[np.float32]:
        return self._parts_drawn.features(rows, self._offset, self._column_scale)

    def _encode_right(self, rows: Any) -> Codes:
        template = self._no_codes
        return Codes(
            self._packed(rows, self._offset),
            bits=template.bits,
            n_levels=template.n_levels,
            codebook=template.codebook,
            fingerprint=self.fingerprint_right_,
            scale=template.scale,
        )

    def embed(self, X: Any) -> NDArray[np.float32]:
        """Return real features of one row alone, for a linear model: both sides' columns.

        [sqrt(m+) phi, sqrt(m-) phi, sqrt(2 m_I) phi, sqrt(2 m_I) psi] in the three-block form: the right features of
        every block, and the left ones of those whose sides differ.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features)

        Returns
        -------
        ndarray of float32, shape (n, n_embedded)
        """
        return self._embed(self._rows(X))

    def _embed(self, rows: Any) -> NDArray[np.float32]:
        right = self._transform_right(rows)
        skew = self._skew_columns
        if not skew.any():
            return right
        return np.hstack([right, self._transform(rows)[:, skew]])

    @property
    def _n_embedded(self) -> int:
        return self._n_features_out + int(self._skew_columns.sum())

    def _transform(self, rows: Any) -> NDArray[np.float32]:
        return self._parts_drawn.features(rows, self._left_offset, self._column_scale)

    def _encode(self, rows: Any) -> Codes:
        template = self._no_codes
        return template.with_rows(self._packed(rows, self._left_offset))

    def _packed(self, rows: Any, offset: NDArray[np.float32]) -> NDArray[np.uint8]:
        quantizer = self._coded_side()
        return self._parts_drawn.encode(rows, offset, quantizer, CosSin().width // len(quantizer.shifts))

    @cached_property
    def _no_codes(self) -> Codes:
        """Zero rows of the left side: codebook, factors and fingerprint for the rows to come."""
        quantizer, scale = self._coded_side(), self._column_scale
        # One factor for all columns is the codebook's: the fastest arithmetic counts bits without factors.
        uniform = bool(np.all(scale == scale[0]))
        return Codes(
            np.empty((0, row_bytes(self._n_levels, quantizer.bits)), dtype=np.uint8),
            bits=quantizer.bits,
            n_levels=self._n_levels,
            codebook=quantizer.codebook * (float(scale[0]) if uniform else 1.0),
            fingerprint=self.fingerprint_,
            scale=None if uniform else scale,
        )

    def _settle(self) -> None:
        """Set what follows from the drawn blocks; the fingerprints come last, and say that the encoder is fitted."""
        self._n_levels = count_levels(
            "AsymmetricFeatures", self.quantizer_spec_, self.quantizer_, CosSin(), self._n_features_out
        )
        self._parts_drawn = Parts.of(self._projections, self._n_features_out)
        each = [np.sqrt(2.0 * block.mass / n) for block, n in zip(self.blocks_, self._block_columns)]
        self._column_scale: NDArray[np.float32] = np.repeat(each, self._block_columns).astype(np.float32)
        self._set_fingerprints()

    @property
    def _skew_columns(self) -> NDArray[np.bool_]:
        """Columns of blocks whose two sides differ by more than a sign."""
        return np.repeat([block.is_skew for block in self.blocks_], self._block_columns)

    @property
    def _ops_refuse_not_finite(self) -> bool:
        return True

    @property
    def _has_codes(self) -> bool:
        return self.quantizer_ is not None

    @property
    def _n_features_out(self) -> int:
        return sum(self._block_columns)

    def _coded_side(self) -> Any:
        if self.quantizer_ is None:
            raise fail("AsymmetricFeatures", "a coded side needs bits from 1 to 8", self.bits, "Fit with bits=1, say.")
        return self.quantizer_

    def _resolve_kernel(self) -> MeasureKernel:
        given = ShiftGaussian(shift=0.5, bandwidth=1.0) if self.kernel is None else self.kernel
        return copy(MEASURE_KERNELS.resolve(given))  # a later set_params must not reach what was fitted

    def _choose_form(self, rows: Any, n_frequencies: int) -> str:
        some = some_rows(rows, 64)
        dense = np.asarray(some.toarray() if sparse.issparse(some) else some, dtype=np.float64)
        return choose_form(self.kernel_, dense, n_frequencies, self.allocation)

    def _set_blocks(self, n_components: int) -> None:
        """Share the components among the blocks; an odd number drops the last sine."""
        self.blocks_ = measure_blocks(self.kernel_, self.n_features_in_, self.form_)
        n_frequencies = -(-n_components // 2)
        self.n_frequencies_ = allocate(self.blocks_, n_frequencies, self.allocation)
        dropped = n_components % 2 if sum(self.n_frequencies_) == n_frequencies else 0
        columns = [2 * count for count in self.n_frequencies_]
        columns[-1] -= dropped
        self._block_columns = tuple(columns)


def _fraction(turns: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return turns in [0, 1) as float32, in which a number just below 1 may round to 1."""
    fraction = (turns - np.floor(turns)).astype(np.float32)
    fraction[fraction >= 1.0] = 0.0
    return fraction
