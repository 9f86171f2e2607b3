"""Asymmetric features: unbiased on every pair of sides but codes against codes, and spread as the closed forms say."""

import numpy as np
import pytest
from statistical.sampling import label, standard_error, variance_and_its_error

from lowtide import AsymmetricFeatures
from lowtide.kernels import CoshGaussian, Gaussian, ShiftGaussian, SignedMeasureKernel, SinhGaussian
from lowtide.quantizers import LloydMax, Phase, Stochastic

SIDES = [("full", "full"), ("codes", "full"), ("full", "codes"), ("codes", "codes")]
# Some 700 comparisons of skewed statistics at fixed seeds.
BOUND = 5.0
N_DRAWS = 8192
# Directions of a Hadamard block are not quite Haar: as for symmetric kernels.
LEFT_OUT = 0.05


def kernel_of(family, n_features):
    """Return a kernel of strength 0.9 along a direction that is no axis, of bandwidth 1.5."""
    unit = np.random.default_rng(3).standard_normal(n_features)
    unit *= 0.9 / np.linalg.norm(unit)
    return family(unit * 1.5, 1.5) if family is ShiftGaussian else family(unit / 1.5, 1.5)


def rows_for(n_features, sigma=1.5):
    """Return a row and four rows at a few bandwidths from it, the first along the kernel's shift."""
    rng = np.random.default_rng(8)
    x = rng.standard_normal((1, n_features))
    unit = np.random.default_rng(3).standard_normal(n_features)
    steps = np.vstack([unit, rng.standard_normal((3, n_features))])
    steps *= (sigma * np.array([0.8, 0.3, 1.0, 2.5]) / np.linalg.norm(steps, axis=1))[:, None]
    return x, x + steps


def group_estimates(encoder, x, Y, sides, group):
    """Return independent estimates, each from `group` frequencies of every block, (draws, rows of Y)."""
    left = encoder.transform(x) if sides[0] == "full" else np.asarray(encoder.encode(x))
    right = encoder.transform_right(Y) if sides[1] == "full" else np.asarray(encoder.encode_right(Y))
    products = left.astype(np.float64) * right
    draws = encoder.n_frequencies_[0] // group
    parts = np.split(products, np.cumsum(encoder.drawn_.block_columns)[:-1], axis=1)
    return sum(draws * part.reshape(len(Y), draws, -1).sum(axis=2).T for part in parts)


def check(kernel, form, quantizer, n_features, projection="iid", group=1, n_draws=N_DRAWS, left_out=0.0):
    """Compare mean and variance over draws with the exact kernel, the expected one and the closed-form variance."""
    n_blocks = 1 if form == "phase" else len(kernel.measures(n_features))
    size = 2 * n_draws * group * n_blocks
    encoder = AsymmetricFeatures(
        kernel, n_components=size, form=form, quantizer=quantizer, projection=projection, random_state=1
    ).fit(np.zeros((1, n_features)))
    x, Y = rows_for(n_features)
    for sides in SIDES:
        sample = group_estimates(encoder, x, Y, sides, group)
        expected = encoder.expected_kernel(x, Y, sides=sides)[0]
        if "full" in sides:
            np.testing.assert_allclose(expected, kernel.gram(x, Y)[0], rtol=1e-12)
        assert np.all(np.abs(sample.mean(axis=0) - expected) < BOUND * standard_error(sample)), sides
        K, std = encoder.kernel_estimate(x, Y, sides=sides, return_std=True)
        np.testing.assert_allclose(K[0], sample.mean(axis=0), atol=5e-5 * sum(b.mass for b in encoder.blocks_))
        closed = n_draws * std[0].astype(np.float64) ** 2
        measured, error = variance_and_its_error(sample)
        gap = np.abs(measured - closed)
        assert np.all(gap < BOUND * error + left_out * closed), (sides, measured / closed, error / closed)


@pytest.mark.parametrize("n_features", [1, 8, 57])
@pytest.mark.parametrize("form", ["blocks", "phase"])
@pytest.mark.parametrize("family", [ShiftGaussian, SinhGaussian, CoshGaussian])
def test_one_bit_sides_have_the_mean_and_variance_of_the_closed_forms(family, form, n_features):
    check(kernel_of(family, n_features), form, LloydMax(1), n_features)


@pytest.mark.parametrize("quantizer", [LloydMax(3), Phase(2), Stochastic(2)], ids=label)
@pytest.mark.parametrize("form", ["blocks", "phase"])
def test_other_quantizers_have_them_too(form, quantizer):
    check(kernel_of(SinhGaussian, 5), form, quantizer, 5)


@pytest.mark.parametrize(
    ("kernel", "form"),
    [
        (kernel_of(ShiftGaussian, 8), "phase"),
        (kernel_of(CoshGaussian, 8), "phase"),
        (SignedMeasureKernel.delta_gaussian((1.5, 4.0), (1.0, 0.6)), "blocks"),
        (Gaussian(1.5), "blocks"),
    ],
    ids=repr,
)
def test_orthogonal_frequencies_within_a_block_have_them_too(kernel, form):
    check(kernel, form, LloydMax(1), 8, projection="orthogonal", group=8, n_draws=2500)


def test_hadamard_frequencies_within_a_block_have_them_too():
    unit = np.full(60, 0.9 * 1.5 / np.sqrt(60))
    check(ShiftGaussian(unit, 1.5), "phase", LloydMax(1), 60, "hadamard", group=64, n_draws=400, left_out=LEFT_OUT)


def test_a_block_that_no_layout_carries_stays_independent_beside_one_that_is_laid_out():
    encoder = AsymmetricFeatures(SinhGaussian(0.3), n_components=512, random_state=0).fit(np.zeros((1, 5)))
    assert [p.blocks.lengths for p in encoder.drawn_.projections] == ["free", "iid"]


@pytest.mark.parametrize("form", ["blocks", "phase"])
def test_error_bars_from_codes_cover(form):
    """Without the rows the error bar comes from the spread over frequencies; it must be the true one."""
    kernel = kernel_of(ShiftGaussian, 4)
    x, Y = rows_for(4)
    exact, scores = kernel.gram(x, Y)[0], []
    for seed in range(150):
        encoder = AsymmetricFeatures(kernel, n_components=600, form=form, projection="iid", random_state=seed).fit(x)
        K, std = encoder.kernel_estimate(encoder.encode(x), Y, return_std=True)
        scores.append((K[0] - exact) / std[0])
    scores = np.array(scores)
    # The standard deviation of a normal score has the standard error 1/sqrt(2 n).
    assert np.all(np.abs(scores.std(axis=0) - 1) < 4.5 / np.sqrt(2 * len(scores)))
    assert np.all(np.abs(scores.mean(axis=0)) < 4.5 / np.sqrt(len(scores)))


@pytest.mark.parametrize("family", [ShiftGaussian, SinhGaussian, CoshGaussian])
def test_error_bars_cover_with_fitted_masses(family):
    """Between rows like those of the fit, where it lowers the error, and between others, where it may not."""
    kernel = kernel_of(family, 4)
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((220, 4))
    X, near, far = rows[:5], rows[5:10], 2.5 * rng.standard_normal((5, 4))
    inside, errors = {}, {"exact": 0.0, "fitted": 0.0}
    for seed in range(30):
        common = {"n_components": 120, "projection": "iid", "random_state": seed}
        fitted = AsymmetricFeatures(kernel, masses="fitted", **common).fit(rows)
        for given in ("rows", "codes"):
            left = X if given == "rows" else fitted.encode(X)
            for place, Y in (("near", near), ("far", far)):
                K, std = fitted.kernel_estimate(left, Y, return_std=True)
                gap = np.abs(K - kernel.gram(X, Y))
                inside.setdefault((given, place), []).append(np.mean(gap < 2 * std))
        exact = AsymmetricFeatures(kernel, masses="exact", **common).fit(rows)
        for name, encoder in (("exact", exact), ("fitted", fitted)):
            errors[name] += float(np.sum((encoder.kernel_estimate(X, near) - kernel.gram(X, near)) ** 2))
    for case, shares in inside.items():
        # The pairs of one draw are not independent, the draws are.
        assert np.mean(shares) > 0.954 - 3 * np.std(shares, ddof=1) / np.sqrt(len(shares)), case
    assert errors["fitted"] < errors["exact"]
