"""AsymmetricFeatures: its two sides, forms, shares of the blocks, embedding, and what it refuses."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from lowtide import AsymmetricFeatures, Codes, RandomFeatures
from lowtide.errors import FingerprintMismatchError, LowtideError, ParameterError
from lowtide.kernels import (
    ComplexMeasureKernel,
    CoshGaussian,
    Gaussian,
    ShiftGaussian,
    SignedMeasureKernel,
    SinhGaussian,
)

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((12, 4)), RNG.standard_normal((7, 4))
SIDES = [("full", "full"), ("codes", "full"), ("full", "codes"), ("codes", "codes")]


def fitted(kernel=None, **parameters):
    return AsymmetricFeatures(kernel, **{"n_components": 240, "random_state": 0, **parameters}).fit(X)


def arrays(encoder, sides):
    left = encoder.transform(X) if sides[0] == "full" else encoder.encode(X)
    right = encoder.transform_right(Y) if sides[1] == "full" else encoder.encode_right(Y)
    return (np.asarray(side, dtype=np.float64) for side in (left, right))


def test_sides_are_the_blocks_of_the_paper():
    """The right side is phi of each block, the left one phi, -phi and psi, scaled by the masses."""
    encoder = fitted(ShiftGaussian(0.5), projection="iid", n_components=60)
    L, R = encoder.transform(X), encoder.transform_right(X)
    start = 0
    for block, projection, n in zip(encoder.blocks_, encoder.drawn_.projections, encoder.drawn_.block_columns):
        p, columns = n // 2, slice(start, start + n)
        t = X @ projection.weights() + 2 * np.pi * encoder.drawn_.offset[start // 2 : start // 2 + p]
        phi = np.sqrt(block.mass / p) * np.stack([np.cos(t), np.sin(t)], axis=2).reshape(len(X), -1)
        left = {0.0: phi, 0.5: -phi}.get(block.turn)
        if left is None:
            left = np.sqrt(block.mass / p) * np.stack([-np.sin(t), np.cos(t)], axis=2).reshape(len(X), -1)
        # Phases of a few turns in float32.
        np.testing.assert_allclose(R[:, columns], phi, atol=2e-5)
        np.testing.assert_allclose(L[:, columns], left, atol=2e-5)
        start += n
    assert [block.turn for block in encoder.blocks_] == [0.0, 0.5, 0.25]


def test_phase_form_of_a_shift_is_random_features_of_moved_rows():
    shift = np.array([0.4, -0.3, 0.0, 1.0])
    encoder = fitted(ShiftGaussian(shift, 1.5), form="phase")
    np.testing.assert_allclose(encoder.transform(X), encoder.transform_right(X + shift), atol=2e-5)


def test_symmetric_kernel_has_two_equal_sides():
    encoder = fitted(Gaussian(2.0))
    np.testing.assert_array_equal(encoder.transform(X), encoder.transform_right(X))
    np.testing.assert_array_equal(encoder.embed(X), encoder.transform(X))
    assert isinstance(encoder.encode(X), Codes)
    assert encoder.encode(X).scale is None


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("parameters", [{}, {"form": "phase"}, {"kernel": "sinh", "bits": 3}, {"n_components": 241}])
def test_kernel_estimate_is_left_times_right(parameters, sides):
    encoder = fitted(**parameters)
    left, right = arrays(encoder, sides)
    K = encoder.kernel_estimate(X, Y, sides=sides)
    assert K.dtype == np.float32
    np.testing.assert_allclose(K, left @ right.T, atol=1e-5)
    given = [encoder.encode(X) if sides[0] == "codes" else X, encoder.encode_right(Y) if sides[1] == "codes" else Y]
    np.testing.assert_allclose(encoder.kernel_estimate(*given), K, atol=1e-6)


def test_kernel_estimate_of_one_argument_has_it_on_both_sides():
    encoder = fitted()
    np.testing.assert_array_equal(encoder.kernel_estimate(X), encoder.kernel_estimate(X, X))
    assert not np.allclose(encoder.kernel_estimate(X), encoder.kernel_estimate(X).T, atol=0.05)


def test_three_blocks_are_exact_at_equal_rows_and_the_phase_form_at_the_peak():
    kernel = ShiftGaussian(0.4)
    blocks, phase = fitted(kernel, n_components=30), fitted(kernel, form="phase", n_components=30)
    np.testing.assert_allclose(np.diag(blocks.kernel_estimate(X)), kernel.at(np.zeros(4)), atol=1e-5)
    np.testing.assert_allclose(np.diag(phase.kernel_estimate(X, X + 0.4)), 1.0, atol=1e-5)


@pytest.mark.parametrize(
    ("n_components", "allocation", "expected"),
    [(120, "equal", (20, 20, 20)), (123, "equal", (21, 20, 21)), (1, "equal", (1, 1, 1)), (1, "optimal", (1, 1, 1))],
)
def test_components_are_shared_among_the_blocks(n_components, allocation, expected):
    encoder = fitted(ShiftGaussian(0.5), n_components=n_components, allocation=allocation)
    assert encoder.n_frequencies_ == expected
    out = max(n_components, 6)
    assert encoder.transform(X).shape == encoder.encode(X).shape == (12, out)
    assert len(encoder.get_feature_names_out()) == out


def test_optimal_shares_follow_the_masses():
    encoder = fitted(ShiftGaussian(0.5), n_components=2000, allocation="optimal")
    masses = np.array([block.mass for block in encoder.blocks_])
    assert sum(encoder.n_frequencies_) == 1000
    # One frequency each is given beforehand, and counts are whole.
    np.testing.assert_allclose(encoder.n_frequencies_, 1000 * masses / masses.sum(), atol=2)


def test_optimal_shares_have_less_variance_for_distant_rows():
    far = X + 30.0
    spread = {
        rule: fitted(ShiftGaussian(0.5), allocation=rule).kernel_estimate(X, far, return_std=True)[1].mean()
        for rule in ("equal", "optimal")
    }
    assert spread["optimal"] < 0.95 * spread["equal"]


def test_auto_chooses_the_form_of_less_variance():
    kernel = ShiftGaussian(0.5)
    near, moved = np.zeros((64, 4)) + 0.01 * RNG.standard_normal((64, 4)), np.zeros((64, 4))
    moved[::2] -= 0.5
    chosen = AsymmetricFeatures(kernel, form="auto", n_components=60, random_state=0).fit(near)
    assert chosen.form_ == "blocks"
    far = AsymmetricFeatures(kernel, form="auto", n_components=60, random_state=0).fit(
        20 * RNG.standard_normal((64, 4))
    )
    assert far.form_ == "phase"
    for rows in (near, moved, X):
        spread = {}
        for form in ("blocks", "phase", "auto"):
            encoder = AsymmetricFeatures(kernel, form=form, n_components=60, projection="iid", random_state=0).fit(rows)
            _, std = encoder.kernel_estimate(rows, return_std=True)
            spread[form] = float(np.mean(std.astype(np.float64) ** 2))
        assert spread["auto"] == min(spread["blocks"], spread["phase"])


def test_auto_takes_blocks_where_there_is_no_phase_form():
    assert fitted(SignedMeasureKernel(), form="auto").form_ == "blocks"
    with pytest.raises(ParameterError, match="phase form"):
        fitted(SignedMeasureKernel(), form="phase")


@pytest.mark.parametrize("form", ["blocks", "phase"])
def test_embedding_has_the_columns_of_both_sides_of_skew_blocks(form):
    encoder = fitted(ShiftGaussian(0.5), form=form)
    E, L, R = encoder.embed(X), encoder.transform(X), encoder.transform_right(X)
    skew = encoder.drawn_.block_columns[-1]
    assert E.shape == (12, 240 + skew)
    assert E.dtype == np.float32
    np.testing.assert_array_equal(E, np.hstack([R, L[:, -skew:]]))


def test_codes_of_the_two_sides_do_not_meet_by_mistake():
    encoder = fitted()
    left, right = encoder.encode(X), encoder.encode_right(X)
    assert left.fingerprint == right.fingerprint == encoder.fingerprint_
    assert (left.side, right.side) == (encoder.side_, encoder.side_right_)
    assert left.side != right.side
    np.testing.assert_array_equal(left.dot(right), encoder.kernel_estimate(left, right))
    for wrong in ((right, Y), (X, left)):
        with pytest.raises(FingerprintMismatchError, match="codes of their own"):
            encoder.kernel_estimate(*wrong)
    with pytest.raises(FingerprintMismatchError):
        encoder.kernel_estimate(fitted(random_state=1).encode(X), Y)


def test_columns_of_equal_weight_need_no_factors():
    assert fitted(form="phase").encode(X).scale is None
    assert fitted(n_components=241).encode(X).scale.shape == (241,)


@pytest.mark.parametrize("n_components", [64, 66, 130])
@pytest.mark.parametrize("bits", [1, 3])
def test_blocks_on_two_layouts_have_their_codes_side_by_side(n_components, bits):
    """A sinh kernel has a Hadamard and a dense block; whole bytes are joined as they are, others are repacked."""
    encoder = fitted(SinhGaussian(0.4), n_components=n_components, bits=bits, allocation="optimal")
    assert len({type(p) for p in encoder.drawn_.projections}) == 2
    decoded, full = np.asarray(encoder.encode(X)), encoder.transform(X)
    # A one-bit value has the sign of its feature, up to features that rounding puts at 0.
    assert np.mean(np.sign(decoded) == np.sign(full)) > (0.999 if bits == 1 else 0.9)
    assert np.corrcoef(decoded.ravel(), full.ravel())[0, 1] > 0.85


@pytest.mark.parametrize("form", [sparse.csr_array, lambda A: A.tolist(), np.asfortranarray, lambda A: A.astype(">f8")])
def test_every_form_of_the_same_rows_gives_the_same_sides(form):
    for encoder in (fitted(), fitted(form="phase")):
        for side in ("transform", "transform_right", "embed"):
            np.testing.assert_array_equal(getattr(encoder, side)(form(X)), getattr(encoder, side)(X))
        assert encoder.encode_right(form(X)) == encoder.encode_right(X)
    K, std = fitted().kernel_estimate(sparse.csr_array(X), Y, return_std=True)
    dense = fitted().kernel_estimate(X, Y, return_std=True)
    np.testing.assert_allclose(K, dense[0], atol=1e-6)
    np.testing.assert_allclose(std, dense[1], atol=1e-6)


def test_no_rows_are_valid_everywhere_but_fit():
    encoder, none = fitted(), X[:0]
    assert encoder.transform_right(none).shape == encoder.encode_right(none).shape == (0, 240)
    assert encoder.embed(none).shape[0] == 0
    for sides in SIDES:
        K, std = encoder.kernel_estimate(none, Y, sides=sides, return_std=True)
        assert K.shape == std.shape == (0, 7)
    with pytest.raises(ValueError, match="minimum of 1"):
        AsymmetricFeatures().fit(none)


@pytest.mark.parametrize(
    "method", ["transform", "transform_right", "encode", "encode_right", "embed", "kernel_estimate"]
)
def test_nothing_works_before_fit(method):
    with pytest.raises(NotFittedError):
        getattr(AsymmetricFeatures(), method)(X)


@pytest.mark.parametrize("method", ["transform_right", "encode_right", "embed"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("form", ["blocks", "phase"])
def test_missing_and_infinite_values_are_refused_on_the_right_too(method, bad, form):
    rows = X.copy()
    rows[3, 2] = bad
    with pytest.raises(ValueError, match="NaN|infinity"):
        getattr(fitted(form=form), method)(rows)


def test_rows_of_another_width_are_refused_on_the_right_too():
    with pytest.raises(ValueError, match="features"):
        fitted().transform_right(X[:, :3])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "tilted"}, "kernel must be one of .*'shift', 'sinh', 'cosh', 'signed'"),
        ({"kernel": ShiftGaussian([1.0, 2.0])}, "have 4 entries"),
        ({"kernel": CoshGaussian(9.0)}, "at most 12"),
        ({"n_components": 0}, "n_components"),
        ({"form": "three"}, "form must be one of"),
        ({"allocation": "best"}, "allocation must be one of"),
        ({"bits": 9}, "bits"),
        ({"quantizer": "phase", "bits": 2, "n_components": 241}, "multiple of 2"),
        ({"projection": "fast"}, "projection must be one of"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_parameters_are_refused_at_fit(parameters, message):
    with pytest.raises(LowtideError, match=message):
        fitted(**parameters)


def test_bits_none_has_no_coded_sides_and_the_same_full_ones():
    encoder = fitted(bits=None)
    np.testing.assert_array_equal(encoder.transform(X), fitted().transform(X))
    for method in ("encode", "encode_right"):
        with pytest.raises(ParameterError, match="coded side"):
            getattr(encoder, method)(X)
    with pytest.raises(ParameterError, match="coded side"):
        encoder.kernel_estimate(X, Y, sides=("codes", "full"))


def test_clone_and_pickle_keep_the_encoder():
    for kernel in (ShiftGaussian(np.array([0.1, 0.2, 0.3, 0.4])), SinhGaussian(0.2), SignedMeasureKernel()):
        encoder = fitted(kernel)
        for same in (clone(encoder).fit(X), pickle.loads(pickle.dumps(encoder))):
            assert same.fingerprint_ == encoder.fingerprint_
            assert same.encode_right(X) == encoder.encode_right(X)


def test_parameters_of_the_kernel_can_be_searched_and_do_not_reach_what_was_fitted():
    encoder = fitted(ShiftGaussian(0.5))
    before = encoder.transform(X)
    encoder.set_params(kernel__bandwidth=3.0)
    np.testing.assert_array_equal(encoder.transform(X), before)
    assert encoder.fit(X).kernel_.bandwidth == 3.0


def test_fingerprints_differ_whenever_codes_could():
    variants = [{}, {"form": "phase"}, {"kernel": "sinh"}, {"kernel": ShiftGaussian(0.4)}, {"bits": 2}]
    variants += [{"random_state": 1}, {"n_components": 242}, {"allocation": "optimal"}, {"quantizer": "uniform"}]
    prints = [(e.fingerprint_, side) for v in variants for e in [fitted(**v)] for side in (e.side_, e.side_right_)]
    assert len(set(prints)) == len(prints)


def density(W):
    return Gaussian(1.5).density(W) * np.exp(1j * W @ np.full(4, 0.4))


def value(D):
    return np.exp(-0.5 * np.sum((D + 0.4) ** 2, axis=1) / 1.5**2)


def test_kernel_of_a_users_density_has_features_codes_and_error_bars():
    kernel = ComplexMeasureKernel(density, value, proposal=Gaussian(1.5), bound=1.0001, n_frequencies=8000)
    rows = RNG.standard_normal((200, 4))
    encoder = AsymmetricFeatures(kernel, n_components=40_000, random_state=0).fit(rows)
    exact = ShiftGaussian(0.4, 1.5)
    np.testing.assert_allclose(encoder.kernel_.fitted.imaginary, exact.masses(4).imaginary, rtol=0.05)
    for sides in (("full", "full"), ("codes", "full"), ("full", "codes")):
        K, std = encoder.kernel_estimate(X, Y, sides=sides, return_std=True)
        # Masses fitted on 8000 frequencies and 50 rows are known to a percent or so.
        assert np.all(np.abs(K - exact.gram(X, Y)) < 5 * std + 0.02)
        assert np.all(std < 0.02)
    with pytest.raises(ParameterError, match="closed form"):
        encoder.expected_kernel(X, Y, sides=("codes", "codes"))


def test_it_is_random_features_when_the_kernel_is_symmetric():
    """The same law and the same spread, though not the same draws."""
    K, std = fitted(Gaussian(2.0)).kernel_estimate(X, Y, return_std=True)
    _, same = (
        RandomFeatures(Gaussian(2.0), n_components=240, random_state=0).fit(X).kernel_estimate(X, Y, return_std=True)
    )
    np.testing.assert_allclose(std, same, rtol=1e-5)
    assert np.all(np.abs(K - Gaussian(2.0).gram(X, Y)) < 5 * std + 1e-6)


ROWS = np.random.default_rng(4).standard_normal((300, 4))


def block_means(encoder, rows):
    """Return the mean cosine of w.(x - y) plus the phase over the frequencies of each block, by its definition."""
    difference = rows[:, None] - rows[None]
    for block, projection in zip(encoder.drawn_.exact_blocks, encoder.drawn_.projections):
        W = projection.weights().astype(np.float64)
        yield np.cos(difference @ W + 2 * np.pi * block.phases(W)).mean(axis=2)


@pytest.mark.parametrize("kernel", [ShiftGaussian(0.5), SinhGaussian(0.4), SignedMeasureKernel()], ids=repr)
def test_fitted_masses_are_the_best_that_keep_the_value_at_zero(kernel):
    """No other masses that are positive and add up to k(0) have a smaller error on the rows of the fit."""
    rows = ROWS[:60]
    encoder = AsymmetricFeatures(kernel, n_components=60, masses="fitted", bits=None, random_state=0).fit(rows)
    turns = np.array([block.turn for block in encoder.blocks_])
    np.testing.assert_allclose(encoder.masses_ @ np.cos(2 * np.pi * turns), kernel.at(np.zeros((1, 4)))[0], atol=1e-6)
    means, K = np.stack(list(block_means(encoder, rows))), kernel.gram(rows)

    def error(masses):
        return np.linalg.norm(np.tensordot(masses, means, 1) - K)

    best = error(encoder.masses_)
    np.testing.assert_allclose(np.linalg.norm(encoder.kernel_estimate(rows) - K), best, rtol=1e-4)
    assert best <= error([block.mass for block in encoder.drawn_.exact_blocks])
    real = np.where(turns == 0.25, 0.0, 1.0)
    # Both real masses by one amount, which keeps k(0), or that of the skew block.
    ways = [way for way in (real * (len(set(turns[real > 0])) > 1), 1.0 - real) if way.any()]
    others = (encoder.masses_ + step * way for way in ways for step in (0.01, -0.01))
    tried = [error(masses) for masses in others if masses.min() > 0]
    assert len(tried) >= 2
    assert min(tried) > best - 1e-6


def test_masses_are_fitted_from_200_rows_on_unless_told():
    exact = AsymmetricFeatures(n_components=60, masses="exact", random_state=0).fit(ROWS)
    assert exact.masses_ is None
    assert AsymmetricFeatures(n_components=60, random_state=0).fit(ROWS[:199]).fingerprint_ == exact.fingerprint_
    auto, told = (AsymmetricFeatures(n_components=60, masses=m, random_state=0).fit(ROWS) for m in ("auto", "fitted"))
    np.testing.assert_array_equal(auto.masses_, told.masses_)
    assert auto.fingerprint_ == told.fingerprint_
    assert [block.mass for block in auto.blocks_] == list(auto.masses_)
    np.testing.assert_array_equal(auto.drawn_.offset, exact.drawn_.offset)
    # The levels are those of the same frequencies, but the codes are of another encoder.
    left, other = auto.encode(X), exact.encode(X)
    np.testing.assert_array_equal(left.packed, other.packed)
    assert left.fingerprint != other.fingerprint
    with pytest.raises(FingerprintMismatchError):
        exact.kernel_estimate(left, Y)


def test_encoders_of_other_rows_have_other_masses_and_do_not_meet():
    one, two = (AsymmetricFeatures(n_components=60, random_state=0).fit(rows) for rows in (ROWS, 2 * ROWS))
    assert not np.array_equal(one.masses_, two.masses_)
    assert one.fingerprint_ != two.fingerprint_


@pytest.mark.parametrize("kernel", [Gaussian(2.0), ShiftGaussian(0.0)], ids=repr)
def test_mass_of_one_block_is_the_exact_one(kernel):
    assert AsymmetricFeatures(kernel, n_components=60, masses="fitted", random_state=0).fit(ROWS).masses_ is None


def test_mass_that_a_fit_would_make_0_keeps_a_share():
    """A few frequencies whose sines look the wrong way leave a thousandth of the mass, and finite bars."""
    shares = []
    for seed in range(40):
        encoder = AsymmetricFeatures(ShiftGaussian(0.02), n_components=4, masses="fitted", random_state=seed).fit(
            6 * ROWS
        )
        shares.append(encoder.masses_[1] / encoder.drawn_.exact_blocks[1].mass)
    assert min(shares) == pytest.approx(1e-3)
    _, std = encoder.kernel_estimate(encoder.encode(X), Y, return_std=True)
    assert np.all(np.isfinite(std))


@pytest.mark.parametrize(
    ("parameters", "rows", "message"),
    [
        ({"masses": "best"}, ROWS, "masses must be one of"),
        ({"masses": "fitted", "form": "phase"}, ROWS, "needs form='blocks'"),
        ({"masses": "fitted"}, ROWS[:1], "rows that differ"),
        ({"masses": "fitted"}, np.ones((5, 4)), "rows that differ"),
    ],
)
def test_masses_that_cannot_be_fitted_are_refused(parameters, rows, message):
    with pytest.raises(ParameterError, match=message):
        AsymmetricFeatures(n_components=60, **parameters).fit(rows)


def test_equal_rows_have_exact_masses_unless_told():
    assert AsymmetricFeatures(n_components=60).fit(np.ones((250, 4))).masses_ is None
    assert AsymmetricFeatures(n_components=60, form="auto", masses="fitted").fit(ROWS).form_ == "blocks"


def test_fitted_masses_of_a_sparse_matrix_are_those_of_the_dense_one():
    one, two = (
        AsymmetricFeatures(n_components=60, random_state=0).fit(rows) for rows in (ROWS, sparse.csr_array(ROWS))
    )
    np.testing.assert_allclose(one.masses_, two.masses_, rtol=1e-5)
