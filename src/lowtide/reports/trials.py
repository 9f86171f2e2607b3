"""Measure a model on rows that it is refitted without: against other sizes, float features and the exact kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.svm import SVC

from lowtide.encoders import Encoder, row_keys_of
from lowtide.errors import LowtideError
from lowtide.learners import (
    KernelClassifier,
    KernelRegressor,
    Learner,
    accuracy_error,
    r2_error,
)
from lowtide.reports.subject import FLOAT_BITS, Subject, Task, item_bytes

Array = NDArray[Any]
Floats = NDArray[np.float64]
Tell = Callable[[str], None]

# A quarter of the rows judges. Curves and the exact machine, whose time grows with the cube of the rows, take fewer.
_HELD_SHARE = 4
_COMPARED, _JUDGING = 1500, 2000
# Sizes of codes around the model's, and of other widths at the same bytes.
_SIZES, _OTHER_SIZES = (0.125, 0.25, 0.5, 1.0, 2.0), (0.125, 0.5, 1.0)
_WIDTHS = (4, 2, 1)
_MOST_COMPONENTS, _MOST_OF_OTHERS, _FEWEST_COMPONENTS = 16_384, 4096, 8
# Of the exact machine: strengths to choose from, by folds of a few rows.
_STRENGTHS, _FOLDS, _CHOOSING = (1.0, 10.0, 100.0), 3, 800
_RIDGES = (1.0, 0.1, 0.01, 0.001)
# Of the learning curve: parts of the rows.
_PARTS = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
_FEWEST_LEARNED = 20
# Predictions of rows with a column shuffled, in all.
_SHUFFLED, _MOST_REPEATS, _MOST_SHUFFLED_COLUMNS = 400_000, 5, 1000


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows held out, which share no equal row; indices into those of the subject."""

    learned: NDArray[np.intp]
    held: NDArray[np.intp]

    @classmethod
    def of(cls, rows: Array, truth: Array, *, is_classes: bool, seed: int) -> Split:
        """Return a split by hashes of the rows: their order does not matter, and equal rows stay together.

        A class whose rows would all be held out is learned from whole.
        """
        keys = row_keys_of(rows) ^ np.random.default_rng(seed).integers(2**64, dtype=np.uint64)
        border = np.sort(keys)[len(keys) // _HELD_SHARE]
        held = keys < border
        if is_classes:
            unseen = np.setdiff1d(truth[held], truth[~held])
            held &= ~np.isin(truth, unseen)
        by_key = np.argsort(keys, kind="stable")  # so the first of them are a sample
        return cls(by_key[~held[by_key]], by_key[held[by_key]])


@dataclass(frozen=True)
class Trial:
    """One way to predict, with its losses on the rows that judge.

    Attributes
    ----------
    name : str
        "1 bit", "float32", "exact SVC", ...
    n_bytes : int
        Of an item in the form that is read.
    losses : ndarray (n,)
        1 for a wrong class; the squared error over the variance of the true values.
    score, error : float
        Accuracy or R^2, and its standard error.
    bits : int or None
        Bits a feature, 32 for float features; None where there are no features.
    n_components : int or None
    is_model : bool
        Whether it has the model's own settings.
    """

    name: str
    n_bytes: int
    losses: Floats
    score: float
    error: float
    bits: int | None = None
    n_components: int | None = None
    is_model: bool = False


@dataclass(frozen=True)
class LearningPoint:
    """The score of the model's settings after a number of rows, on rows held out and on rows learned from.

    `gain` is what came with the rows since the point before, and `gain_error` its standard error, row by row.
    """

    n_rows: int
    score: float
    error: float
    learned_score: float
    gain: float = 0.0
    gain_error: float = 0.0


@dataclass(frozen=True)
class Importance:
    """What the score of rows held out loses when a column is shuffled, and what the metric multiplies it by."""

    column: str
    drop: float
    error: float
    scale: float | None = None


def paired_difference(losses: Floats, others: Floats) -> tuple[float, float]:
    """Return by how much losses are lower than others in the mean, row by row, and the standard error of that."""
    difference = others - losses
    return float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(difference.size))


class Workshop:
    """Rows to learn from and rows that judge, and the model refitted on the former; everything is measured here.

    Parameters
    ----------
    subject : Subject
    seed : int
        Of the split, and of all that is drawn.
    """

    def __init__(self, subject: Subject, seed: int) -> None:
        self.subject, self.seed = subject, seed
        self.task: Task = subject.task
        self.split = Split.of(subject.rows, subject.truth, is_classes=self.task == "classification", seed=seed)
        self.is_stand_in = not isinstance(subject.model, (KernelClassifier, KernelRegressor))

    @property
    def learned(self) -> tuple[Array, Array]:
        """Rows to learn from, with their true values."""
        return self.subject.rows[self.split.learned], self.subject.truth[self.split.learned]

    @property
    def held(self) -> tuple[Array, Array]:
        """Rows that judge, with their true values."""
        return self.subject.rows[self.split.held], self.subject.truth[self.split.held]

    @property
    def n_compared(self) -> int:
        """Rows that everything which is compared learns from."""
        return len(self._few()[1])

    def refit(self) -> Learner:
        """Return the model with its own parameters and size, fitted on rows to learn from; "auto" is chosen anew.

        For a model that is no kernel machine of lowtide's own fit, a compressed one say, a kernel machine on its
        encoder stands in.
        """
        model: Any = self.subject.model
        if self.is_stand_in:
            cls = KernelClassifier if self.task == "classification" else KernelRegressor
            fresh: Any = cls(_variant(model.features_, self.seed), random_state=self.seed)
        else:
            fresh = clone(model)
            seed = fresh.random_state if isinstance(fresh.random_state, (int, np.integer)) else self.seed
            fresh.set_params(verbose=0, warm_start=False, random_state=seed)
            if fresh.features is None and fresh.n_components == "auto":  # fewer rows may choose another size
                fresh.set_params(n_components=model.features_.n_components)
        fitted: Learner = fresh.fit(*self.learned)
        return fitted

    def losses(self, predicted: Array, truth: Array) -> Floats:
        """Return what each row loses: 1 for a wrong class; the squared error over the variance of the true values."""
        if self.task == "classification":
            return np.asarray(predicted != truth, dtype=np.float64)
        variance = float(np.var(truth))
        return np.asarray((predicted - truth) ** 2 / (variance if variance > 0.0 else 1.0), dtype=np.float64)

    def score(self, losses: Floats, truth: Array) -> tuple[float, float]:
        """Return accuracy or R^2, and its standard error."""
        score = 1.0 - float(losses.mean())
        if self.task == "classification":
            return score, accuracy_error(1.0 - score, len(losses))
        return score, r2_error(losses, truth)

    def trial(self, predicted: Array, truth: Array, name: str, n_bytes: int, **about: Any) -> Trial:
        """Return how good predictions are."""
        losses = self.losses(predicted, truth)
        score, error = self.score(losses, truth)
        return Trial(name=name, n_bytes=n_bytes, losses=losses, score=score, error=error, **about)

    def sizes(self, refitted: Learner) -> list[tuple[dict[str, Any], bool]]:
        """Return parameters of the encoders to compare, and whether they are the model's own, which comes first."""
        encoder = refitted.features_
        assert encoder is not None
        params = encoder.get_params(deep=False)
        if "n_bytes" in params:  # codes that are learned for a size
            own = int(params["n_bytes"])
            sizes = {max(8, int(own * s) // 8 * 8) for s in _SIZES} - {own}
            return [({}, True), *(({"n_bytes": size}, False) for size in sorted(sizes))]
        own = int(params["n_components"])
        width = _width(refitted)
        sizes = {_components(own * s, width) for s in _SIZES if s != 1.0} - {own}
        found: list[tuple[dict[str, Any], bool]] = [({}, True)]
        found += [({"n_components": m}, False) for m in sorted(sizes) if m <= max(own, _MOST_COMPONENTS)]
        if not isinstance(params.get("quantizer"), str):
            return found
        for bits in _WIDTHS:
            if bits != width:
                sizes = {_components(own * width / bits * s, bits) for s in _OTHER_SIZES}
                found += [
                    ({"bits": bits, "n_components": m}, False)
                    for m in sorted(sizes)
                    if m <= min(2 * own, _MOST_OF_OTHERS)
                ]
        if width != FLOAT_BITS:
            few = _components(own * width / FLOAT_BITS, FLOAT_BITS)
            floats = {few, _components(np.sqrt(few * own), FLOAT_BITS), own}
            found += [({"bits": None, "n_components": m}, False) for m in sorted(floats)]
        return found

    def compare(self, refitted: Learner, tell: Tell) -> list[Trial]:
        """Fit codes of several sizes and widths, the exact kernel machine and a constant, on the same rows; judge them.

        What an encoder refuses is left out.
        """
        X, y, rows, truth = self._few()
        found = []
        for change, is_model in self.sizes(refitted):
            tell(_in_words(change))
            try:
                # The model itself keeps the frequencies that its task chose, and is there where no row is left out.
                encoder = _variant(refitted.features_, self.seed, keep=is_model, **change)
                is_there = is_model and len(y) == len(self.split.learned)
                fitted = refitted if is_there else _settled(refitted, encoder).fit(X, y)
            except LowtideError:
                if is_model:
                    raise
                continue
            drawn = fitted.decision_.encoder
            assert drawn is not None
            bits = _width(fitted)
            name = "float32" if bits == FLOAT_BITS else f"{bits} bit{'s' * (bits > 1)}"
            about = {"bits": bits, "n_components": drawn.n_outputs, "is_model": is_model}
            found.append(self.trial(fitted.predict(rows), truth, name, item_bytes(fitted), **about))
        tell("exact kernel")
        found.append(self._exact(refitted, X, y, rows, truth))
        if self.task == "classification":
            classes, counts = np.unique(y, return_counts=True)
            constant = np.full(len(truth), classes[np.argmax(counts)])
        else:
            constant = np.full(len(truth), y.mean())
        name = "most common class" if self.task == "classification" else "mean"
        found.append(self.trial(constant, truth, name, 0))
        return found

    def _few(self) -> tuple[Array, Array, Array, Array]:
        """Return the rows that are compared on: to learn from, and to judge by."""
        few, judging = self.split.learned[:_COMPARED], self.split.held[:_JUDGING]
        rows, truth = self.subject.rows, self.subject.truth
        few = _with_all_classes(few, self.split.learned, truth) if self.task == "classification" else few
        return rows[few], truth[few], rows[judging], truth[judging]

    def _exact(self, refitted: Learner, X: Array, y: Array, rows: Array, truth: Array) -> Trial:
        """Fit SVC, or kernel ridge regression, on the model's kernel or a plain one, whichever folds prefer."""
        gamma = 1.0 / (X.shape[1] * float(X.var()) or 1.0)  # scikit-learn's "scale"
        kernels = [(rbf_kernel(X, gamma=gamma), rbf_kernel(rows, X, gamma=gamma))]
        encoder = refitted.features_
        assert encoder is not None
        try:
            own = [encoder.expected_kernel(left, X, sides=("full", "full")) for left in (X, rows)]
            kernels.append((own[0], own[1]))
        except LowtideError:  # frequencies that a task chose, or sides that differ, have no such kernel
            pass
        is_classes = self.task == "classification"
        strengths = _STRENGTHS if is_classes else _RIDGES
        center = 0.0 if is_classes else float(y.mean())
        targets = y if is_classes else y - center

        def machine(strength: float) -> Any:
            return SVC(kernel="precomputed", C=strength) if is_classes else KernelRidge(strength, kernel="precomputed")

        n = min(len(y), _CHOOSING)
        folds = list(self._folds(y[:n]))
        candidates = [(strength, k) for k in range(len(kernels)) for strength in strengths]

        def loss(candidate: tuple[float, int]) -> float:
            strength, k = candidate
            gram = kernels[k][0]
            parts = []
            for learn, judge in folds:
                fitted = machine(strength).fit(gram[np.ix_(learn, learn)], targets[learn])
                parts.append(self.losses(fitted.predict(gram[np.ix_(judge, learn)]), targets[judge]).mean())
            return float(np.mean(parts))

        strength, k = min(candidates, key=loss) if folds else candidates[0]
        gram, across = kernels[k]
        predicted = machine(strength).fit(gram, targets).predict(across)
        name = "exact SVC" if is_classes else "exact kernel ridge"
        return self.trial(predicted if is_classes else predicted + center, truth, name, self.subject.row_bytes)

    def _folds(self, y: Array) -> Iterator[tuple[Array, Array]]:
        """Yield folds in which every class of the rows can be learned; none where that cannot be."""
        if self.task == "regression":
            yield from KFold(_FOLDS).split(y)
        elif np.unique(y, return_counts=True)[1].min() >= _FOLDS:
            yield from StratifiedKFold(_FOLDS).split(y, y)

    def learning_parts(self) -> list[int]:
        """Return the numbers of rows of the learning curve, but for all of them."""
        n = len(self.split.learned)
        return [round(n * part) for part in _PARTS if round(n * part) >= _FEWEST_LEARNED]

    def learning(self, refitted: Learner, tell: Tell) -> list[LearningPoint]:
        """Return the score of the settings that all rows chose, learned from ever more of them."""
        X, y = self.learned
        rows, truth = self.held
        points: list[LearningPoint] = []
        before: Floats | None = None
        for n in [*self.learning_parts(), len(y)]:
            few, model = np.arange(n), refitted
            if n < len(y):
                tell(f"learning from {n:,} rows")
                few = _with_all_classes(few, np.arange(len(y)), y) if self.task == "classification" else few
                model = _settled(refitted, _variant(refitted.features_, self.seed, keep=True)).fit(X[few], y[few])
            losses = self.losses(model.predict(rows), truth)
            some = few[:_JUDGING]
            learned, _ = self.score(self.losses(model.predict(X[some]), y[some]), y[some])
            gain = (0.0, 0.0) if before is None else paired_difference(losses, before)
            points.append(LearningPoint(len(few), *self.score(losses, truth), learned, *gain))
            before = losses
        return points

    def importances(self, refitted: Learner) -> list[Importance] | None:
        """Return what shuffling each column of the table costs, the most important first; None of too many columns.

        The features of a column are shuffled together, so a column of categories is one column.
        """
        columns = [column for column in self.subject.columns if column.features]
        if len(columns) > _MOST_SHUFFLED_COLUMNS:
            return None
        rows, truth = self.held
        n_repeats = max(1, min(_MOST_REPEATS, _SHUFFLED // (len(columns) * min(len(rows), _JUDGING))))
        n = max(200, min(_JUDGING, _SHUFFLED // (len(columns) * n_repeats)))
        rows, truth = rows[:n].copy(), truth[:n]
        before = self.losses(refitted.predict(rows), truth)
        scales, rng, found = _column_scales(refitted.features_), np.random.default_rng(self.seed), []
        for column in columns:
            places = list(column.features)
            own = rows[:, places].copy()
            after = np.zeros(len(truth))
            for _ in range(n_repeats):
                rows[:, places] = own[rng.permutation(len(own))]
                after += self.losses(refitted.predict(rows), truth) / n_repeats
            rows[:, places] = own
            drop, error = paired_difference(before, after)
            scale = None if scales is None else float(np.sqrt(np.mean(np.square(scales[places]))))
            found.append(Importance(column.name, drop, error, scale))
        return sorted(found, key=lambda each: -each.drop)


def _components(n: float, bits: int) -> int:
    """Return a number of components that every quantizer and map can have; of codes one that fills words of 8 bytes."""
    step = _FEWEST_COMPONENTS if bits == FLOAT_BITS else 64 // min(bits, 8)
    return max(step, round(n / step) * step)


def _variant(encoder: Any, seed: int, *, keep: bool = False, **change: Any) -> Any:
    """Return an encoder with the settled gamma of a fitted one and some other parameters, not fitted.

    `keep` keeps frequencies that a task chose; their places mean nothing at another size.
    """
    fresh: Encoder = clone(encoder)
    params = fresh.get_params(deep=False)
    settled: dict[str, Any] = {}
    gamma = getattr(encoder, "gamma_", None) if isinstance(params.get("gamma"), str) else None
    if gamma is not None:
        settled["gamma"] = gamma
    if not keep and "kept" in params:
        settled["kept"] = None
    if not isinstance(params.get("random_state", 0), (int, np.integer)):
        settled["random_state"] = seed
    return fresh.set_params(**settled, **change)


def _settled(refitted: Learner, encoder: Any) -> Any:
    """Return a learner on an encoder with the loss that the refitted model has, not fitted."""
    fresh: Any = clone(refitted)
    params: dict[str, Any] = {"features": encoder, "budget": None}
    if hasattr(fresh, "loss"):
        params["loss"] = fresh.loss if fresh.loss != "auto" else _chosen_loss(refitted)
    if encoder.get_params(deep=False).get("bits", 1) is None:
        params |= {"train_on": None, "predict_on": None}
    return fresh.set_params(**params)


def _chosen_loss(refitted: Any) -> str:
    return str(refitted.choice_.settings.get("loss", "squared"))


def _width(model: Learner) -> int:
    """Return the bits per feature that a model reads."""
    template = model.decision_.template if model.decision_.side == "codes" else None
    if template is None:
        return FLOAT_BITS
    return max(template.bits) if isinstance(template.bits, Sequence) else int(template.bits)


def _in_words(change: dict[str, Any]) -> str:
    if not change:
        return "the model's size"
    if "n_bytes" in change:
        return f"{change['n_bytes']} bytes"
    width = "" if "bits" not in change else ", float32" if change["bits"] is None else f", {change['bits']}-bit"
    return f"{change['n_components']} features{width}"


def _with_all_classes(few: NDArray[np.intp], whole: NDArray[np.intp], truth: Array) -> NDArray[np.intp]:
    """Return rows and, of each class that has none among them, the first of all rows."""
    missing = np.setdiff1d(truth[whole], truth[few])
    more = [whole[np.argmax(truth[whole] == label)] for label in missing]
    return np.concatenate([few, np.array(more, dtype=np.intp)])


def _column_scales(encoder: Any) -> Floats | None:
    """Return what a learned metric multiplies each feature by, in length; None without one."""
    metric = getattr(encoder.drawn_, "metric", None)
    if metric is None:
        return None
    return np.linalg.norm(np.asarray(metric, dtype=np.float64).reshape(len(metric), -1), axis=1)
