"""Three forms of least squares with one answer, two more of smooth losses, and the choice among them."""

import numpy as np
import pytest
from learners.samples import classes, classifier, curve, decoded, encoder, one_hot, regressor, signs, weights
from learners.sources import Blocks
from learners.test_training import SIDES, left_out_by_hand, problem_on

from lowtide import _checks, load, save
from lowtide.errors import MemoryNeedError, ParameterError
from lowtide.learners import ridge as ridge_module
from lowtide.learners import training
from lowtide.learners.calibration import CalibrationRows
from lowtide.learners.cholesky import Factor
from lowtide.learners.dual import DualSystem, IterativeSystem, RowSpan, _probed_diagonal
from lowtide.learners.losses import Logistic, SquaredHinge
from lowtide.learners.ridge import NormalEquations
from lowtide.learners.smooth import Objective, minimize
from lowtide.learners.training import choose_form

FORMS = ("primal", "dual", "iterative")


@pytest.fixture
def few_landmarks(monkeypatch):
    """A preconditioner of a tenth of the rows, so that conjugate gradients have something to do."""
    monkeypatch.setattr(training, "_LEAST_LANDMARKS", 30)


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5, 8, None])
@pytest.mark.parametrize("weighted", [False, True])
def test_forms_agree_at_every_bit_depth(bits, weighted, few_landmarks):
    X, y = classes(n=300, k=3)
    s = weights(300) * (np.arange(300) % 7 > 0) if weighted else None
    how = {"n_components": 200, "gamma": 0.1, "bits": bits, "tol": 1e-12, "max_iter": 2000, "random_state": 0}
    models = [classifier(solver=form, **how).fit(X, y, sample_weight=s) for form in FORMS]
    assert [model.solver_ for model in models] == list(FORMS)
    assert models[2].n_iter_ > 5
    primal, dual, iterative = (model.decision_function(X) for model in models)
    np.testing.assert_allclose(dual, primal, rtol=0, atol=1e-10)
    np.testing.assert_allclose(iterative, primal, rtol=0, atol=1e-8)
    np.testing.assert_allclose(models[1].predict_proba(X), models[0].predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("solver", FORMS)
def test_regressors_of_several_targets_agree_with_the_reference(solver, fit_intercept, few_landmarks):
    from reference.learner_objectives import ridge

    X, t = curve(n=240)
    T, s = np.column_stack([t, X[:, 0] ** 2]), weights(240)
    model = regressor(n_components=180, alpha=0.3, solver=solver, fit_intercept=fit_intercept, tol=1e-12)
    model.set_params(max_iter=2000, random_state=0).fit(X, T, sample_weight=s)
    coef, intercept = ridge(decoded(model, X), T, s, 0.3, fit_intercept)
    np.testing.assert_allclose(model.coef_, coef.T, rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, intercept, rtol=0, atol=1e-8)


def test_no_class_differs_at_the_default_tolerance():
    """More than 2^24 entries: products in float32, a factor in float32 that is refined, a tenth of tol in steps."""
    X, y = classes(n=6000, d=8, k=5)
    model = classifier(n_components=3000, gamma=0.05, random_state=0)
    found = [classifier(**{**model.get_params(), "solver": form}).fit(X[:5900], y[:5900]) for form in FORMS]
    expected = found[0].decision_function(X)
    for other in found[1:]:
        np.testing.assert_array_equal(other.predict(X), found[0].predict(X))
        np.testing.assert_allclose(other.decision_function(X), expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("sides", SIDES, ids="-".join)
def test_left_out_scores_are_those_of_fits_without_the_row(sides, fit_intercept, weighted):
    X, y = classes(n=40, k=3)
    problem, D, Z = problem_on(X, signs(y), weights(40) if weighted else None, sides, fit_intercept)
    expected = left_out_by_hand(D, Z, problem.targets, problem.weights, 0.5, fit_intercept)
    primal = NormalEquations.of(problem).solve(0.5, fit_intercept=fit_intercept)
    dual = DualSystem.of(problem, exact=True).solve(0.5, exact=True)
    for solution in (primal, dual):
        found = solution.left_out(problem, np.arange(40), problem.weights)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
def test_mean_leverages_of_all_forms_are_those_of_the_exact_ones(sides):
    X, y = classes(n=150, k=3)
    problem, _, _ = problem_on(X, signs(y), weights(150), sides, n_components=64)
    places = np.arange(150)
    system = DualSystem.of(problem, exact=True)
    exact = system.solve(0.5, exact=True).leverages(problem, places, True)
    own, other = (np.average(each, weights=problem.weights) for each in (exact.own, exact.other))
    iterative = IterativeSystem(problem, problem.take(np.arange(60)), np.float64, 1e-10, 500).solve(0.5)
    for solution in (NormalEquations.of(problem).solve(0.5), system.solve(0.5, exact=True), iterative):
        found = solution.leverages(problem, places, False)
        # A trace of a matrix with eigenvalues in [0, 1] is off by sqrt(2 tr) for a vector of signs.
        probes = 2 if solution is iterative else ridge_module.LEVERAGE_PROBES
        error = np.sqrt(2 * own * problem.total_weight / probes) / problem.total_weight
        for mean, each in ((own, found.own), (other, found.other)):
            assert abs(np.average(np.broadcast_to(each, 150), weights=problem.weights) - mean) < 4 * error


def test_probed_diagonals_are_near_and_their_inverses_right_on_average():
    X, y = classes(n=400, k=3)
    problem, _, _ = problem_on(X, signs(y), None, ("codes", "codes"), n_components=512)
    factor = Factor(np.asfortranarray(problem.train.kernel(problem.train, np.float64)), 0.5)
    ratio = factor.inverse_diagonal() / _probed_diagonal(factor, 400)
    # Of 64 squares: an error of sqrt(2 / 64) each.
    assert np.std(ratio) < 1.3 * np.sqrt(2 / 64)
    assert abs(np.mean(ratio) - 1) < 4 * np.sqrt(2 / 64) / np.sqrt(400)


def test_rows_of_a_source_are_fitted_as_those_in_memory(few_landmarks):
    X, y = classes(n=300, k=3)
    codes = encoder(X, n_components=128).encode(X)
    source = Blocks(codes)
    for solver in FORMS:
        how = {"solver": solver, "tol": 1e-12, "max_iter": 2000}
        whole, parts = (classifier(**how).fit(rows, y) for rows in (codes, source))
        np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=0, atol=1e-8)
        np.testing.assert_allclose(parts.predict_proba(codes), whole.predict_proba(codes), rtol=0, atol=1e-6)


def test_strength_for_steps_is_chosen_on_rows_that_fit(monkeypatch, few_landmarks):
    monkeypatch.setattr(training, "_JUDGED_ROWS", 200)
    X, y = classes(n=300, k=3)
    auto = classifier(n_components=200, gamma=0.1, C="auto", solver="iterative", random_state=0).fit(X, y)
    plain = classifier(n_components=200, gamma=0.1, C=auto.C_, solver="iterative", random_state=0).fit(X, y)
    np.testing.assert_array_equal(auto.coef_, plain.coef_)


def test_steps_that_do_not_suffice_are_told(few_landmarks):
    X, y = classes(n=300, k=3)
    model = classifier(n_components=200, C=1e6, solver="iterative", max_iter=2, random_state=0)
    with pytest.warns(match="stopped at max_iter=2"):
        model.fit(X, y)
    assert model.n_iter_ == 2


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("C", [1.0, "auto"])
def test_losses_in_the_span_of_the_rows_have_the_same_minimum(loss, C):
    X, y = classes(n=60, k=3)
    s = weights(60) * (np.arange(60) % 5 > 0)
    how = {"n_components": 300, "gamma": 0.1, "loss": loss, "C": C, "max_iter": 2000, "predict_on": "full"}
    plain, span = (
        classifier(solver=form, random_state=0, **how).fit(X, y, sample_weight=s) for form in ("primal", "dual")
    )
    assert (plain.solver_, span.solver_, plain.C_) == ("primal", "dual", span.C_)
    np.testing.assert_allclose(span.coef_, plain.coef_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(span.predict_proba(X), plain.predict_proba(X), rtol=0, atol=1e-4)


def test_span_of_rows_that_repeat_is_found():
    X, y = classes(n=30, k=3)
    X, y = np.vstack([X, X]), np.r_[y, y]
    problem, D, _ = problem_on(X, one_hot(y), None, ("codes", "codes"), n_components=128)
    span = RowSpan.of(problem, np.float64)
    inner = minimize(Objective(span.problem, Logistic(), 1.0), start=None, max_iter=2000, tolerance=1e-9)
    outer = minimize(Objective(problem, Logistic(), 1.0), start=None, max_iter=2000, tolerance=1e-9)
    np.testing.assert_allclose(span.coef(inner.coef), outer.coef, rtol=0, atol=1e-6)
    np.testing.assert_allclose(span.problem.train.matmul(span.inner(outer.coef)), D @ outer.coef, rtol=0, atol=1e-6)


def test_a_warm_start_in_the_span_takes_few_steps():
    X, y = classes(n=60, k=3)
    model = classifier(n_components=300, loss="logistic", solver="dual", warm_start=True, random_state=0)
    first = model.fit(X, y).n_iter_
    assert model.fit(X, y).n_iter_ < first / 2


def test_conditioned_steps_are_fewer_and_lead_to_the_same_minimum(monkeypatch):
    X, y = classes(n=2000, d=6, k=3)
    problem, _, _ = problem_on(X, signs(y), weights(2000), ("codes", "codes"), n_components=256)
    monkeypatch.setattr(training, "_CONDITIONING_ROWS", 250)
    conditioner = training._conditioner(problem, SquaredHinge(), 10.0, CalibrationRows.of(relabeled(problem, y)))
    objective = Objective(problem, SquaredHinge(), 10.0)
    limits = {"start": None, "max_iter": 5000, "tolerance": 1e-6}
    plain, conditioned = minimize(objective, **limits), minimize(objective, conditioner=conditioner, **limits)
    assert plain.converged
    assert conditioned.converged
    assert conditioned.n_iter < 0.7 * plain.n_iter
    # The penalty curves by 1 / (C S) at least, so a gradient of 1e-6 leaves each of the two 1e-6 C S off.
    off = 2 * 1e-6 * 10.0 * problem.total_weight
    np.testing.assert_allclose(conditioned.coef, plain.coef, rtol=0, atol=off)
    start = np.vstack([plain.coef, plain.intercept])
    assert minimize(objective, conditioner=conditioner, **{**limits, "start": start}).n_iter < conditioned.n_iter / 2


def relabeled(problem, y):
    return problem.relabel(lambda labels, weight: (y, weight))


def test_steep_losses_of_many_rows_are_conditioned(monkeypatch):
    monkeypatch.setattr(training, "_MANY_PRODUCTS", 1)
    X, y = classes(n=400, k=3)
    how = {"n_components": 64, "gamma": 0.1, "random_state": 0}
    assert classifier(loss="squared_hinge", **how).fit(X, y).solver_ == "iterative"
    assert classifier(loss="logistic", **how).fit(X, y).solver_ == "primal"


class Sized:
    """What `choose_form` looks at."""

    def __init__(self, n, m, is_whole=True, pair_cost=0.1):
        self.shape, self.is_whole, self.pair_cost = (n, m), is_whole, pair_cost


def test_the_cheapest_form_is_taken(monkeypatch):
    monkeypatch.setattr(training, "available_memory", lambda: None)
    expected = {
        (60_000, 4096): "primal",
        (3000, 2048): "primal",
        (3000, 16_384): "dual",
        (100, 10_000_000): "dual",
        (60_000, 65_536): "iterative",
        (1_000_000, 65_536): "iterative",
    }
    assert {shape: choose_form("a", Sized(*shape), np.float32, 12) for shape in expected} == expected
    assert choose_form("a", Sized(5000, 65_536, is_whole=False), np.float32, 12) == "dual"
    assert choose_form("a", Sized(10_000, 65_536, is_whole=False), np.float32, 12) == "iterative"


def test_a_form_that_does_not_fit_gives_way_to_another(monkeypatch):
    for available, form in ((10e9, "primal"), (500e6, "iterative")):
        monkeypatch.setattr(training, "available_memory", lambda available=available: available)
        assert choose_form("a", Sized(200_000, 12_000), np.float32, 12) == form


def test_a_fit_that_no_form_can_hold_is_refused_before_it_starts(monkeypatch):
    for module in (training, _checks):
        monkeypatch.setattr(module, "available_memory", lambda: 300 << 20)
    with pytest.raises(
        MemoryNeedError, match=r"matrices of the iterative form.* take .* GiB, and 300 MiB are left\. Lower n_comp"
    ):
        choose_form("KernelClassifier", Sized(1_000_000, 1_000_000), np.float32, 12)


def test_codes_that_cannot_be_held_are_refused_before_they_are_made():
    X = np.zeros((1_000_000, 1), dtype=np.float32)
    for model in (classifier(n_components=10_000_000), regressor(n_components=10_000_000)):
        with pytest.raises(MemoryNeedError, match=r"1,000,000 rows by 10,000,000 components of 1 bit take 1\.14 TiB"):
            model.fit(X, np.arange(1_000_000) % 2)
        assert "features_" not in model.__dict__


@pytest.mark.parametrize("model", [classifier(n_components=300_000), regressor(n_components=300_000)])
def test_sums_of_blocks_that_cannot_be_held_are_refused(model):
    X, y = classes(n=10)
    with pytest.raises(MemoryNeedError, match=r"matrices of 300,000 x 300,000 features"):
        model.fit(iter([(X, y % 2)]))


def test_the_solver_is_kept_in_a_file(tmp_path):
    X, y = classes(n=60)
    model = classifier(n_components=512, random_state=0).fit(X, y)
    save(model, tmp_path / "model.lowtide")
    assert load(tmp_path / "model.lowtide").solver_ == model.solver_ == "dual"


@pytest.mark.parametrize("kind", [classifier, regressor])
def test_solvers_that_cannot_be_are_refused(kind):
    X, y = classes(n=30, k=2)
    with pytest.raises(ParameterError, match="solver must be one of 'auto', 'primal', 'dual', 'iterative', got 'lsqr'"):
        kind(solver="lsqr").fit(X, y)
    with pytest.raises(ParameterError, match="solver must be 'auto' or 'primal' when rows come in blocks"):
        kind(solver="dual").fit(iter([(X, y)]))
    with pytest.raises(ParameterError, match="tol must be a finite number above 0"):
        kind(tol=0.0).fit(X, y)


def test_dual_of_many_rows_elsewhere_is_refused(monkeypatch):
    monkeypatch.setattr(training, "_MOST_LANDMARKS", 20)
    X, y = classes(n=60, k=2)
    codes = encoder(X).encode(X)
    with pytest.raises(ParameterError, match="solver must not be 'dual' for many rows that are not in memory"):
        classifier(solver="dual").fit(Blocks(codes), y)


def cgroup_files(**files):
    """A system by the lines of its files."""
    return lambda path: files.get(path, "").splitlines()


def test_memory_is_the_least_of_machine_and_groups(monkeypatch):
    files = {
        "/proc/meminfo": "MemTotal: 100 kB\nMemAvailable: 4000000 kB\n",
        "/proc/self/cgroup": "0::/job/step\n",
        "/sys/fs/cgroup/job/step/memory.max": "max\n",
        "/sys/fs/cgroup/job/memory.max": "1000000000\n",
        "/sys/fs/cgroup/job/memory.current": "700000000\n",
        "/sys/fs/cgroup/job/memory.stat": "anon 5\ninactive_file 100000000\n",
    }
    monkeypatch.setattr(_checks, "_lines", cgroup_files(**files))
    assert _checks.available_memory() == 400_000_000
    files["/sys/fs/cgroup/job/memory.max"] = "max\n"
    monkeypatch.setattr(_checks, "_lines", cgroup_files(**files))
    assert _checks.available_memory() == 4_096_000_000


def test_memory_of_older_groups_is_read_too(monkeypatch):
    files = {
        "/proc/self/cgroup": "4:memory:/docker/abc\n3:cpuset:/\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "2000000000\n",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes": "500000000\n",
        "/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "9223372036854771712\n",
        "/sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes": "5\n",
    }
    monkeypatch.setattr(_checks, "_lines", cgroup_files(**files))
    assert _checks.available_memory() == 1_500_000_000


def test_a_system_that_says_nothing_refuses_nothing(monkeypatch):
    monkeypatch.setattr(_checks, "_lines", cgroup_files())
    assert _checks.available_memory() is None
    _checks.check_memory("a", 1e30, "codes", "Lower n_components.")
