"""Report on a model and the rows it is for: everything that was measured, as numbers and as a page."""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lowtide
from lowtide._checks import check_integer
from lowtide.errors import LowtideError
from lowtide.learners import ClassScore, Evaluation, Learner, evaluate
from lowtide.persist import PathLike, as_path, to_bytes, write_whole
from lowtide.reports import card, words
from lowtide.reports.agreement import Agreement, agree, estimate_pairs, kernel_error
from lowtide.reports.page import check_extra, render
from lowtide.reports.subject import Column, Subject, Task, checked_model, subject_of
from lowtide.reports.trials import Importance, LearningPoint, Trial, Workshop, paired_difference

Floats = NDArray[np.float64]
Progress = Callable[[int, int, str], None]

_FORMAT = 1  # of the JSON; grows when a field changes its meaning
_PAIRED_ROWS = 300  # of which all pairs are compared with the exact kernel
_SHOWN_POINTS = 600
_MOST_CELLS, _MOST_PAIRS, _MOST_LINES = 12, 12, 40
_REMEDY = ", or ask for the numbers alone"


@dataclass(frozen=True)
class Report:
    """The measurements of a model; `html` is the page about it, `save` writes it, `to_json` has the numbers.

    Attributes
    ----------
    task : {"classification", "regression"}
    kind : str
        Class of the model.
    title, target : str
        What the rows and the true values are called.
    columns : tuple of Column
    n_given, n_rows, n_unanswered : int
        Rows given, rows looked at, and rows left out for want of a true value.
    n_learned, n_held, n_compared : int
        Rows that the refitted model learned from, rows that judge it, and rows that all of `trials` learned from.
    unseen : bool
        Whether the rows are known to be new to the model, so that its own answers are what is scored.
    stand_in : bool
        Whether another kind of learner stands in where the model is fitted anew.
    score, error : float
        Accuracy or R^2, and its standard error: of the model fitted anew, on rows held out; or, of unseen rows, of the
        model itself on all of them.
    evaluation : Evaluation
        That of `score`.
    own_score : float
        Of the model as it is, on all rows, seen or not.
    seen_gain : tuple of float
        How much better the model as it is scores on the rows held out than when fitted without them, and the standard
        error of that.
    trials : tuple of Trial
        Codes of several sizes and widths, float features, the exact kernel machine, and a constant.
    learning : tuple of LearningPoint
    importances : tuple of Importance or None
        None of more than 1,000 columns.
    kernel_error : dict of float or None
        Measured and predicted root mean square error of kernel values, and the share within two standard errors.
    agreement : Agreement or None
    kernel_note : str
        Why there are no errors of kernel values, where there are none.
    predictions : ndarray (2, n) or None
        True values and predictions of some rows, of a regressor.
    code_bytes, row_bytes, model_bytes : int
    settings, choices, sizes, versions : list of tuple of str
        The model card.
    date : str
    """

    task: Task
    kind: str
    title: str
    target: str
    columns: tuple[Column, ...]
    n_given: int
    n_rows: int
    n_unanswered: int
    n_learned: int
    n_held: int
    n_compared: int
    unseen: bool
    stand_in: bool
    score: float
    error: float
    evaluation: Evaluation
    own_score: float
    seen_gain: tuple[float, float]
    trials: tuple[Trial, ...]
    learning: tuple[LearningPoint, ...]
    importances: tuple[Importance, ...] | None
    kernel_error: dict[str, float] | None
    agreement: Agreement | None
    kernel_note: str
    predictions: Floats | None
    code_bytes: int
    row_bytes: int
    model_bytes: int
    settings: list[tuple[str, str]]
    choices: list[tuple[str, str, str, str]]
    sizes: list[tuple[str, str]]
    versions: list[tuple[str, str]]
    date: str

    @property
    def codes(self) -> list[Trial]:
        """The trials that are codes or float features."""
        return [each for each in self.trials if each.n_components is not None]

    @property
    def own_trial(self) -> Trial:
        """The trial that has the model's own settings."""
        return next(each for each in self.trials if each.is_model)

    @property
    def exact(self) -> Trial:
        """The exact kernel machine."""
        return self.trials[-2]

    @property
    def constant(self) -> Trial:
        """The most common class, or the mean, in place of a model."""
        return self.trials[-1]

    def gain(self, one: Trial, other: Trial) -> tuple[float, float]:
        """Return by how much one trial scores more than another, row by row, and the standard error of that."""
        return paired_difference(one.losses, other.losses)

    @property
    def reading(self) -> list[str]:
        """What was reached, in a few sentences."""
        return words.reading(self)

    @property
    def against(self) -> list[str]:
        """What to hold against the model, in sentences."""
        return words.against(self)

    @cached_property
    def html(self) -> str:
        """The page: one file without scripts or links to anything outside. Needs the extra `report`."""
        check_extra(_REMEDY)
        from lowtide.reports.drawing import figures

        return render(
            "lowtide.reports",
            "report.html.j2",
            figures(self),
            _REMEDY,
            report=self,
            word=words.word(self),
            score=lambda value: words.score(self, value),
            error=lambda value: words.error(self, value),
            rows_in_words=words.rows_in_words(self),
            points=lambda value: words.bare_points(self, value),
            judged_by=words.judged_by(self),
            confusions=_confusions(self.evaluation),
            class_scores=words.class_scores(self.evaluation),
            shown_classes=_shown_classes(self.evaluation),
            most_lines=_MOST_LINES,
        )

    def save(self, path: PathLike) -> None:
        """Write the page; what was there is replaced when it is complete.

        Parameters
        ----------
        path : str or path
        """
        write_whole(as_path(path), [self.html.encode()])

    def to_json(self) -> dict[str, Any]:
        """Return the numbers and sentences as plain values."""
        trials = [{n: v for n, v in asdict(each).items() if n != "losses"} for each in self.trials]
        plain = ("task", "kind", "title", "target", "n_given", "n_rows", "n_unanswered", "n_learned", "n_held")
        more = ("n_compared", "unseen", "stand_in", "score", "error", "own_score", "code_bytes", "row_bytes")
        importances = None if self.importances is None else [asdict(each) for each in self.importances]
        return {
            "format": _FORMAT,
            "lowtide": lowtide.__version__,
            **{name: getattr(self, name) for name in (*plain, *more, "model_bytes", "kernel_error", "date")},
            "seen_gain": list(self.seen_gain),
            "evaluation": self.evaluation.to_config(),
            "trials": trials,
            "learning": [asdict(each) for each in self.learning],
            "importances": importances,
            "columns": [asdict(column) for column in self.columns],
            **{name: dict(getattr(self, name)) for name in ("settings", "sizes", "versions")},
            "choices": [list(each) for each in self.choices],
            "reading": self.reading,
            "against": self.against,
        }

    def _repr_html_(self) -> str:
        """Return the page in a frame, which keeps its style to itself."""
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" title="lowtide report" style="width:100%;height:52rem;border:0"></iframe>'

    def __str__(self) -> str:
        """Return the sentences, without the page."""
        return "\n".join([*self.reading, "", "What to hold against it:", *(f"- {text}" for text in self.against)])


def report(
    model: Any,
    X: Any,
    y: Any,
    path: PathLike | None = None,
    *,
    rows: int = 20_000,
    unseen: bool = False,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Report:
    """Measure a model on rows of its table, and make a page of it that can be shown to others.

    Bytes against accuracy, float features and the exact kernel machine as baselines, confusions and calibration or
    residuals, the learning curve, errors of kernel values, which columns matter, a model card, and what to hold against
    the model.

    Parameters
    ----------
    model : learner of lowtide, fitted, or a Pipeline that ends in one
        Predicts classes, or one number a row.
    X : array, CSR matrix, data frame or list of rows, as the model takes them
        At least 40 rows.
    y : array (n,) of classes or numbers
    path : str or path, optional
        Where to write the page.
    rows : int, default=20_000
        The most rows that are looked at, drawn by chance where there are more.
    unseen : bool, default=False
        Whether the model has never seen these rows. Then its own answers are scored on all of them; otherwise it is
        fitted anew on three quarters, with the same parameters, and scored on the last quarter.
    random_state : int, default=0
        Settles the split and all that is drawn.
    progress : callable, optional
        Called with the number of steps done, of all steps, and the name of the next.

    Returns
    -------
    Report
        `html` is the page, `save(path)` writes it, `to_json()` has the numbers; notebooks show it.

    Notes
    -----
    Some twenty-five fits: about a minute of processor time for 20,000 rows. Sizes and baselines are
    compared on 1,500 rows at the most. The page is the same text for the same input on the same machine, but for the
    date. It names columns and classes and shows sums, and no row; of a regressor it shows some true values.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import lowtide as lt
    >>> X, y = load_iris(return_X_y=True)
    >>> model = lt.KernelClassifier(gamma=0.2, n_components=64, C=10.0, random_state=0).fit(X, y)
    >>> found = lt.report(model, X, y)
    >>> found.n_held, found.code_bytes, found.row_bytes
    (37, 8, 16)
    >>> print(found.reading[0])
    The model tells 3 classes apart: it predicts 'y' from 4 columns.
    """
    check_integer("report", "random_state", random_state, 0)
    if path is not None:
        check_extra(_REMEDY)
    learner = checked_model(model)
    subject = subject_of(model, X, y, rows=rows, model_bytes=_file_bytes(learner), seed=random_state)
    found = report_on(subject, unseen=unseen, seed=random_state, progress=progress)
    if path is not None:
        found.save(path)
    return found


def report_on(subject: Subject, *, unseen: bool, seed: int, progress: Progress | None = None) -> Report:
    """Return the report on a subject that has been read already; parameters as for `report`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit of the model has said it
        return _measured(subject, unseen, seed, progress or (lambda done, total, what: None))


def _measured(subject: Subject, unseen: bool, seed: int, progress: Progress) -> Report:
    """Refit, compare and judge, telling of each step before it."""
    shop, done, total = Workshop(subject, seed), 0, 2

    def tell(what: str) -> None:
        nonlocal done
        progress(done, total, what)
        done += 1

    tell("fitting anew")
    refitted = shop.refit()
    # Each size, the exact machine, each part of the learning curve, the columns and the kernel.
    total = 4 + len(shop.sizes(refitted)) + len(shop.learning_parts())
    rows, truth = shop.held
    judged = subject.model if unseen else refitted
    evaluation = evaluate(judged, *((subject.rows, subject.truth) if unseen else shop.held))
    is_classes = subject.task == "classification"
    value = evaluation.accuracy if is_classes else evaluation.r2
    error = evaluation.accuracy_error if is_classes else evaluation.r2_error
    assert value is not None
    assert error is not None
    own = shop.losses(subject.model.decision_.predict(subject.rows), subject.truth)
    before, after = (shop.losses(model.decision_.predict(rows), truth) for model in (subject.model, refitted))
    trials = tuple(shop.compare(refitted, tell))
    learning = tuple(shop.learning(refitted, tell))
    tell("columns")
    importances = shop.importances(refitted)
    tell("kernel")
    kernel, agreement, note = _kernel(subject, rows[:_PAIRED_ROWS], seed)
    return Report(
        **_about(subject),
        n_learned=len(shop.split.learned),
        n_held=len(truth),
        n_compared=shop.n_compared,
        unseen=unseen,
        stand_in=shop.is_stand_in,
        score=value,
        error=error,
        evaluation=evaluation,
        own_score=shop.score(own, subject.truth)[0],
        seen_gain=paired_difference(before, after),
        trials=trials,
        learning=learning,
        importances=None if importances is None else tuple(importances),
        kernel_error=kernel,
        agreement=agreement,
        kernel_note=note,
        predictions=None if is_classes else _points(judged, rows, truth),
        date=datetime.now(UTC).date().isoformat(),
    )


def _about(subject: Subject) -> dict[str, Any]:
    """Return the fields of a report that need no measuring: what it is about, and the model card."""
    model, sizes = subject.model, (subject.code_bytes, subject.row_bytes, subject.model_bytes)
    same = ("task", "title", "target", "columns", "n_given", "n_unanswered", "code_bytes", "row_bytes", "model_bytes")
    return {
        **{name: getattr(subject, name) for name in same},
        "kind": type(model).__name__,
        "n_rows": len(subject.truth),
        "settings": card.settings(model),
        "choices": card.choices(model),
        "sizes": card.sizes(model, *sizes),
        "versions": card.versions(),
    }


def _kernel(subject: Subject, rows: Any, seed: int) -> tuple[dict[str, float] | None, Agreement | None, str]:
    """Return the errors of the model's kernel values on pairs of rows, or why they are not known."""
    try:
        pairs = estimate_pairs(subject.model.features_, rows)
    except (LowtideError, TypeError, AttributeError) as error:
        return None, None, f"There are no errors of kernel values to show: {' '.join(str(error).split())}"
    return kernel_error([pairs]), agree([pairs], seed), ""


def _points(model: Learner, rows: Any, truth: Any) -> Floats:
    """Return true values and predictions of some rows."""
    return np.stack([truth[:_SHOWN_POINTS], model.decision_.predict(rows[:_SHOWN_POINTS])])


def _file_bytes(model: Learner) -> int:
    """Return what a file of a model takes, or its arrays where there is no form for one."""
    try:
        return len(to_bytes(model))
    except LowtideError:
        return model.decision_.nbytes


def _confusions(evaluation: Evaluation) -> list[tuple[Any, Any, int]] | None:
    """Return the pairs of classes that are taken for one another most often; None where the whole matrix is shown."""
    matrix, classes = evaluation.confusion, evaluation.classes
    if matrix is None or classes is None or len(classes) <= _MOST_CELLS:
        return None
    wrong = matrix - np.diag(np.diag(matrix))
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_PAIRS]
    pairs = [divmod(int(cell), len(classes)) for cell in order if wrong.flat[cell] > 0]
    return [(classes[i], classes[j], int(wrong[i, j])) for i, j in pairs]


def _shown_classes(evaluation: Evaluation) -> list[ClassScore]:
    """Return the scores of all classes, or of the worst where there are many."""
    scores = list(evaluation.per_class or ())
    return scores if len(scores) <= _MOST_LINES else sorted(scores, key=lambda each: each.f1)[:_MOST_LINES]
