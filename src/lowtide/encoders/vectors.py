"""Codes of rotated vectors with a correction a row: cosines, inner products and distances without bias."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from lowtide._checks import check_integer, check_option, fail
from lowtide.codes import Codes, factors_of
from lowtide.encoders.codebooks import side_of_steps
from lowtide.encoders.drawn.base import Arrays, DrawnEncoder, arrays_of, fingerprint, kept_sizes, prefixed
from lowtide.encoders.encoder import Encoder
from lowtide.encoders.estimation import Pair, Side, Two, product
from lowtide.encoders.nearest import Found, Nearest
from lowtide.encoders.partition import Partition
from lowtide.encoders.rows import block_norms, corrected_rows, dense_rows, float32_blocks, projected_rows
from lowtide.errors import ParameterError
from lowtide.kernels import Gaussian
from lowtide.projections import DrawnProjection, Rotation
from lowtide.quantizers import LineSteps, normal_steps

Array = NDArray[np.float32]
Floats = NDArray[np.float64]

METRICS = ("cosine", "inner_product", "l2")
# An estimate may come from pairs whose value is within so many standard errors of it.
_PLAUSIBLE = 1.6


@dataclass(frozen=True, eq=False)
class DrawnVectorCodes(DrawnEncoder):
    """A drawn rotation, the center of the rows, and the steps that make levels.

    A row x becomes x' = x - c, for cosines x / |x| - c. Of x' the code keeps the levels of its rotated direction u, the
    length r = |x'| and <o, u>, o being what the levels decode to. Of a query q the full side is the rotated q', for
    inner products the rotated q. Then <x', q'> is estimated by r <o, q'> / <o, u>, and all else follows.
    """

    kind: ClassVar[str] = "VectorCodes"
    metric: str
    center: Array
    projection: DrawnProjection
    bits: int
    n_features: int

    @cached_property
    def steps(self) -> LineSteps:
        """Borders and values of the levels."""
        return normal_steps(self.bits)

    @property
    def n_outputs(self) -> int:
        """As many columns as rows have."""
        return self.n_features

    @property
    def is_centered(self) -> bool:
        """Whether something is subtracted from rows."""
        return bool(np.any(self.center))

    @cached_property
    def template(self) -> Codes:
        """Codes of zero rows, with norms and corrections."""
        d, none = self.n_features, np.empty(0, dtype=np.float32)
        book = (self.steps.values / math.sqrt(d)).astype(np.float32)
        return self.new_template(self.bits, d, book, norms=none, corrections=none)

    @property
    def row_cost(self) -> int:
        """Additions and multiplications of the rotation, the length, the center and the correction."""
        return self.projection.row_cost + 8 * self.n_features

    @cached_property
    def fingerprint(self) -> bytes:
        """Identity of the rotation, the center and the metric; not of the bits: codes of more bits can be rescored."""
        spec = {"encoder": self.kind, "metric": self.metric, "n_features": self.n_features}
        return fingerprint(spec, {"center": self.center, **prefixed("projection", self.projection.arrays())})

    @property
    def side(self) -> bytes:
        """Identity of the quantizer."""
        return side_of_steps(self.steps)

    def prepare(self, block: Array) -> Array:
        """Return rows as their codes stand for them: of length 1 for cosines, less the center."""
        if self.metric == "cosine":
            block = _unit(block)
        return np.subtract(block, self.center) if self.is_centered else block

    def encode(self, rows: Any) -> Codes:
        """Return codes with norms and corrections."""
        packed, norms, products = corrected_rows(rows, self.projection, self.steps, self.prepare)
        return self.template.with_rows(packed, norms, products * (self._turn / math.sqrt(self.n_features)))

    def transform(self, rows: Any) -> Array:
        """Return the rotated rows less the center; for inner products with it."""
        out = np.empty((rows.shape[0], self.n_features), dtype=np.float32)
        for some, block in float32_blocks(rows, n_columns=self.n_features):
            prepared = block if self.metric == "inner_product" else self.prepare(block)
            out[some] = projected_rows(np.ascontiguousarray(prepared), self.projection)
        out *= np.float32(self._turn)
        return out

    @property
    def _turn(self) -> float:
        """What a projection in turns is multiplied by to be an entry of the rotated row."""
        return 1.0 / float(self.projection.scale[0])

    @cached_property
    def _rotated_center(self) -> Floats:
        turns = projected_rows(self.center[None], self.projection)[0]
        return np.asarray(turns, dtype=np.float64) * self._turn

    # What belongs to one side of a product: score = factor <o, q> + offset of the row + offset of the query, times a
    # unit, -2 for squared distances.

    @property
    def largest(self) -> bool:
        """Whether the best scores are the largest."""
        return self.metric != "l2"

    @property
    def unit(self) -> float:
        """What a score changes by when <x', q'> changes by 1."""
        return -2.0 if self.metric == "l2" else 1.0

    def row_terms(self, codes: Codes) -> tuple[Array, Array]:
        """Return factors and offsets of coded rows, float32 (n,)."""
        return factors_of(*self.lengths(codes), self.square)

    def lengths(self, codes: Codes) -> tuple[Array, Array]:
        """Return the lengths r of coded rows, and <o, u>, or refuse codes without them."""
        if codes.norms is None or codes.corrections is None:
            remedy = "Keep them with the codes: messages leave them out, files and stores do not."
            raise fail(self.kind, "codes must have norms and corrections", "codes without", remedy)
        return codes.norms, codes.corrections

    @property
    def square(self) -> float:
        """What the square of a row's length adds to its score."""
        return 0.0 if self.metric == "inner_product" else -0.5

    def query_terms(self, full: Array) -> tuple[Floats, Floats]:
        """Return the lengths of full rows, and what they add to a score, float64 (n,)."""
        wide = full.astype(np.float64)
        length = np.linalg.norm(wide, axis=1)
        if self.metric == "inner_product":
            return length, wide @ self._rotated_center
        return length, (1.0 - length**2 / 2.0 if self.metric == "cosine" else -(length**2) / 2.0)

    def finish(self, values: NDArray[Any], full: Array) -> Floats:
        """Return scores (n, n_q) or (n_q, k) of what rows have and queries lack; queries are the first axis."""
        return np.asarray(self.unit * (values + self.query_terms(full)[1][:, None]))

    def spread(self, codes: Codes, full: Array, scores: Floats, plausible: float = _PLAUSIBLE) -> Floats:
        """Return the standard error of scores (n_q, k) of k coded rows, or of k of each query one after the other."""
        of_all = len(codes) == scores.shape[1]
        r, a = (each.reshape(1 if of_all else len(full), -1) for each in self._quality(codes))
        length, offset = self.query_terms(full)
        of_rows = 0.0 if self.metric == "inner_product" else -(r**2) / 2.0
        products = scores / self.unit - offset[:, None] - of_rows
        size = r * length[:, None]
        rho = np.divide(products, size, out=np.zeros_like(size), where=size > 0)
        return np.asarray(abs(self.unit) * size * self._deviation(a, rho, plausible))

    def _quality(self, codes: Codes) -> tuple[Floats, Floats]:
        """Return the lengths r of coded rows, and a = <o, u> / |o|."""
        norms, corrections = self.lengths(codes)
        length = np.linalg.norm(np.asarray(codes, dtype=np.float64), axis=1)
        a = np.divide(corrections, length, out=np.ones_like(length), where=length > 0)
        return norms.astype(np.float64), np.where(a > 0, np.minimum(a, 1.0), 1.0)

    def _deviation(self, a: Floats, rho: Floats, plausible: float) -> Floats:
        """Return the standard error of a cosine; where it is itself estimated, the largest of those it may come from.

        The cosines within `plausible` standard errors e (1 - rho^2)^(1/2) of an estimate end at a root of a quadratic.
        """
        e = np.sqrt((1.0 - a**2) / a**2 / max(1, self.n_features - 1))
        t = (plausible * e) ** 2
        seen = np.minimum(np.abs(rho), np.sqrt(1.0 + t))
        least = np.maximum((seen - np.sqrt(t * np.maximum(1.0 + t - seen**2, 0.0))) / (1.0 + t), 0.0)
        return np.asarray(e * np.sqrt(np.maximum(1.0 - least**2, 0.0)))

    def product(self, left: Any, right: Any) -> Array:
        """Return scores of full rows with full rows or with codes, float32 (n, n_y)."""
        if isinstance(left, Codes):
            self._check_sides("codes", "codes" if isinstance(right, Codes) else "full")
            return np.ascontiguousarray(self.product(right, left).T)
        if isinstance(right, Codes):
            factors, offsets = self.row_terms(right)
            values = product(left, right).astype(np.float64) * factors + offsets
            return self.finish(values, left).astype(np.float32)
        values = left.astype(np.float64) @ right.astype(np.float64).T
        if self.metric == "inner_product":
            return values.astype(np.float32)
        return self.finish(values - np.linalg.norm(right.astype(np.float64), axis=1) ** 2 / 2, left).astype(np.float32)

    def _check_sides(self, *sides: Side) -> None:
        """Refuse two coded sides: of a row with itself the estimate would be too large."""
        if sides == ("codes", "codes"):
            remedy = "Take sides=('codes', 'full'): a query need not be coded."
            raise fail(self.kind, "one side of an estimate must be full", sides, remedy)

    def pair(self, sides: tuple[Side, Side]) -> Pair:
        """Return what is known of scores: exact between full rows, with the error of the coded side's rotation else."""
        self._check_sides(*sides)
        is_full = sides == ("full", "full")

        def variance(X: Any, Y: Any) -> Floats:
            exact = self.exact(X, Y)
            if is_full:
                return np.zeros_like(exact)
            coded, other = (X, Y) if sides[0] == "codes" else (Y, X)
            found = self._all_spread(self.encode(coded), self.transform(other), exact, sides, plausible=0.0)
            return found**2

        def seen(_given: Two, made: Two, K: NDArray[Any]) -> Floats:
            codes, full = made if isinstance(made[0], Codes) else made[::-1]
            return self._all_spread(codes, full, K.astype(np.float64), sides) ** 2

        reads = {"cosine": lambda K, _: np.sqrt(2 * np.maximum(1 - K, 0)), "l2": lambda K, _: np.sqrt(np.maximum(K, 0))}
        at_zero = 1.0 if self.metric == "cosine" else 0.0
        return Pair(self.exact, variance, seen, lambda: at_zero, reads.get(self.metric))

    def _all_spread(
        self, codes: Codes, full: Array, K: Floats, sides: tuple[Side, Side], plausible: float = _PLAUSIBLE
    ) -> Floats:
        """Return the standard errors of all scores K, whichever side is coded."""
        scores = K.T if sides[0] == "codes" else K
        errors = self.spread(codes, full, scores, plausible)
        return errors.T if sides[0] == "codes" else errors

    def exact(self, X: Any, Y: Any) -> Floats:
        """Return the scores of validated rows themselves, float64 (n, n_y)."""
        left, right = dense_rows(X), dense_rows(Y)
        if self.metric == "cosine":
            left, right = (_unit(rows) for rows in (left, right))
        if self.metric != "l2":
            return np.asarray(left @ right.T)
        return np.asarray([np.sum((right - row) ** 2, axis=1) for row in left]).reshape(len(left), len(right))

    def as_queries(self, rows: Array) -> Array:
        """Return rotated rows less the center as the full side has them: for inner products with it."""
        return rows + self._rotated_center.astype(np.float32) if self.metric == "inner_product" else rows

    def top_k(self, codes: Any, rows: Any, k: int, *, where: Any = None, **options: Any) -> Found:
        """Return the k best rows of codes for validated queries; as `VectorCodes.top_k`, of which it is all."""
        given = {"rescore": None, "finer": None, "ids": None, "return_std": False, "recall": None} | options
        return Nearest(self, codes, where, given.pop("recall")).top_k(rows, k, **given)

    def describe(self) -> tuple[dict[str, Any], Arrays]:
        """Return what a file keeps: metric, bits, center and rotation."""
        d = self.n_features
        spec = {"metric": self.metric, "bits": self.bits, "n_features": d, "n_components": d}
        return spec, {"center": self.center, **prefixed("projection", self.projection.arrays())}

    @classmethod
    def restore(cls, spec: dict[str, Any], arrays: Arrays) -> Self:
        """Return the encoder that was described."""
        n_features, _ = kept_sizes(cls.kind, spec)
        metric = check_option(cls.kind, "metric", spec["metric"], METRICS)
        bits = check_integer(cls.kind, "bits", spec["bits"], 1, 8)
        center = arrays["center"]
        if center.dtype != np.float32 or center.shape != (n_features,) or not np.isfinite(center).all():
            raise fail(cls.kind, f"center must be {n_features} finite float32", f"{center.dtype} {center.shape}")
        kept = arrays_of("projection", arrays)
        projection = Rotation("fixed").restore(Gaussian(), n_features, n_features, kept)
        return cls(metric, np.array(center), projection, bits, n_features)


def _unit(rows: NDArray[Any]) -> NDArray[Any]:
    """Return rows divided by their lengths; rows of zeros have no direction and are refused."""
    if rows.dtype == np.float32:
        norms = np.empty(len(rows), dtype=np.float32)
        block_norms(rows, norms)
    else:
        norms = np.linalg.norm(rows, axis=1)
    if not np.all(norms > np.finfo(np.float32).tiny):
        row = int(np.argmin(norms))
        raise ParameterError(
            f"VectorCodes: rows must not be all zeros for cosines, got such a row at {row}. Leave it out, or take "
            "metric='inner_product'."
        )
    return np.asarray(rows / norms[:, None])


@dataclass(eq=False, repr=False)
class VectorCodes(Encoder):
    """Encode vectors, such as embeddings, in a few bits per column, and search them without an index.

    Rows less their mean are rotated, and every entry is kept as one of 2^bits levels, with two numbers a row: its
    length, and its correction, the product of what the code decodes to with what it stands for. With them the estimate
    of a cosine, an inner product or a squared distance to a query in full precision is right on average over rotations,
    and its error is known.

    Parameters
    ----------
    bits : int from 1 to 8, default=4
        Of each column; 1, 2 and 4 are scanned fastest.
    metric : {"cosine", "inner_product", "l2"}, default="cosine"
        What scores are: cosines, inner products, or squared Euclidean distances.
    center : bool, default=True
        Subtract the mean of the rows that `fit` sees, of their directions for cosines. It changes no score, only
        errors: vectors that lie to one side of the origin are told apart better around their mean.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    center_ : ndarray of float32, shape (n_features,)
    drawn_ : DrawnVectorCodes
        All that was drawn, one frozen value; the other attributes are read from it.
    fingerprint_ : bytes
        Identity of the rotation and the center, the same for all bits.
    n_features_in_ : int

    Notes
    -----
    A row of d columns takes ceil(d bits / 8) bytes, rounded up to 8, and 8 more. With a = <o, u> / |o|, u the rotated
    direction and o its code, the error of a cosine has standard deviation
    ((1 - a^2) / a^2 (1 - cos^2) / (d - 1))^(1/2): 0.038, 0.019 and 0.005 at 1, 2 and 4 bits, 384 columns and cosine 0.
    The encoding needs no training but the mean, and rows may be added for ever.

    References
    ----------
    Gao and Long, RaBitQ: quantizing high-dimensional vectors with a theoretical error bound for approximate nearest
    neighbor search, for one bit; here with Lloyd-Max levels.

    Examples
    --------
    >>> import numpy as np
    >>> import lowtide as lt
    >>> X = np.random.default_rng(0).standard_normal((1000, 100))
    >>> vectors = lt.VectorCodes(bits=2, random_state=0).fit(X)
    >>> C = vectors.encode(X)
    >>> C.nbytes // 1000
    40
    >>> found = vectors.top_k(C, X[:2], 3, return_std=True)
    >>> found.indices[:, 0], bool(np.all(np.abs(found.scores[:, 0] - 1) < 5 * found.std[:, 0]))
    (array([0, 1]), True)
    """

    bits: int = 4
    _: KW_ONLY
    metric: str = "cosine"
    center: bool = True
    random_state: int | np.random.RandomState | None = None
    drawn_: DrawnVectorCodes = field(init=False)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw a rotation for rows as wide as X's, and take their mean.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n_samples, n_features)
        y : ignored
        """
        metric = check_option("VectorCodes", "metric", self.metric, METRICS)
        bits = check_integer("VectorCodes", "bits", self.bits, 1, 8)
        rows, d, seed = self.start_fit(X, all_columns=True)
        (child,) = np.random.SeedSequence(seed).spawn(1)
        projection = Rotation("fixed").draw(Gaussian(), d, d, np.random.Generator(np.random.PCG64(child)))
        none = np.zeros(d, dtype=np.float32)
        drawn = DrawnVectorCodes(metric, none, projection, bits, d)
        center = sum(drawn.prepare(block).sum(axis=0, dtype=np.float64) for _, block in float32_blocks(rows, d))
        mean = (center / rows.shape[0]).astype(np.float32) if self.center else none
        self.drawn_ = DrawnVectorCodes(metric, mean, projection, bits, d)
        return self

    @property
    def n_components(self) -> int:  # type: ignore[override]
        """Number of levels stored per row: as many as rows have columns."""
        return self.n_features_in_

    def top_k(
        self,
        codes: Any,
        X: Any,
        k: int = 10,
        *,
        where: Any = None,
        rescore: int | None = None,
        finer: Any = None,
        ids: Any = None,
        return_std: bool = False,
        recall: float | None = None,
    ) -> Found:
        """Return the k best rows of codes for each query, best first.

        Parameters
        ----------
        codes : Codes of this encoder, a source of them (a `CodeStore`, an opened file), or a `partition`
        X : array (q, n_features)
            Queries in full precision.
        k : int, default=10
            At least 1; there are fewer columns where there are fewer rows.
        where : mask (n,) or array of row numbers, optional
            Rows to choose from.
        rescore : int, optional
            Take k times so many candidates by `codes`, and the best k of them by `finer`.
        finer : Codes of more bits with the same fingerprint, a source of them, or array (n, n_features), optional
            The same rows in the same order, in codes or as they are.
        ids : array (n,), optional
            Names of the rows, which the result has in place of their numbers.
        return_std : bool, default=False
            Also return the standard error of each score, 0 where `finer` are rows.
        recall : float in (0, 1], optional
            Of a partition: the share of the full scan's rows that are wanted, 0.95 by default; 1 reads all cells.

        Returns
        -------
        Found
            A tuple (indices, scores, std, recall), the first three (q, k), int64 or of the ids' type, float32, and
            float32 or None; of a partition the recall that was measured of as many cells, else None.

        Notes
        -----
        Exact over the codes, but for a partition: every row that is allowed is scored, or ruled out by a bound. Codes
        in memory are read once for every 64 queries; of a source a block is read while the one before it is scanned.

        See Also
        --------
        within : all rows up to a score
        """
        queries = self.check_rows(X)
        options = {"rescore": rescore, "finer": finer, "ids": ids, "return_std": return_std, "recall": recall}
        return self.drawn_.top_k(codes, queries, k, where=where, **options)

    def within(self, codes: Any, X: Any, radius: float, *, where: Any = None, ids: Any = None) -> list[Found]:
        """Return all rows whose score is at least `radius` (for "l2" at most), best first, one result per query.

        Parameters
        ----------
        codes, X : as in `top_k`
        radius : float
            A cosine, an inner product, or a squared distance.
        where, ids : as in `top_k`

        Returns
        -------
        list of Found
            Of (m,) indices and scores, m as many as there are.
        """
        queries = self.check_rows(X)
        return Nearest(self.drawn_, codes, where).within(queries, radius, ids=ids)

    def partition(
        self,
        codes: Any,
        *,
        n_cells: int | None = None,
        queries: Any = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> Partition:
        """Return codes in cells of rows that lie together, so that `top_k` reads the nearest ones only.

        Cells are by k-means of what 40 rows a cell decode to. How many must be read for which recall is measured: of
        500 rows, each without itself, or of queries that are given.

        Parameters
        ----------
        codes : Codes of this encoder, or a source of them, which is read into memory
            Of 1, 2 or 4 bits and up to 1024 bytes a row.
        n_cells : int, optional
            By default the square root of the number of rows.
        queries : array (q, n_features), optional
            Queries like those to come, that are not rows of the codes.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        Partition
            For `top_k`, `within` (which reads all of it), and files.

        Notes
        -----
        Takes 8 bytes a row and 4 n_features a cell beside the codes. Time: n n_cells n_features multiplications, and a
        search of all codes for the queries that measure.

        Examples
        --------
        >>> import numpy as np
        >>> import lowtide as lt
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((50, 32)).repeat(100, axis=0) + 0.5 * rng.standard_normal((5000, 32))
        >>> vectors = lt.VectorCodes(bits=2, random_state=0).fit(X)
        >>> cells = vectors.partition(vectors.encode(X), random_state=0)
        >>> found = vectors.top_k(cells, X[:2], 3, recall=0.9)
        >>> found.indices[:, 0], found.recall >= 0.9
        (array([0, 1]), True)
        """
        seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        asked = None if queries is None else self.check_rows(queries)
        return Nearest(self.drawn_, codes).partition(n_cells, asked, np.random.Generator(np.random.PCG64(seed)))
