"""Codes that look at the data: learned measurements of a row, each in the bits it deserves, read as kernel features."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from lowtide._checks import check_integer, check_interval, check_option, fail
from lowtide.codes import Codes, empty_rows
from lowtide.encoders.codebooks import check_gamma
from lowtide.encoders.encoder import Arrays, DrawnEncoder, Encoder, arrays_of, fingerprint, kept_gamma, prefixed
from lowtide.encoders.estimation import Pair, product
from lowtide.encoders.fields import FieldSteps, learned_steps
from lowtide.encoders.measures import MEASURES, Learned, Measures, RowMeasures, Sample, dense, mixing
from lowtide.encoders.random_features import SYMMETRIC, DrawnFeatures
from lowtide.encoders.reading import FourierReading, LinearReading, Reading, drawn_reader, row_parts
from lowtide.encoders.rows import check_weight
from lowtide.kernels import Kernel, resolve_gamma
from lowtide.projections import DenseProjection
from lowtide.spec import Registry

Array = NDArray[np.float32]
Floats = NDArray[np.float64]
_OWNER = "LearnedFeatures"
# Shares of the variance that are told apart when measurements are compared.
_AS_GOOD = 1e-6


@dataclass(frozen=True, eq=False)
class DrawnLearned(DrawnEncoder):
    """Learned measurements, the steps that round them, and how decoded measurements are read."""

    kind: ClassVar[str] = _OWNER
    expands: ClassVar[bool] = True
    measures: Measures
    steps: FieldSteps
    kernel: Kernel  # of the coordinates, or of the rows where the measurements are those of a kernel
    gamma: float | None  # None when the kernel came as an object
    reading: Reading
    reconstruction_error: float
    seed: int
    n_features: int

    def transform(self, rows: Any) -> Array:
        """Return features of the coordinates as they are, float32 (n, n_outputs)."""
        out = np.empty((rows.shape[0], self.n_outputs), dtype=np.float32)
        for part in row_parts(rows.shape[0], max(self.n_outputs, self.n_features)):
            out[part] = self.reading.features(self.measures.coordinates(rows[part]))
        return out

    def encode(self, rows: Any) -> Codes:
        """Return Codes of the rounded coordinates."""
        template = self.template
        out = empty_rows(rows.shape[0], template.packed.shape[1])
        for part in row_parts(rows.shape[0], max(self.measures.n_fields, self.n_features)):
            out[part] = self.steps.packed(self.measures.coordinates(rows[part]))
        return template.with_rows(out)

    def expand(self, codes: Codes) -> Codes:
        """Return codes of the features that the decoded coordinates have; the codes themselves for measure="kernel"."""
        return self.reading.expand(codes)

    def scores(self, rows: Any, weights: Floats, intercept: Floats) -> Floats:
        """Return D w + b of a few validated rows, (n, k), with D their expanded codes."""
        return self.expand(self.encode(rows)) @ weights + intercept

    def seen(self, rows: Any, side: Any) -> Array:
        """Return the coordinates that a side has of validated rows: as they are, or decoded; float32 (n, n_fields)."""
        return self.measures.coordinates(rows) if side == "full" else np.asarray(self.encode(rows))

    def product(self, left: Any, right: Any) -> Array:
        """Return the products of two sides, codes expanded."""
        return product(*(self.expand(side) if isinstance(side, Codes) else side for side in (left, right)))

    def pair(self, sides: tuple[Any, Any]) -> Pair:
        """Return what is known of the product of two sides."""
        return self.reading.pair(sides, self)

    def phase_noise(self, rows: Any) -> Floats:
        """Return how far float32 has the phases of validated rows off, in radians, (n,)."""
        return self.reading.noise(self.measures.coordinates(rows))

    @property
    def n_outputs(self) -> int:
        """Columns of the full side and of expanded codes."""
        return self.reading.n_outputs

    @property
    def is_linear(self) -> bool:
        """Whether measurements are sums of the row's columns: then they have the same bits on every machine."""
        return isinstance(self.measures, RowMeasures)

    @property
    def bits(self) -> tuple[int, ...]:
        """Bits of each measurement."""
        return self.steps.bits

    @property
    def directions(self) -> Array:
        """Directions of the measurements in columns: of rows, or of kernel values with the landmarks."""
        return self.measures.projection.matrix

    @cached_property
    def template(self) -> Codes:
        """Codes of zero rows, with codebook and identity."""
        return self.new_template(self.steps.bits, len(self.steps.bits), self.steps.values)

    @property
    def row_cost(self) -> int:
        """That of the measurements, and of reading them."""
        return self.measures.row_cost + self.reading.row_cost

    @cached_property
    def fingerprint(self) -> bytes:
        """Identity of the measurements and of the seed; not of what they are read as, which changes no level."""
        sizes = {"n_features": self.n_features, "n_fields": self.measures.n_fields, "seed": self.seed}
        return fingerprint({"encoder": self.kind, "measure": self.measures.name, **sizes}, self.measures.arrays())

    @property
    def side(self) -> bytes:
        """Identity of the steps."""
        return self.steps.identity

    def describe(self) -> tuple[dict[str, Any], Arrays]:
        """Return what a file keeps: measurements, steps, and what was drawn to read them."""
        spec: dict[str, Any] = {
            "measure": self.measures.name,
            "kernel": SYMMETRIC.to_config(self.kernel),
            "gamma": self.gamma,
            "reconstruction_error": self.reconstruction_error,
            "seed": self.seed,
            "n_features": self.n_features,
            "n_components": self.n_outputs,
            "reader": None,
            "mixed": False,
        }
        arrays = prefixed("measures", self.measures.arrays()) | prefixed("steps", self.steps.arrays())
        if isinstance(self.reading, FourierReading):
            spec["reader"], drawn = self.reading.drawn.describe()
            arrays |= prefixed("reader", drawn)
            spec["mixed"] = self.reading.mix is not None
            arrays |= {} if self.reading.mix is None else prefixed("mix", self.reading.mix.arrays())
        return spec, arrays

    @classmethod
    def restore(cls, spec: dict[str, Any], arrays: Arrays) -> Self:
        """Return the features that were described."""
        owner, n_features = cls.kind, check_integer(cls.kind, "n_features", spec["n_features"], 1)
        steps = FieldSteps.restore(owner, arrays_of("steps", arrays))
        kernel, gamma = SYMMETRIC.from_config(spec["kernel"]), kept_gamma(owner, spec)
        measure = MEASURES[check_option(owner, "measure", spec["measure"], tuple(MEASURES))]
        kept = arrays_of("measures", arrays)
        measures = measure.restore(owner, kernel, n_features, len(steps.bits), kept)
        reading: Reading = LinearReading(len(steps.bits))
        mix = arrays_of("mix", arrays)
        if bool(mix) is not spec["mixed"]:
            raise fail(owner, "what mixes coordinates must be there where the spec says so", spec["mixed"])
        if (spec["reader"] is None) is isinstance(measures, RowMeasures):
            raise fail(owner, "random features must be there exactly with measure='rows'", spec["measure"])
        if spec["reader"] is not None:
            drawn = DrawnFeatures.restore(spec["reader"], arrays_of("reader", arrays))
            if drawn.n_features != len(steps.bits):
                raise fail(owner, f"random features must take {len(steps.bits)} coordinates", drawn.n_features)
            drawn.required_template  # noqa: B018 - codes must be something to expand to
            n = len(steps.bits)
            reading = FourierReading(drawn, DenseProjection.kept(owner, mix, n, n) if mix else None)
        if spec["n_components"] != reading.n_outputs:
            raise fail(owner, f"n_components must be {reading.n_outputs}, as it is read", spec["n_components"])
        error = check_interval(owner, "reconstruction_error", spec["reconstruction_error"], 0.0, 1.0)
        seed = check_integer(owner, "seed", spec["seed"], 0, 2**63)
        return cls(measures, steps, kernel, gamma, reading, error, seed, n_features)


@dataclass(eq=False, repr=False)
class LearnedFeatures(Encoder):
    """Learn codes of few bytes from the data, which spend their bits where rows differ most.

    A row x has coordinates z_j = p_j . x - c_j in the principal directions p_j of the training rows (or in the columns
    themselves, where these lose less: columns of few values are told exactly in few bits). Coordinate j keeps
    b_j bits, 0 to 8 (reverse water-filling: each bit goes where it saves most squared error), by steps that round its
    own distribution best, and a level decodes to the mean of what falls into it. Decoded coordinates are read by random
    Fourier features of the kernel, drawn once: they are what a learner's weights are for, and they are there only while
    codes are read. So a row costs `n_bytes` to keep, and a model has as many components as it needs.

    Parameters
    ----------
    kernel : str or Kernel, default="rbf"
        "rbf", "laplacian", "matern" with `gamma`, or an object of `lowtide.kernels`, which has its own scale. It is the
        kernel of the coordinates.
    gamma : "scale", "median" or float, default="scale"
        As in scikit-learn: exp(-gamma |z-z'|^2). Coordinates of "rows" keep the distances of rows.
    n_bytes : int, default=16
        Bytes that a row may take, a multiple of 8. Rows take fewer where all coordinates are told as well with less.
    measure : {"rows", "kernel"}, default="rows"
        "rows" is as above. With "kernel" the coordinates are those of the kernel's own principal components (kernel PCA
        through landmarks), and codes are read as they are: decoded . decoded' is near k(x, y).
    n_components : int, default=4096
        Random features that codes are read by; measure="kernel" has none.
    bits : int, default=4
        Of each of these while it is read, 1 to 8; they are kept nowhere.
    landmarks : int, default=1024
        Rows that kernel values are taken with, for measure="kernel".
    random_state : int, RandomState or None, default=None
        Draws the random features; measurements do not depend on it.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with its scale.
    gamma_ : float or None
        The resolved gamma; None when the kernel was an object.
    bits_ : tuple of int
        Bits of each measurement that has any; their number is the number of fields of a code.
    directions_ : ndarray of float32, shape (n_features, n_fields)
        p_j in columns; for measure="kernel" (n_landmarks, n_fields), the directions of kernel values.
    reconstruction_error_ : float
        Share of the training rows' variance (of k(x, x) for measure="kernel") that codes lose, by rounding and by the
        directions that are left out.
    drawn_ : DrawnLearned
        All that was learned and drawn, one frozen value; the other attributes are read from it.
    fingerprint_ : bytes
        Identity of the measurements and of the seed; codes also carry that of their steps.
    n_features_in_ : int

    Notes
    -----
    `encode` gives `Codes` of the coordinates; `expand` those of the random features, which `transform` gives in float32
    for coordinates that are not rounded. Learners, files, stores and servers expand codes by themselves. Estimates of
    the kernel are unbiased for that of the coordinates as either side has them, decoded on the coded one, and their
    standard errors are around it. What codes lose of the rows themselves is in `reconstruction_error_`.

    Encoding a row costs n_features multiplications a field, expanding it O(n_components log n_fields) additions. Codes
    depend on the data they were fitted to: rows of another kind are told badly. A stream whose future is not known, or
    one code for many bandwidths with known errors, is better served by `RandomFeatures` and `Sketch`.

    References
    ----------
    Cover and Thomas, Elements of information theory, section 10.3.3, for reverse water-filling. Lloyd, Least squares
    quantization in PCM. Li and Li, One-Sketch-for-All, for codes that are read by random features.

    Examples
    --------
    >>> import numpy as np
    >>> import lowtide as lt
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 4)) @ rng.standard_normal((4, 20))     # 20 columns, 4 of them would do
    >>> enc = lt.LearnedFeatures(n_bytes=8, n_components=1024, random_state=0).fit(X)
    >>> C = enc.encode(X)
    >>> C.packed.shape, len(enc.bits_), enc.expand(C).shape
    ((500, 8), 4, (500, 1024))
    >>> bool(enc.reconstruction_error_ < 1e-3)
    True
    >>> model = lt.KernelClassifier(enc).fit(C, X[:, 0] > 0)                 # 8 bytes a row; X may be thrown away
    >>> bool(model.score(C, X[:, 0] > 0) > 0.95)
    True
    """

    kernel: str | Kernel = "rbf"
    _: KW_ONLY
    gamma: float | Literal["scale", "median"] = "scale"
    n_bytes: int = 16
    measure: Literal["rows", "kernel"] = "rows"
    n_components: int = 4096
    bits: int = 4
    landmarks: int = 1024
    random_state: int | np.random.RandomState | None = None
    drawn_: DrawnLearned = field(init=False)
    parts: ClassVar[dict[str, Registry[Any]]] = {"kernel": SYMMETRIC}

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn measurements and their steps from rows, and draw the features that read them.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n_samples, n_features)
        y : array (n_samples,) or (n_samples, n_targets), optional
            Classes or numbers to be learned: bits then go a little more to what these depend on. Learners pass it.
        sample_weight : array (n_samples,), optional
            Weights of the rows in all that is learned.
        """
        rows, n_components, seed = self.start_fit(X)
        if y is not None:
            check_consistent_length(X, y)
        n_bytes = check_integer(_OWNER, "n_bytes", self.n_bytes, 1)
        if n_bytes % 8:
            raise fail(_OWNER, "n_bytes must be a multiple of 8: rows are kept in words of 8 bytes", n_bytes)
        measure = MEASURES[check_option(_OWNER, "measure", self.measure, tuple(MEASURES))]
        n_landmarks = check_integer(_OWNER, "landmarks", self.landmarks, 1)
        bits = check_integer(_OWNER, "bits", self.bits, 1, 8)
        sample = Sample(rows, check_weight(sample_weight, rows), y)
        kernel, gamma = self._kernel_of(sample.rows, sample.weight, seed)
        learned = measure.learn(sample, 8 * n_bytes, kernel, n_landmarks)
        measures, Z, steps, mix, error = best_measures(learned, sample.weight, 8 * n_bytes)
        reading: Reading = LinearReading(measures.n_fields)
        if isinstance(measures, RowMeasures):
            Z = Z if mix is None else Z @ mix.matrix.astype(np.float64)
            kernel, gamma = self._kernel_of(Z, sample.weight, seed)
            reading = FourierReading(drawn_reader(kernel, n_components, bits, seed, Z), mix)
        self.drawn_ = DrawnLearned(measures, steps, kernel, gamma, reading, error, seed, rows.shape[1])
        return self

    def expand(self, codes: Codes) -> Codes:
        """Return codes of the features that decoded coordinates are read by: what a learner's weights are for.

        Parameters
        ----------
        codes : Codes of this encoder

        Returns
        -------
        Codes of shape (n, n_features_out)
            n_components / 8 bytes a row with bits=1; the codes themselves for measure="kernel".
        """
        check_is_fitted(self)
        self.drawn_.check_codes(codes)
        return self.drawn_.expand(codes)

    def with_gamma(self, gamma: float) -> Self:
        """Return this fitted encoder with features of another gamma: the same codes, read at another bandwidth.

        Parameters
        ----------
        gamma : float
            Scikit-learn's, above 0.
        """
        check_is_fitted(self)
        gamma, drawn = check_gamma(_OWNER, gamma), self.drawn_
        if not isinstance(drawn.reading, FourierReading) or isinstance(self.kernel, Kernel):
            remedy = "Fit another encoder."
            need = "with_gamma needs measure='rows' and a kernel by name"
            raise fail(_OWNER, need, f"measure={self.measure!r}, kernel={self.kernel!r}", remedy)
        kernel, old = SYMMETRIC[self.kernel].from_gamma(gamma), drawn.reading.drawn
        bits = old.coded_by.bits or 1
        reader = drawn_reader(kernel, old.n_components, bits, drawn.seed, np.zeros((1, len(drawn.bits))))
        reading = replace(drawn.reading, drawn=reader)
        return self.with_drawn(replace(drawn, kernel=kernel, gamma=gamma, reading=reading), gamma=gamma)

    def _kernel_of(self, rows: Floats, weight: Floats, seed: int) -> tuple[Kernel, float | None]:
        """Return the kernel with its scale on some rows, and gamma when it came by name."""
        if isinstance(self.kernel, Kernel):
            return copy(self.kernel), None  # a later set_params(kernel__bandwidth=...) must not reach what was fitted
        family = SYMMETRIC[self.kernel]
        gamma = resolve_gamma(self.gamma, rows, family().norm, np.random.Generator(np.random.PCG64(seed)), weight)
        return family.from_gamma(gamma), gamma


def best_measures(
    choices: list[Learned], weight: Floats, n_bits: int
) -> tuple[Measures, Floats, FieldSteps, DenseProjection | None, float]:
    """Return the measurements that lose least in n_bits: they, what they are of the sample, steps, mixing, share lost.

    The first of those that lose as little, up to rounding, so that the order of sums does not choose.
    """
    found = [learned_steps(each.Z, weight, each.whole, n_bits) for each in choices]
    whole = choices[-1].whole
    least = min(lost for _, _, lost in found)
    best = next(i for i, (_, _, lost) in enumerate(found) if lost <= least + _AS_GOOD * whole)
    (steps, fields, lost), chosen = found[best], choices[best]
    mix = None if chosen.back is None else dense(mixing(chosen.back[fields]))
    error = min(1.0, lost / whole) if whole > 0 else 0.0
    return chosen.measures.kept(fields), chosen.Z[:, fields], steps, mix, error
