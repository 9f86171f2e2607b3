"""How scores become answers: by the largest, by votes, as values, signs or probabilities; and classes in files."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from lowtide._checks import check_option, fail
from lowtide.codes import Codes
from lowtide.spec import Registry, Spec

Array = NDArray[Any]
Task = Literal["classification", "regression", "detection", "components"]
Output = Literal["predictions", "scores", "probabilities"]

_INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_NUMBERS = ("bool", *_INTEGERS, "float16", "float32", "float64")
_TEXTS: dict[str, Any] = {"str": np.str_, "StringDType": np.dtypes.StringDType(), "object": np.object_}
_PLAIN = (bool, int, float, str)
# An array of texts takes the longest one's room for each: 64 MB of them at the most.
_MOST_CHARACTERS = 1 << 24
# Below, what the bound of `decisive_scores` costs is more than the float32 product saves.
_LEAST_ROWS = 2000
# Rows between two looks at whether to go on.
_ROWS_AT_ONCE = 1 << 16


class Rule(Spec):
    """How scores (n, k) become answers; a file names it by its class."""

    task: ClassVar[Task]
    outputs: ClassVar[tuple[Output, ...]]
    # Whether predictions depend on nothing but which score is ahead.
    is_by_largest: ClassVar[bool] = False

    @abstractmethod
    def predictions(self, scores: Array, classes: Array | None) -> Array:
        """Return what a learner predicts."""

    def values(self, scores: Array, classes: Array | None) -> Array:
        """Return scores in the shape that a learner's `decision_function` has."""
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def class_scores(self, scores: Array, classes: Array | None) -> Array:
        """Return one score per class, or one for two classes: what probabilities are made of."""
        return scores

    def n_columns(self, n_classes: int) -> int | None:
        """Return how many scores a row has; None when any number will do."""
        return None


@dataclass(eq=False, repr=False)
class ArgMax(Rule):
    """The class of the largest score; of two classes a single score is positive for the second."""

    task = "classification"
    outputs = ("predictions", "scores", "probabilities")
    is_by_largest = True

    def predictions(self, scores: Array, classes: Array | None) -> Array:
        """Return the classes, (n,)."""
        return np.asarray(_known(classes)[largest(scores)])

    def n_columns(self, n_classes: int) -> int:
        """Return one for two classes, else one per class."""
        return 1 if n_classes == 2 else n_classes


@dataclass(eq=False, repr=False)
class Votes(Rule):
    """Votes of the pairs of classes, as in libsvm: a row has one score per pair.

    Parameters
    ----------
    shape : {"ovr", "ovo"}, default="ovr"
        Whether decision values have a column a class or a pair.
    break_ties : bool, default=False
        Decide by the values of "ovr", where votes alone may tie.
    """

    shape: str = "ovr"
    break_ties: bool = False
    task = "classification"
    outputs = ("predictions", "scores", "probabilities")

    def check(self) -> None:
        """Raise ParameterError when a hyperparameter is outside its limits."""
        check_option("Votes", "shape", self.shape, ("ovr", "ovo"))

    def predictions(self, scores: Array, classes: Array | None) -> Array:
        """Vote: a pair's first class on a positive value; the first class of the most votes, (n,)."""
        labels = _known(classes)
        if len(labels) == 2:
            return np.asarray(labels[(scores[:, 0] >= 0).astype(np.intp)])
        if self.break_ties:
            return np.asarray(labels[np.argmax(self.class_scores(scores, labels), axis=1)])
        votes = np.zeros((len(scores), len(labels)), dtype=np.intp)
        for column, (i, j) in enumerate(combinations(range(len(labels)), 2)):
            first = scores[:, column] > 0
            votes[:, i] += first
            votes[:, j] += ~first
        return np.asarray(labels[np.argmax(votes, axis=1)])

    def values(self, scores: Array, classes: Array | None) -> Array:
        """Return (n,) for two classes, else (n, n_classes) or (n, n_pairs)."""
        labels = _known(classes)
        if len(labels) == 2:
            return scores[:, 0]
        return self.class_scores(scores, labels) if self.shape == "ovr" else scores

    def class_scores(self, scores: Array, classes: Array | None) -> Array:
        """Return the votes of each class, and less than half a vote for the confidence in them, (n, n_classes)."""
        n_classes = len(_known(classes))
        votes, confidence = np.zeros((len(scores), n_classes)), np.zeros((len(scores), n_classes))
        for column, (i, j) in enumerate(combinations(range(n_classes), 2)):
            lost = scores[:, column] < 0
            votes[:, i] += ~lost
            votes[:, j] += lost
            confidence[:, i] += scores[:, column]
            confidence[:, j] -= scores[:, column]
        return votes + confidence / (3.0 * (np.abs(confidence) + 1.0))

    def n_columns(self, n_classes: int) -> int:
        """Return one per pair of classes."""
        return n_classes * (n_classes - 1) // 2


@dataclass(eq=False, repr=False)
class Values(Rule):
    """The scores themselves, a column a target.

    Parameters
    ----------
    flat : bool, default=True
        Whether predictions of one target are (n,) and not (n, 1).
    """

    flat: bool = True
    task = "regression"
    outputs = ("predictions",)

    def predictions(self, scores: Array, classes: Array | None) -> Array:
        """Return the scores, (n,) or (n, n_targets)."""
        return scores[:, 0] if self.flat else scores

    def values(self, scores: Array, classes: Array | None) -> Array:
        """Return the predictions."""
        return self.predictions(scores, classes)


@dataclass(eq=False, repr=False)
class Sign(Rule):
    """The sign of a single score: 1 for inliers, whose score is positive, and -1 for outliers."""

    task = "detection"
    outputs = ("predictions", "scores")

    def predictions(self, scores: Array, classes: Array | None) -> Array:
        """Return 1 and -1, (n,)."""
        return np.where(scores[:, 0] > 0, 1, -1)

    def n_columns(self, n_classes: int) -> int:
        """Return one."""
        return 1


@dataclass(eq=False, repr=False)
class Components(Rule):
    """Coordinates of a row, a column a component: nothing is predicted."""

    task = "components"
    outputs = ()

    def predictions(self, scores: Array, classes: Array | None) -> Array:
        """Return the coordinates, (n, n_components)."""
        return scores


RULES: Registry[Rule] = Registry(
    "rule", Rule, {"argmax": ArgMax, "votes": Votes, "values": Values, "sign": Sign, "components": Components}
)


@dataclass(frozen=True)
class Calibration:
    """An increasing curve g of scores, g(0) = 0, in straight pieces: probabilities are softmax(g(scores)).

    All classes share the curve; of two classes with a single score s the scores are 0 and s, so g(s) are the log-odds
    of the second. A common increasing curve keeps the order of scores, so the most probable class is the predicted one.

    Parameters
    ----------
    knots : tuple of float
        Where pieces meet, rising.
    slopes : tuple of float
        Of every piece, above 0: one more than knots. The first and the last have no end.

    Examples
    --------
    >>> import numpy as np
    >>> curve = Calibration(knots=(0.0,), slopes=(4.0, 1.0))
    >>> curve.log_odds(np.array([-0.5, 0.0, 2.0]))
    array([-2.,  0.,  2.])
    >>> curve.probabilities(np.array([[-0.5], [2.0]])).round(3)
    array([[0.881, 0.119],
           [0.119, 0.881]])
    """

    knots: tuple[float, ...] = ()
    slopes: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        knots, slopes = np.asarray(self.knots, dtype=np.float64), np.asarray(self.slopes, dtype=np.float64)
        if not np.isfinite(knots).all() or np.any(np.diff(knots) <= 0.0):
            raise fail("Calibration", "knots must be finite numbers that rise", self.knots)
        if len(slopes) != len(knots) + 1 or not np.all((slopes > 0.0) & (slopes < np.inf)):
            need = f"slopes must be {len(knots) + 1} finite numbers above 0, one more than knots"
            raise fail("Calibration", need, self.slopes)

    def log_odds(self, scores: Array) -> Array:
        """Return g of scores of any shape."""
        return self._height(scores) - self._height(np.zeros(()))

    def probabilities(self, scores: Array) -> Array:
        """Return the probabilities of scores (n, 1 or n_classes), (n, n_classes)."""
        return _put_ahead(scipy.special.softmax(self.log_odds(class_scores(scores)), axis=1), scores)

    def log_probabilities(self, scores: Array) -> Array:
        """Return the logarithms of `probabilities`, finite also where one is too small for a float."""
        return _put_ahead(scipy.special.log_softmax(self.log_odds(class_scores(scores)), axis=1), scores)

    def to_config(self) -> dict[str, list[float]]:
        """Return knots and slopes as JSON has them."""
        return {"knots": list(self.knots), "slopes": list(self.slopes)}

    @classmethod
    def from_config(cls, config: Any) -> Self:
        """Return the calibration of what `to_config` gave; anything else is refused."""
        if not isinstance(config, dict) or set(config) != {"knots", "slopes"}:
            raise fail("Calibration", "a calibration must have knots and slopes", config)
        for name, values in config.items():
            numbers = isinstance(values, list) and all(type(value) in (int, float) for value in values)
            if not numbers:
                raise fail("Calibration", f"{name} must be a list of numbers", values)
        return cls(tuple(map(float, config["knots"])), tuple(map(float, config["slopes"])))

    def _height(self, scores: Array) -> Array:
        """Return the curve but for a constant."""
        if not self.knots:
            return self.slopes[0] * scores
        knots, slopes = np.asarray(self.knots), np.asarray(self.slopes)
        piece = np.searchsorted(knots, scores)
        heights = np.concatenate([[0.0, 0.0], np.cumsum(slopes[1:-1] * np.diff(knots))])
        return np.asarray(heights[piece] + slopes[piece] * (scores - np.concatenate([knots[:1], knots])[piece]))


def class_scores(scores: Array) -> Array:
    """Return a column a class: a single score s of two classes stands for 0 and s."""
    return scores if scores.shape[1] > 1 else np.hstack([np.zeros_like(scores), scores])


def _put_ahead(values: Array, scores: Array) -> Array:
    """Put the class of the largest score ahead, in place, where rounding made another one equal to it."""
    ahead = largest(scores)
    rows = np.flatnonzero(np.argmax(values, axis=1) != ahead)
    values[rows, ahead[rows]] = np.nextafter(values[rows].max(axis=1), np.inf)
    return values


def largest(scores: Array) -> Array:
    """Return the position of the class that scores (n, 1 or n_classes) stand for, (n,)."""
    return (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else np.argmax(scores, axis=1)


def is_worthwhile(codes: Codes) -> bool:
    """Whether a first pass in float32 is faster; rows with factors of their own have no common bound."""
    return len(codes) >= _LEAST_ROWS and not codes.is_times_norms


def decisive_scores(codes: Codes, coef: Array, intercept: Array) -> Array:
    """Return scores (n, k) that put the same class ahead as D w + b in float64 does.

    A float32 product is off by at most (m + 4) 2^-24 sum_j |D_ij w_jk|: every term passes through at most as many
    roundings as there are terms, beside those of the weight and of its factors. Rows where the scores of two classes
    are nearer than that, 15 of the 10,000 of MNIST, are scored again in float64.
    """
    if len(codes) > _ROWS_AT_ONCE:
        starts = range(0, len(codes), _ROWS_AT_ONCE)
        return np.concatenate([decisive_scores(codes[i : i + _ROWS_AT_ONCE], coef, intercept) for i in starts])
    with np.errstate(over="ignore", invalid="ignore"):
        scores = (codes @ coef.astype(np.float32)).astype(np.float64) + intercept
        error = (len(coef) + 4) * 2.0**-24 * (_largest_values(codes) @ np.abs(coef))
        rows = np.flatnonzero(~_is_certain(scores, error))
    scores[rows] = codes[rows] @ coef.astype(np.float64, copy=False) + intercept
    return scores


def _largest_values(codes: Codes) -> Array:
    """Return how large a value of each column of D can be, float64 (m,)."""
    book = np.abs(codes.codebook.astype(np.float64)).reshape(len(codes.codebook), -1).max(axis=0)
    values = np.tile(book, codes.n_levels)
    return values if codes.scale is None else values * np.abs(codes.scale)


def _is_certain(scores: Array, error: Array) -> Array:
    """Whether the class ahead stays so, whatever the errors, (n,); never where a number is not finite."""
    if scores.shape[1] == 1:
        return np.asarray(np.abs(scores[:, 0]) > error[0])
    ahead = largest(scores)
    least = np.take_along_axis(scores, ahead[:, None], axis=1) - error[ahead][:, None]
    behind = scores + error < least
    return np.asarray(behind.sum(axis=1) == scores.shape[1] - 1)


def _known(classes: Array | None) -> Array:
    if classes is None:
        raise fail("Decision", "there must be classes to decide among", None)
    return classes


def labels_to_spec(labels: NDArray[Any]) -> dict[str, Any]:
    """Return labels (n_classes,) as their type's name and plain values, exact for numbers of any width.

    Examples
    --------
    >>> labels_to_spec(np.array(["cat", "dog"]))
    {'dtype': 'str', 'values': ['cat', 'dog']}
    """
    kind = {"U": "str", "T": "StringDType", "O": "object"}.get(labels.dtype.kind, labels.dtype.name)
    values = [value.item() if isinstance(value, np.generic) else value for value in labels.tolist()]
    if not _can_be_kept(kind, values):
        remedy = "Give the classes short names, or numbers, before fit."
        raise fail("save", "class labels must be numbers, booleans or texts", f"{labels.dtype} {labels[:3]}", remedy)
    return {"dtype": kind, "values": values}


def labels_from_spec(spec: dict[str, Any]) -> NDArray[Any]:
    """Return the labels that `labels_to_spec` described.

    Examples
    --------
    >>> labels_from_spec({"dtype": "int8", "values": [-1, 1]})
    array([-1,  1], dtype=int8)
    """
    kind, values = spec["dtype"], spec["values"]
    if not _can_be_kept(kind, values):
        raise fail("classes", "must be plain values of a known type", kind)
    labels = np.array(values, dtype=_TEXTS.get(kind, kind))
    if len(values) < 2 or len(set(values)) != len(values) or labels.tolist() != values:
        raise fail("classes", f"must be two or more different values of {kind}", values[:5])
    return labels


def _can_be_kept(kind: Any, values: Any) -> bool:
    """Whether a file can hold these values as this type."""
    if kind not in (*_NUMBERS, *_TEXTS) or not isinstance(values, list):
        return False
    plain = all(isinstance(value, _PLAIN) for value in values)
    return plain and (kind != "str" or max(len(str(v)) for v in values) * len(values) <= _MOST_CHARACTERS)
