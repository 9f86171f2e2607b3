"""Long fits say how far they are: scikit-learn's callbacks, and a bar."""

import numpy as np
import pytest
from learners.samples import classes, classifier, curve, regressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lowtide.learners.machine import CallbackSupport

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks since 1.9")


class Recorder:
    """Keeps the names of tasks as they end; stops L-BFGS when told to."""

    def __init__(self, stop_after=None):
        self.stop_after, self.ended, self.torn_down, self.roots = stop_after, [], 0, 0

    def setup(self, estimator, context):
        self.largest = context.max_subtasks

    def teardown(self, estimator, context):
        self.torn_down += 1

    def on_fit_task_begin(self, estimator, context):
        self.roots += context.parent is None

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context.task_name)
        return self.stop_after is not None and self.ended.count("iteration") >= self.stop_after


def blocks_of(X, y):
    return ((X[i : i + 30], y[i : i + 30]) for i in range(0, len(X), 30))


def test_squared_loss_reports_its_two_steps():
    recorder = Recorder()
    classifier(n_components=16).set_callbacks(recorder).fit(*classes())
    assert recorder.ended == ["encode", "solve", "fit"]
    assert (recorder.roots, recorder.torn_down, recorder.largest) == (1, 1, 2)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_smooth_losses_report_each_iteration(loss):
    recorder = Recorder()
    model = classifier(n_components=16, loss=loss).set_callbacks(recorder).fit(*classes())
    assert recorder.ended == ["encode", *["iteration"] * model.n_iter_, "fit"]
    assert recorder.largest == 201


def test_blocks_are_reported_as_they_come():
    X, y = classes(n=90)
    for loss, after in (("squared", ["solve"]), ("logistic", None)):
        recorder = Recorder()
        model = classifier(n_components=16, loss=loss).set_callbacks(recorder).fit(blocks_of(X, y))
        after = after or ["encode", *["iteration"] * model.n_iter_]
        assert recorder.ended == ["block"] * 3 + after + ["fit"]
        assert recorder.largest is None
    recorder = Recorder()
    regressor(n_components=16).set_callbacks(recorder).fit(blocks_of(*curve(n=90)))
    assert recorder.ended == ["block"] * 3 + ["fit"]


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_callback_stops_the_iterations_without_a_warning(loss):
    X, y = classes()
    recorder = Recorder(stop_after=3)
    model = classifier(n_components=16, loss=loss).set_callbacks(recorder).fit(X, y)
    assert model.n_iter_ == 3
    assert model.predict_proba(X).shape == (90, 3)
    whole = classifier(n_components=16, loss=loss).fit(X, y)
    assert whole.n_iter_ > 3


def test_callbacks_are_torn_down_when_a_fit_fails():
    recorder = Recorder()
    model = classifier(n_components=16).set_callbacks(recorder)
    with pytest.raises(ValueError, match="two classes"):
        model.fit(classes()[0], np.zeros(90))
    assert recorder.torn_down == 1
    model.fit(*classes())
    assert recorder.torn_down == 2


def test_progress_bar_of_scikit_learn_runs(capsys):
    model = make_pipeline(StandardScaler(), classifier(n_components=16, loss="logistic"))
    model.set_callbacks(callback.ProgressBar(max_propagation_depth=None)).fit(*classes())
    search = GridSearchCV(regressor(n_components=16), {"alpha": [0.1, 1.0]}, cv=2)
    search.set_callbacks(callback.ProgressBar(max_propagation_depth=None)).fit(*curve())
    shown = capsys.readouterr().out
    assert "KernelClassifier" in shown
    assert "KernelRegressor" in shown


def test_scoring_monitor_sees_the_model_improve():
    monitor = callback.ScoringMonitor(scoring="neg_log_loss")
    model = classifier(n_components=64, loss="logistic").set_callbacks(monitor).fit(*classes(n=200))
    scores = [row["neg_log_loss"] for row in monitor.get_logs().data]
    assert len(scores) == model.n_iter_
    assert scores[-1] > scores[0]


@pytest.mark.parametrize(
    "model",
    [classifier(n_components=16, verbose=1), regressor(n_components=16, verbose=1)],
    ids=["classifier", "regressor"],
)
def test_verbose_shows_a_bar_on_stderr(model, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    X, y = classes()
    model.fit(X, y)
    model.fit(blocks_of(X, y))
    shown = capsys.readouterr()
    assert f"{type(model).__name__}.fit" in shown.err
    assert shown.out == ""
    model.set_params(verbose=0).fit(X, y)
    assert capsys.readouterr().err == ""


def test_learners_take_callbacks():
    assert isinstance(classifier(), CallbackSupport)
