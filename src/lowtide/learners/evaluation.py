"""How good a fitted learner is on rows with known answers: scores, confusions and calibration, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import (
    confusion_matrix,
    log_loss,
    mean_absolute_error,
    mean_squared_error,
    median_absolute_error,
    r2_score,
)
from sklearn.pipeline import Pipeline

from lowtide._checks import fail
from lowtide.learners.decision import Decision
from lowtide.learners.design import column_of, is_source
from lowtide.learners.learner import as_model

__all__ = ["ClassScore", "Evaluation", "ReliabilityBin", "Tally", "accuracy_error", "evaluate", "r2_error"]

Array = NDArray[Any]
Task = Literal["classification", "regression", "detection"]

_OWNER, _BINS = "evaluate", 20
_QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
# Scores that are there at once: the rows of a block have so many in all.
_SCORES_AT_ONCE = 1 << 20
# Classes that a printed matrix has a column for; of more, so many pairs that are taken for one another are printed.
_MOST_COLUMNS, _MOST_PAIRS, _MOST_CLASSES = 12, 10, 30
_LONGEST_NAME, _HALF = 24, 10
_OF_CLASSES = (
    *("accuracy", "accuracy_error", "balanced_accuracy", "baseline", "n_unknown", "log_loss", "brier_score"),
    *("calibration_error", "classes", "confusion", "per_class", "reliability"),
)
_OF_NUMBERS = ("r2", "r2_error", "rmse", "mae", "median_absolute_error", "residual_quantiles")


@dataclass(frozen=True)
class ClassScore:
    """Precision, recall and F1 of one class.

    Attributes
    ----------
    label : object
        The class.
    precision : float
        The share of rows predicted as this class that are of it; 0 when none is.
    recall : float
        The share of its rows that are predicted as it; 0 without rows.
    f1 : float
        The harmonic mean of both.
    support : float
        Its rows, or their weights.
    """

    label: Any
    precision: float
    recall: float
    f1: float
    support: float


@dataclass(frozen=True)
class ReliabilityBin:
    """Predictions of about equal probability, and how many of them were right.

    Attributes
    ----------
    probability : float
        The mean probability that the model gave to the class it predicted.
    frequency : float
        The share of these predictions that were right.
    count : int
        How many they are.
    """

    probability: float
    frequency: float
    count: int


@dataclass(frozen=True)
class Evaluation:
    """The scores of a model on rows with known answers; scores of the other task are None.

    Attributes
    ----------
    task : {"classification", "regression", "detection"}
        Of a detector the classes are -1 and 1.
    n_rows : int
    accuracy, accuracy_error : float
        The share of right answers, and its standard error.
    balanced_accuracy : float
        The mean recall of the classes that have rows.
    baseline : float
        The accuracy of always naming the most common class of these rows.
    n_unknown : int
        Rows of classes that the model does not know: wrong answers, and left out of everything below.
    log_loss : float or None
        The mean of -log(probability of the true class); None for models without probabilities, as are those below.
    brier_score : float or None
        The mean squared distance of probabilities and truth, summed over classes; half of it for two classes.
    calibration_error : float or None
        The mean distance of probability and frequency over the bins of `reliability`, by their rows.
    classes : tuple
    confusion : ndarray (n_classes, n_classes)
        Rows of the true class i that are predicted as class j, or their weights.
    per_class : tuple of ClassScore
    reliability : tuple of ReliabilityBin or None
        By twentieths of the probability of the predicted class; empty bins are left out.
    r2, r2_error : float or None
        The share of the variance that is explained, and its standard error; None for one row.
    rmse, mae, median_absolute_error : float
        The root mean square, the mean and the median of the errors; the mean of these over several targets.
    residual_quantiles : dict of str to float
        Quantiles of truth minus prediction.
    """

    task: Task
    n_rows: int
    accuracy: float | None = None
    accuracy_error: float | None = None
    balanced_accuracy: float | None = None
    baseline: float | None = None
    n_unknown: int | None = None
    log_loss: float | None = None
    brier_score: float | None = None
    calibration_error: float | None = None
    classes: tuple[Any, ...] | None = None
    confusion: Array | None = None
    per_class: tuple[ClassScore, ...] | None = None
    reliability: tuple[ReliabilityBin, ...] | None = None
    r2: float | None = None
    r2_error: float | None = None
    rmse: float | None = None
    mae: float | None = None
    median_absolute_error: float | None = None
    residual_quantiles: dict[str, float] | None = None

    def to_config(self) -> dict[str, Any]:
        """Return it ready for JSON: the fields of the task, arrays as lists."""
        fields = asdict(self)
        names = _OF_NUMBERS if self.task == "regression" else _OF_CLASSES
        found = {name: fields[name] for name in ("task", "n_rows", *names)}
        if self.confusion is not None:
            found |= {"confusion": self.confusion.tolist(), "classes": list(self.classes or ())}
        return found

    def __str__(self) -> str:
        """Return the scores as text, then the classes, the confusions and the calibration."""
        return "\n\n".join(_of_numbers(self) if self.task == "regression" else _of_classes(self))


def evaluate(model: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Evaluation:
    """Compare the predictions of a fitted learner with known answers.

    Parameters
    ----------
    model : learner of lowtide, fitted, or a Pipeline that ends in one
    X : array, CSR matrix or data frame (n, n_features), Codes, or another CodeSource
        One row at least. Rows and codes are scored a block at a time.
    y : array (n,) of classes or numbers, (n, n_targets) of numbers, or the name of a column of a CodeStore
        The true answers; those of a detector are 1 and -1.
    sample_weight : array (n,) of float or None, default=None
        How much a row counts; not negative.

    Returns
    -------
    Evaluation
        `print` shows it, `to_config` returns it ready for JSON.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import lowtide as lt
    >>> X, y = load_iris(return_X_y=True)
    >>> model = lt.KernelClassifier(gamma=0.2, n_components=512, random_state=0).fit(X[::2], y[::2])
    >>> found = lt.evaluate(model, X[1::2], y[1::2])
    >>> found.n_rows, found.accuracy > 0.9, found.confusion.shape
    (75, True, (3, 3))
    """
    while isinstance(model, Pipeline):
        X = X if len(model.steps) == 1 else model[:-1].transform(X)
        model = model.steps[-1][1]
    learner = as_model(model)
    tally = Tally(learner.decision_)
    truth = column_of(X, y) if is_source(X) else y
    if isinstance(truth, str):
        raise fail(_OWNER, "y must be an array, or name a column of a CodeStore", truth)
    truth = np.asarray(truth)
    if truth.dtype.kind == "f" and not np.isfinite(truth).all():
        raise fail(
            _OWNER, "y must have an answer a row, finite where it is a number", float(truth[~np.isfinite(truth)][0])
        )
    rows = X if is_source(X) else learner._input(X)
    n = rows.n_rows if is_source(X) else rows.shape[0]
    if truth.shape[:1] != (n,):
        raise fail(_OWNER, f"y must have an answer a row, {n}", truth.shape)
    weight = None if sample_weight is None else _checked_weight(sample_weight, n)
    start = 0
    for block in _blocks(rows, max(1, _SCORES_AT_ONCE // len(learner.decision_.intercept))):
        end = start + block.shape[0]
        tally.add(block, truth[start:end], None if weight is None else weight[start:end])
        start = end
    return tally.evaluation()


class Tally:
    """Count how good the answers of a decision are, in memory that does not grow with the rows.

    Numbers are kept, 16 bytes a row: a median needs them all.

    Parameters
    ----------
    decision : Decision
        What answers; one of components predicts nothing and is refused.
    """

    def __init__(self, decision: Decision) -> None:
        if decision.task == "components":
            raise fail(
                _OWNER, "model must predict classes or numbers", "components", "Evaluate what is fitted on them."
            )
        self.decision, self.n_rows = decision, 0
        self._task: Task = decision.task
        labels = np.array([-1, 1]) if decision.task == "detection" else decision.classes
        # Texts that are objects are found as texts.
        self._labels: Array | None = labels if labels is None else np.array(labels.tolist())
        self._has_probabilities = "probabilities" in decision.outputs and labels is not None
        k = 0 if labels is None else len(labels)
        self._confusion = np.zeros((k, k))
        self._weight = self._squares = 0.0  # of all rows, and their squares
        self._n_unknown, self._is_weighted = 0, False
        self._loss = self._brier = 0.0
        self._bins = np.zeros((4, _BINS))  # probability, right answers and weight, each a sum; and rows
        self._numbers: list[tuple[Array, Array, Array]] = []

    def add(self, X: Any, truth: Array, weight: Array | None = None) -> None:
        """Count rows that the encoder takes, or codes, with their true answers and their weights."""
        if len(truth) == 0:
            return
        weights = np.ones(len(truth)) if weight is None else np.asarray(weight, dtype=np.float64)
        self._is_weighted |= weight is not None
        self.n_rows += len(truth)
        self._weight += float(weights.sum())
        self._squares += float(np.square(weights).sum())
        scores = self.decision.scores(X, checked=True)
        predicted = self.decision.answer("predictions", scores)
        if self._labels is None:
            self._add_numbers(truth, predicted, weights)
            return
        place, known = _places(truth, self._labels)
        said, _ = _places(predicted, self._labels)
        self._n_unknown += int((~known).sum())
        counted = known & (weights > 0.0)
        place, said, weights = place[counted], said[counted], weights[counted]
        if len(place) == 0:
            return
        labels = range(len(self._labels))
        self._confusion += confusion_matrix(place, said, labels=labels, sample_weight=weights)
        if self._has_probabilities:
            self._add_probabilities(self.decision.answer("probabilities", scores)[counted], place, said, weights)

    def evaluation(self) -> Evaluation:
        """Return what was found; there must have been a row."""
        if self._weight == 0.0:
            raise fail(_OWNER, "there must be rows with a true answer and a weight above 0, one at least", 0)
        return self._of_numbers() if self._labels is None else self._of_classes(self._labels)

    def _add_numbers(self, truth: Array, predicted: Array, weights: Array) -> None:
        values = np.asarray(truth, dtype=np.float64).reshape(len(truth), -1)
        answers = predicted.reshape(len(truth), -1)
        if values.shape != answers.shape:
            raise fail(_OWNER, f"y must have {answers.shape[1]} values a row, as the model has", values.shape[1])
        self._numbers.append((values, answers, weights))

    def _add_probabilities(self, shares: Array, place: Array, said: Array, weights: Array) -> None:
        n, k = shares.shape
        self._loss += float(log_loss(place, shares, labels=range(k), sample_weight=weights, normalize=False))
        distance = shares.copy()
        distance[np.arange(n), place] -= 1.0
        self._brier += float(weights @ np.square(distance).sum(axis=1)) / (2.0 if k == 2 else 1.0)
        sure = shares[np.arange(n), said]
        each = np.minimum((sure * _BINS).astype(np.intp), _BINS - 1)
        for line, values in zip(self._bins, (weights * sure, weights * (place == said), weights, np.ones(n))):
            line += np.bincount(each, values, _BINS)

    def _of_classes(self, labels: Array) -> Evaluation:
        matrix = self._confusion
        known, n_effective = float(matrix.sum()), self._weight**2 / self._squares
        accuracy = float(np.trace(matrix)) / self._weight
        counts = matrix if self._is_weighted else matrix.astype(np.int64)
        support, said, hits = counts.sum(axis=1), counts.sum(axis=0), np.diag(counts)
        # Of classes without rows, or that are never predicted, there is nothing to divide.
        recall, precision, f1 = (
            hits / np.where(whole > 0, whole, 1) for whole in (support, said, 0.5 * (support + said))
        )
        names = labels.tolist()
        columns = (each.tolist() for each in (precision, recall, f1, support))
        shares: dict[str, Any] = {}
        if self._has_probabilities and known:
            shares = {"log_loss": self._loss / known, "brier_score": self._brier / known, **self._calibration(known)}
        return Evaluation(
            task=self._task,
            n_rows=self.n_rows,
            accuracy=accuracy,
            accuracy_error=accuracy_error(1.0 - accuracy, n_effective),
            balanced_accuracy=float(recall[support > 0].mean()) if known else 0.0,
            baseline=float(matrix.sum(axis=1).max()) / self._weight,
            n_unknown=self._n_unknown,
            classes=tuple(names),
            confusion=counts,
            per_class=tuple(map(ClassScore, names, *columns)),
            **shares,
        )

    def _calibration(self, known: float) -> dict[str, Any]:
        bins = [
            ReliabilityBin(float(sure / weight), float(right / weight), int(n))
            for sure, right, weight, n in self._bins.T
            if weight > 0.0
        ]
        error = float(np.abs(self._bins[0] - self._bins[1]).sum()) / known
        return {"calibration_error": error, "reliability": tuple(bins)}

    def _of_numbers(self) -> Evaluation:
        truth, said, weights = (np.concatenate(parts) for parts in zip(*self._numbers))
        weighted: Any = {"sample_weight": weights if self._is_weighted else None}
        errors = mean_squared_error(truth, said, **weighted, multioutput="raw_values")
        losses = (np.square(truth - said) / _spread(truth, weights / self._weight)).mean(axis=1)
        several = self.n_rows > 1
        r2 = float(r2_score(truth, said, **weighted)) if several else None
        residuals = (truth - said).ravel()
        by_weight: dict[str, Any] = {}
        if self._is_weighted:
            by_weight = {"weights": np.repeat(weights, truth.shape[1]), "method": "inverted_cdf"}
        quantiles = np.quantile(residuals, _QUANTILES, **by_weight)
        return Evaluation(
            task="regression",
            n_rows=self.n_rows,
            r2=r2,
            r2_error=r2_error(losses, truth, weights) if several else None,
            rmse=float(np.sqrt(errors).mean()),
            mae=float(mean_absolute_error(truth, said, **weighted)),
            median_absolute_error=float(median_absolute_error(truth, said, **weighted)),
            residual_quantiles={str(level): float(value) for level, value in zip(_QUANTILES, quantiles)},
        )


def accuracy_error(wrong: float, n: float) -> float:
    """Return the standard error of the share of right answers, of which `wrong` were not, over n rows.

    One more row of each kind is counted: n right answers do not say that there will be no wrong one.
    """
    share = (wrong * n + 1.0) / (n + 2.0)
    return float(np.sqrt(share * (1.0 - share) / n))


def r2_error(losses: Array, truth: Array, weight: Array | None = None) -> float:
    """Return the standard error of R^2 = 1 - mean(losses): a ratio of two means, by the delta method.

    Losses (n,) are squared errors over the variance of their target, the mean over several.
    """
    n = len(truth)
    shares = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    values = np.asarray(truth, dtype=np.float64).reshape(n, -1)
    deviation = ((values - shares @ values) ** 2 / _spread(values, shares)).mean(axis=1)
    change = losses - (shares @ losses) * deviation
    return float(np.sqrt(np.square(shares) @ np.square(change - shares @ change)))


def _spread(values: Array, shares: Array) -> Array:
    """Return the variance of each column, 1 where it has none."""
    found = shares @ np.square(values - shares @ values)
    return np.where(found > 0.0, found, 1.0)


def _places(values: Array, labels: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return where values stand among labels, and which of them do."""
    texts = labels.dtype.kind in "US"
    values = values.astype(str) if texts and values.dtype.kind == "O" else values
    if texts != (values.dtype.kind in "US") or values.ndim != 1:
        need = f"y must be one class a row, as {labels.tolist()[:3]} are"
        raise fail(_OWNER, need, values[:3].tolist())
    order = np.argsort(labels)
    place = order[np.minimum(np.searchsorted(labels, values, sorter=order), len(labels) - 1)]
    return place, np.asarray(labels[place] == values)


def _checked_weight(given: ArrayLike, n: int) -> Array:
    weight = np.asarray(given, dtype=np.float64)
    if weight.shape != (n,):
        raise fail(_OWNER, f"sample_weight must have a number a row, ({n},)", weight.shape)
    bad = ~((weight >= 0.0) & (weight < np.inf))
    if bad.any():
        raise fail(_OWNER, "sample_weight must be finite and not negative", float(weight[bad][0]))
    return weight


def _blocks(rows: Any, size: int) -> Iterator[Any]:
    """Yield rows or codes, so many at a time."""
    if is_source(rows):
        yield from rows.blocks(size)
        return
    for start in range(0, rows.shape[0], size):
        yield rows[start : start + size]


def _of_numbers(found: Evaluation) -> Iterator[str]:
    """Yield the scores, and the quantiles of what is left."""
    assert found.residual_quantiles is not None
    r2 = "" if found.r2 is None else f"{found.r2:.4f} +- {found.r2_error:.4f}"
    values = (found.rmse or 0.0, found.mae or 0.0, found.median_absolute_error or 0.0)
    names = ("root mean square error", "mean absolute error", "median absolute error")
    lines = [("rows", f"{found.n_rows:,}"), ("R^2", r2)]
    yield _sheet([*lines, *zip(names, map(_amount, values))])
    quantiles = found.residual_quantiles.items()
    ends = {"0.0": "least", "1.0": "most"}
    head = ["quantile", *(ends.get(level, f"{float(level):.0%}") for level, _ in quantiles)]
    yield _columns([head, ["truth - prediction", *(_amount(value) for _, value in quantiles)]])


def _of_classes(found: Evaluation) -> Iterator[str]:
    """Yield the scores, the classes, which is taken for which, and the calibration."""
    assert found.per_class is not None
    shares = [
        ("balanced accuracy", found.balanced_accuracy),
        ("log-loss", found.log_loss),
        ("Brier score", found.brier_score),
        ("calibration error", found.calibration_error),
    ]
    usual = f"always the most common class: {found.baseline:.4f}"
    accuracy = f"{found.accuracy:.4f} +- {found.accuracy_error:.4f} ({usual})"
    unknown = f"{found.n_unknown:,}, counted as wrong" if found.n_unknown else ""
    values = [(name, "" if value is None else f"{value:.4f}") for name, value in shares]
    yield _sheet([("rows", f"{found.n_rows:,}"), ("of unknown classes", unknown), ("accuracy", accuracy), *values])
    lines = [["class", "rows", "precision", "recall", "F1"]]
    hardest = sorted(found.per_class, key=lambda each: each.f1)[:_MOST_CLASSES]
    shown = [each for each in found.per_class if len(found.per_class) <= _MOST_CLASSES or each in hardest]
    for each in shown:
        scores = (f"{value:.3f}" for value in (each.precision, each.recall, each.f1))
        lines.append([_name(each.label), _amount(each.support), *scores])
    left = len(found.per_class) - len(shown)
    yield _columns(lines) + (f"\n... and {left} more classes, of a higher F1" if left else "")
    yield _confusions(found)
    if found.reliability:
        bins = [[f"{b.probability:.3f}", f"{b.frequency:.3f}", f"{b.count:,}"] for b in found.reliability]
        yield _columns([["probability", "right", "rows"], *bins], n_texts=0)


def _confusions(found: Evaluation) -> str:
    """Return the matrix where it can be read; of many classes the pairs that are taken for one another most often."""
    assert found.per_class is not None
    assert found.confusion is not None
    matrix, names = found.confusion, [_name(each.label) for each in found.per_class]
    if len(names) <= _MOST_COLUMNS:
        lines = [[name, *map(_amount, line)] for name, line in zip(names, matrix.tolist())]
        return _columns([["true \\ predicted", *names], *lines])
    wrong = matrix - np.diag(np.diag(matrix))
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_PAIRS]
    pairs = [divmod(int(cell), len(names)) for cell in order if wrong.flat[cell] > 0]
    if not pairs:
        return "No class was taken for another."
    lines = [[names[i], names[j], _amount(wrong[i, j].item())] for i, j in pairs]
    return _columns([["true", "predicted", "rows"], *lines], n_texts=2)


def _amount(value: float) -> str:
    """Return a number of rows, a sum of their weights or an error, of four digits or more."""
    return f"{value:,.0f}" if isinstance(value, int) or 1e3 <= abs(value) < 1e12 else f"{value:.4g}"


def _name(label: Any) -> str:
    """Return a class in a few characters that move no cursor."""
    text = str(label)
    text = text if text.isprintable() and text.strip() else repr(text)
    return text if len(text) <= _LONGEST_NAME else f"{text[:_HALF]}...{text[-_HALF:]}"


def _sheet(lines: Sequence[tuple[str, str]]) -> str:
    width = max(len(name) for name, text in lines if text) + 3
    return "\n".join(f"{name:{width}}{text}" for name, text in lines if text)


def _columns(lines: Sequence[Sequence[str]], n_texts: int = 1) -> str:
    """Return cells below one another, texts to the left and numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    aligned = [
        [cell.ljust(width) if j < n_texts else cell.rjust(width) for j, (cell, width) in enumerate(zip(line, widths))]
        for line in lines
    ]
    return "\n".join("  ".join(cells).rstrip() for cells in aligned)
