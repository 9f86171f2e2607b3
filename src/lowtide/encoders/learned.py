"""Codes that look at the data: learned measurements of a row, each in the bits it deserves, read as kernel features."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from lowtide._checks import check_integer, check_option, fail
from lowtide.codes import Codes
from lowtide.encoders.codebooks import check_gamma
from lowtide.encoders.drawn.fourier import SYMMETRIC, DrawnFeatures
from lowtide.encoders.drawn.learned import DrawnLearned
from lowtide.encoders.encoder import Encoder, check_weight
from lowtide.encoders.fields import FieldSteps, learned_steps
from lowtide.encoders.measures import MEASURES, MOST_COLUMNS, Learned, Measures, RowMeasures, dense, mixing
from lowtide.encoders.random_features import RandomFeatures
from lowtide.encoders.reading import FourierReading, LinearReading, Reading
from lowtide.encoders.rows import dense_rows, row_keys_of
from lowtide.kernels import Kernel, resolve_gamma
from lowtide.projections import PROJECTIONS, DenseProjection
from lowtide.spec import Registry

Floats = NDArray[np.float64]
_OWNER = "LearnedFeatures"
# Numbers that directions are learned from: 128 MB of float64.
_LEARNED_FROM = 1 << 24
# Rows that do as well as all: 128 for each of 256 levels.
_MOST_ROWS = 1 << 15
# Numbers of more distinct values are no classes.
_MOST_CLASSES = 64
# Standard deviations beyond which a value is an outlier.
_FAR = 4.0
# Shares of the variance that are told apart when measurements are compared.
_AS_GOOD = 1e-6


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


def drawn_reader(kernel: Kernel, n_components: int, bits: int, seed: int, Z: Floats) -> DrawnFeatures:
    """Return random features of coordinates, by transforms where the kernel's frequencies can be laid out so."""
    projection = "hadamard" if kernel.law in PROJECTIONS["hadamard"].laws else "iid"
    reader = RandomFeatures(
        kernel, n_components=n_components, projection=projection, bits=bits, random_state=seed % 2**32
    )
    return reader.fit(Z).drawn_


class Sample:
    """Rows to learn from in float64, with weights that sum to one: all of them, or as many as are quickly dealt with.

    Those are the rows of smallest hash. They are in the order of their hashes, and what comes more than once, row and
    target, is there once with the sum of its weights: so neither order nor repetition matters, to the last bit.
    `targets` are what is to be learned of them, if anything, as columns without their means.
    """

    def __init__(self, rows: Any, weight: Floats | None, y: Any = None) -> None:
        n, d = rows.shape
        w = np.ones(n) if weight is None else weight
        most = max(1, min(_LEARNED_FROM // d, _MOST_ROWS if d <= MOST_COLUMNS else MOST_COLUMNS))
        chosen = np.flatnonzero(w > 0)
        if not len(chosen):
            raise fail("LearnedFeatures", "some weight must be above 0", "none")
        keys = row_keys_of(rows)[chosen]
        if len(chosen) > most:
            few = keys <= np.partition(keys, most - 1)[most - 1]
            chosen, keys = chosen[few], keys[few]
        kinds = np.zeros(len(chosen), np.int64) if y is None else _kinds_of(np.asarray(y)[chosen])
        order = np.lexsort((kinds, keys))
        is_new = np.append(True, (np.diff(keys[order]) != 0) | (np.diff(kinds[order]) != 0))
        first, starts = chosen[order[is_new]], np.flatnonzero(is_new)
        sums = np.add.reduceat(w[chosen[order]], starts)
        self.weight = sums / sums.sum()
        self.rows = without_outliers(dense_rows(rows[first]), self.weight)
        self.mean = self.weight @ self.rows
        self.targets = None if y is None else target_columns(np.asarray(y)[first], self.weight)


def _kinds_of(y: NDArray[Any]) -> NDArray[np.int64]:
    """Return a number for each different target."""
    flat = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    found = np.unique(flat, return_inverse=True, axis=None if flat.ndim == 1 else 0)
    return found[1].reshape(-1)


def without_outliers(rows: Floats, weight: Floats) -> Floats:
    """Return rows whose entries are at most four standard deviations from the mean of their column.

    A few large values would turn directions and steps to themselves, and most rows be told badly; they still get the
    outermost level. A rare value that is always the same, as that of an indicator, is none of these.
    """
    mean = weight @ rows
    reach = _FAR * np.sqrt(weight @ (rows - mean) ** 2)
    far = np.abs(rows - mean) > reach
    lowest, highest = (
        pick(np.where(far, rows, other), axis=0) for pick, other in ((np.min, np.inf), (np.max, -np.inf))
    )
    varies = lowest < highest
    return np.where(far & varies, np.clip(rows, mean - reach, mean + reach), rows) if varies.any() else rows


def target_columns(y: NDArray[Any], weight: Floats) -> Floats:
    """Return targets (n, k) without their weighted means: 1 and -1 a class (one column of two), or numbers of size one.

    There are none where y is neither classes nor numbers.
    """
    flat = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    kind = type_of_target(flat, input_name="y")
    if kind in ("binary", "multiclass"):
        classes, places = np.unique(flat, return_inverse=True)
        if len(classes) <= _MOST_CLASSES or flat.dtype.kind not in "iuf":
            columns = np.where(places.reshape(-1, 1) == np.arange(len(classes)), 1.0, -1.0)
            columns = columns[:, 1:] if kind == "binary" else columns
            return np.asarray(columns - weight @ columns)
    elif not kind.startswith("continuous"):
        return np.empty((len(y), 0))
    numbers = y.reshape(len(y), -1).astype(np.float64)
    numbers = numbers / np.maximum(np.abs(numbers).max(axis=0), np.finfo(float).tiny)
    numbers = numbers - weight @ numbers
    return np.asarray(numbers / np.maximum(np.sqrt(weight @ numbers**2), np.finfo(float).tiny))
