"""Random features of kernels with two different sides, full and coded."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_option, fail
from lowtide.codes import Codes
from lowtide.encoders.blocks import (
    allocate,
    block_layout,
    choose_form,
    directed_kernel,
    rows_to_fit_masses,
)
from lowtide.encoders.drawn.asymmetric import DrawnAsymmetric
from lowtide.encoders.rows import dense_rows, some_rows, warn_when_phases_lose_their_fraction
from lowtide.encoders.sides import FourierEncoder
from lowtide.kernels import KERNELS, MeasureKernel
from lowtide.maps import CosSin
from lowtide.projections import PROJECTIONS, Projection
from lowtide.quantizers import QUANTIZERS, Quantizer, count_levels, resolve_quantizer
from lowtide.spec import Registry
from lowtide.theory import measure_blocks


@dataclass(eq=False, repr=False)
class AsymmetricFeatures(FourierEncoder):
    """Turn rows into left and right features of a kernel with a direction, whose products estimate k(x, y).

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
    masses : {"exact", "fitted", "auto"}, default="auto"
        Masses of the blocks as they are, or fitted on the drawn frequencies to exact kernel values of at most 200 of
        the rows, k(0) kept: see Notes. "auto" fits from 200 rows on. Of a kernel without masses in closed form "exact"
        are those that it fits itself.
    projection : {"hadamard", "rotation", "orthogonal", "haar", "iid"} or Projection, default="hadamard"
        Layout of the blocks whose law it can carry; the others have independent frequencies.
    bits : int or None, default=1
        Bits a level, 1 to 8; None for no coded sides. A quantizer object's own bits win.
    quantizer : {"lloyd_max", "phase", "stochastic", "uniform", "modulo"} or Quantizer, default="lloyd_max"
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    kernel_ : MeasureKernel
        The kernel, with masses where they had to be fitted.
    form_ : {"blocks", "phase"}
    blocks_ : tuple of MeasureBlock
        With the masses that the features have.
    masses_ : ndarray (n_blocks,) or None
        Masses that were fitted; None for the exact ones.
    n_frequencies_ : tuple of int
        Frequencies per block.
    drawn_ : DrawnAsymmetric
        All that was drawn, one frozen value; the other attributes are read from it.
    fingerprint_ : bytes
        Identity of the frequencies; left and right codes carry it.
    side_, side_right_ : bytes
        Identities of the rules that make left and right codes.
    n_features_in_ : int

    Notes
    -----
    Codes of the left and of the right side are made on the same frequencies by different rules: `Codes.fingerprint` is
    the same, `Codes.side` is not. `kernel_estimate` takes left codes as X and right codes as Y.

    Fitted masses lower the error of the kernel between rows like those of the fit, the more the fewer frequencies there
    are. They are for the form of blocks, and change nothing for a kernel of one block, whose mass is k(0). In exchange
    the estimate is unbiased only as frequencies grow, and equal seeds on other rows are other encoders; masses="exact"
    has neither. Error bars cover both: to the error with exact masses they add what the fit moved the estimate by.

    References
    ----------
    AsK-RFF (He, He, Liu and Huang), (7), (8), and Algorithm 2 with the sign of (12) corrected; the phase form, codes
    and variances are derived.

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

    kernel: str | MeasureKernel | None = None
    _: KW_ONLY
    n_components: int = 1024
    form: Literal["blocks", "phase", "auto"] = "blocks"
    allocation: Literal["equal", "optimal"] = "equal"
    masses: Literal["exact", "fitted", "auto"] = "auto"
    projection: str | Projection = "hadamard"
    bits: int | None = 1
    quantizer: str | Quantizer = "lloyd_max"
    random_state: int | np.random.RandomState | None = None
    drawn_: DrawnAsymmetric = field(init=False)
    parts: ClassVar[dict[str, Registry[Any]]] = {
        "kernel": KERNELS,
        "projection": PROJECTIONS,
        "quantizer": QUANTIZERS,
    }

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw frequencies, dither and quantizer, each from a generator of its own; choose a form, and fit masses.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n_samples, n_features)
            Only its width matters, but for form="auto" and masses that are fitted.
        y : ignored
        """
        owner = "AsymmetricFeatures"
        rows, n_components, seed = self.start_fit(X)
        form = check_option(owner, "form", self.form, ("blocks", "phase", "auto"))
        check_option(owner, "masses", self.masses, ("exact", "fitted", "auto"))
        if self.masses == "fitted" and form == "phase":
            raise fail(owner, "masses='fitted' needs form='blocks'", form, "The one mass of a phase is exact.")
        # A stream of its own for each stage: changing the quantizer moves no frequency.
        for_masses, for_projection, for_dither, for_quantizer = (
            np.random.Generator(np.random.PCG64(child)) for child in np.random.SeedSequence(seed).spawn(4)
        )
        kernel = directed_kernel(self.kernel).resolve(rows, for_masses)
        n_frequencies = -(-n_components // 2)
        if form == "auto" and self.masses == "fitted":
            form = "blocks"
        elif form == "auto":
            form = choose_form(kernel, dense_rows(some_rows(rows, 64)), n_frequencies, self.allocation)
        blocks = measure_blocks(kernel, rows.shape[1], form)
        counts = allocate(blocks, n_frequencies, self.allocation)
        quantizer = resolve_quantizer(owner, self.bits, self.quantizer)
        drawn_quantizer = None if quantizer is None else quantizer.draw(CosSin(), for_quantizer)
        # Each block has a frequency at least, so there may be more columns than asked for; no sine is dropped then.
        n_columns = n_components if sum(counts) == n_frequencies else 2 * sum(counts)
        count_levels(owner, quantizer, drawn_quantizer, CosSin(), n_columns)
        layout = PROJECTIONS.resolve(self.projection)
        projections = tuple(
            block_layout(block, layout).draw(block.frequencies, rows.shape[1], count, for_projection)
            for block, count in zip(blocks, counts)
        )
        offset = for_dither.random(sum(counts), dtype=np.float32)
        turns = [block.phases(projection.weights()) for block, projection in zip(blocks, projections)]
        drawn = DrawnAsymmetric(
            kernel=kernel,
            form=form,
            layout=copy(layout),
            projections=projections,
            offset=offset,
            left_offset=_fraction(np.concatenate(turns) + offset.astype(np.float64)),
            quantizer_spec=quantizer,
            quantizer=drawn_quantizer,
            n_components=n_columns,
            n_features=rows.shape[1],
        )
        warn_when_phases_lose_their_fraction(drawn.phases(some_rows(rows, 64)))
        can_fit = form == "blocks" and len(blocks) > 1
        few = rows_to_fit_masses(rows, self.masses, for_masses) if can_fit else None
        self.drawn_ = drawn if few is None else drawn.with_fitted_masses(few)
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
        rows = self.check_rows(X)
        return self.drawn_.transform_right(rows)

    def encode_right(self, X: Any) -> Codes:
        """Return the codes of the right side, of y in k(x, y); they carry a side of their own.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features)

        Returns
        -------
        Codes of shape (n, n_features_out)
        """
        rows = self.check_rows(X)
        return self.drawn_.encode_right(rows)

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
        rows = self.check_rows(X)
        return self.drawn_.embed(rows)


def _fraction(turns: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return turns in [0, 1) as float32, in which a number just below 1 may round to 1."""
    fraction = (turns - np.floor(turns)).astype(np.float32)
    fraction[fraction >= 1.0] = 0.0
    return fraction
