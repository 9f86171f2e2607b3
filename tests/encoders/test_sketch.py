"""Sketch: levels of normalized projections, and the codebooks that read them."""

import math
import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse

import lowtide as lt
from lowtide.codes import row_bytes
from lowtide.errors import (
    BiasWarning,
    CodeLayoutError,
    FingerprintMismatchError,
    ParameterError,
    UnsuitableLayoutError,
)
from lowtide.maps import Normal
from lowtide.quantizers import GivenSteps, NormalLloydMax, UniformSteps, normal_steps
from lowtide.theory import sketch_bias, sketch_bits_needed

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 30)) * RNG.uniform(0.1, 10, (40, 1))
U = X / np.linalg.norm(X, axis=1, keepdims=True)
LAYOUTS = ["hadamard", "orthogonal", "iid"]


def sketch(**parameters):
    return lt.Sketch(**{"n_components": 130, "random_state": 0, **parameters}).fit(X)


@pytest.mark.parametrize("projection", LAYOUTS)
@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5, 8])
def test_levels_are_those_of_the_normalized_projections(bits, projection):
    fitted = sketch(bits=bits, projection=projection)
    Z = (U @ fitted.random_weights_).astype(np.float32)
    expected = normal_steps(bits).levels(Z)
    # A level may differ where a projection lies within float32's rounding of a border, 30 terms of a sum.
    assert np.mean(fitted.encode(X).levels() != expected) < 2**bits * 1e-4
    assert np.max(np.abs(fitted.encode(X).levels().astype(int) - expected)) <= 1


@pytest.mark.parametrize("projection", LAYOUTS)
def test_transform_is_the_normalized_projection(projection):
    fitted = sketch(projection=projection)
    np.testing.assert_allclose(fitted.transform(X), U @ fitted.random_weights_ / math.sqrt(130), atol=3e-6)


@pytest.mark.parametrize("projection", LAYOUTS)
def test_transform_with_gamma_is_cosines_and_sines(projection):
    fitted = sketch(projection=projection, gamma=0.7)
    phase = math.sqrt(1.4) * U @ fitted.random_weights_
    expected = np.stack([np.cos(phase), np.sin(phase)], axis=2).reshape(40, 260) / math.sqrt(130)
    np.testing.assert_allclose(fitted.transform(X), expected, atol=3e-6)
    assert len(fitted.get_feature_names_out()) == 260


@pytest.mark.parametrize("bits", [1, 4, 7])
def test_codes_decode_to_unbiased_values_of_the_cosine(bits):
    fitted = sketch(bits=bits)
    steps = normal_steps(bits)
    S = fitted.encode(X)
    assert S.shape == (40, 130)
    assert S.nbytes == 40 * row_bytes(130, bits)
    numbers = np.rint(steps.values / steps.values[-1] * 2047)  # whole ones, of which the largest is 2047
    unit = np.diff(numbers) @ Normal().pdf(steps.borders)  # E[z Q(z)], 1 - D but for the rounding
    np.testing.assert_allclose(S.codebook, numbers / (unit * math.sqrt(130)), rtol=1e-6)
    assert S.codebook[-1] == pytest.approx(steps.values[-1] / ((1 - steps.distortion) * math.sqrt(130)), rel=1e-4)


def test_fourier_uses_the_raw_levels_interleaved():
    fitted = sketch(bits=2)
    S = fitted.encode(X)
    F = fitted.fourier(S, gamma=0.5)
    mu = normal_steps(2).values
    np.testing.assert_allclose(F.codebook, np.stack([np.cos(mu), np.sin(mu)], axis=1) / math.sqrt(130), rtol=1e-6)
    assert F.shape == (40, 260)
    np.testing.assert_array_equal(np.asarray(F)[:, ::2], F.codebook[S.levels(), 0])
    # Rows of Fourier features have norm 1, so the kernel of a row with itself is 1.
    np.testing.assert_allclose(np.sum(np.asarray(F) ** 2, axis=1), 1.0, rtol=1e-5)


def test_a_number_for_gamma_gives_that_codebook_and_the_same_levels():
    linear, fourier = sketch(), sketch(gamma=2.0)
    assert fourier.encode(X) == linear.fourier(linear.encode(X), 2.0)
    assert linear.fingerprint_ == fourier.fingerprint_
    assert fourier.linear(fourier.encode(X)) == linear.encode(X)


def test_fourier_shares_the_bytes():
    S = sketch().encode(X)
    for other in (lt.fourier_codes(S, 1.0), lt.linear_codes(S), lt.fourier_codes(lt.fourier_codes(S, 1.0), 2.0)):
        assert np.shares_memory(other.packed, S.packed)


def test_fourier_of_a_million_rows_allocates_no_more_than_the_codebook():
    n, k = 1_000_000, 64
    fitted = lt.Sketch(k, bits=4, random_state=0).fit(np.eye(3))
    row = fitted.encode(np.eye(3)[:1]).packed
    S = fitted.drawn_.template.with_rows(np.repeat(row, n, axis=0), np.ones(n, np.float32))
    fitted.fourier(S, 0.5)  # what theory keeps of a gamma for the next call
    tracemalloc.start()
    fitted.fourier(S, 0.5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # 16 levels of two float32 in a few copies, and Python's own objects: 32 MB of codes are not among them.
    assert peak < 16 * 1024


def test_rows_of_other_lengths_have_the_same_levels():
    fitted = sketch()
    assert fitted.encode(X) == fitted.encode(X * 2.0**10)
    assert fitted.encode(X) == fitted.encode(X * 2.0**-10)


@pytest.mark.parametrize("store_norms", [False, True])
def test_zero_rows_encode_as_zeros(store_norms):
    fitted = sketch(bits=3, store_norms=store_norms)
    S = fitted.encode(np.zeros((2, 30)))
    np.testing.assert_array_equal(S.levels(), 4)
    np.testing.assert_array_equal(fitted.transform(np.zeros((2, 30))), 0.0)
    if store_norms:
        np.testing.assert_array_equal(S.norms, 0.0)


def test_store_norms_keeps_the_lengths_of_rows():
    S = sketch(store_norms=True).encode(X)
    np.testing.assert_allclose(S.norms, np.linalg.norm(X, axis=1), rtol=1e-6)
    assert S.nbytes == sketch().encode(X).nbytes + 4 * 40
    assert sketch().encode(X).norms is None
    assert sketch().fingerprint_ == sketch(store_norms=True).fingerprint_


def test_linear_takes_the_norms_where_they_are_kept():
    fitted = sketch(store_norms=True)
    S = fitted.encode(X)
    plain = np.asarray(fitted.linear(S, normalize=True))
    np.testing.assert_allclose(np.asarray(fitted.linear(S)), plain * S.norms[:, None], rtol=1e-6)
    np.testing.assert_array_equal(np.asarray(fitted.linear(S)), np.asarray(fitted.linear(S, normalize=False)))
    with pytest.raises(ParameterError, match="normalize must be True for codes without norms"):
        fitted.linear(sketch().encode(X), normalize=False)


def test_fourier_leaves_the_norms_alone():
    fitted = sketch(store_norms=True)
    assert not fitted.fourier(fitted.encode(X), 0.5).is_times_norms


def test_sparse_rows_and_other_types_give_the_same_codes():
    fitted = sketch()
    S = fitted.encode(X.astype(np.float32))
    assert fitted.encode(sparse.csr_matrix(X.astype(np.float32))) == S
    assert fitted.encode(np.asfortranarray(X.astype(np.float32))) == S
    assert fitted.encode(X[:0].astype(np.float32)).shape == (0, 130)


def test_bits_do_not_depend_on_the_batch():
    fitted = sketch()
    S = fitted.encode(X)
    assert lt.concatenate([fitted.encode(X[i : i + 1]) for i in range(40)]) == S


def test_one_bit_sketch_warns_where_its_bias_is_large_and_names_the_bits():
    fitted = sketch(bits=1)
    S = fitted.encode(X)
    gamma = 2.0
    assert sketch_bias(1, gamma) > 0.25
    needed = sketch_bits_needed(gamma, 0.25)
    with pytest.warns(BiasWarning, match=rf"gamma=2 .* 1-bit sketch .* bits={needed} would do"):
        fitted.fourier(S, gamma)
    with pytest.warns(BiasWarning, match=f"bits={needed} would do"):
        lt.fourier_codes(S, gamma)
    with pytest.warns(BiasWarning, match=f"bits={needed} would do"):
        fitted.with_gamma(gamma).kernel_estimate(S)
    with pytest.warns(BiasWarning, match=f"bits={needed} would do"):
        sketch(bits=1, gamma=gamma)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sketch(bits=needed, gamma=gamma)
        fitted.fourier(S, 0.2)


def test_a_gamma_beyond_eight_bits_names_another_encoder():
    with pytest.warns(BiasWarning, match="No sketch of up to 8 bits would do.*RandomFeatures"):
        lt.fourier_codes(sketch(bits=1).encode(X), 1e5)


def test_warning_points_at_the_caller():
    fitted = sketch(bits=1)
    S = fitted.encode(X)
    uses = (
        lambda: lt.fourier_codes(S, 5.0),
        lambda: fitted.fourier(S, 5.0),
        lambda: fitted.with_gamma(5.0).kernel_estimate(S),
    )
    for use in uses:
        with pytest.warns(BiasWarning) as found:
            use()
        assert [record.filename for record in found] == [__file__]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bits": 0}, "bits must be an integer from 1 to 8"),
        ({"bits": 9}, "bits must be an integer from 1 to 8"),
        ({"bits": None}, "bits must be an integer from 1 to 8"),
        ({"n_components": 0}, "n_components must be an integer of at least 1"),
        ({"gamma": 0}, "gamma must be a finite number above 0"),
        ({"gamma": "scale"}, "gamma must be a finite number above 0"),
        ({"projection": "sparse"}, "projection must be one of"),
    ],
)
def test_parameters_outside_their_limits_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        sketch(**parameters)


def test_haar_is_refused_and_orthogonal_named():
    with pytest.raises(UnsuitableLayoutError, match="orthogonal"):
        sketch(projection="haar")


@pytest.mark.parametrize("gamma", [0, -1, np.nan, np.inf, "scale", None, True])
def test_fourier_refuses_what_is_no_gamma(gamma):
    with pytest.raises(ParameterError, match="gamma must be a finite number above 0"):
        sketch().fourier(sketch().encode(X), gamma)


def test_codes_of_other_encoders_are_refused():
    S = sketch(random_state=1).encode(X)
    fitted = sketch()
    for use in (lambda: fitted.fourier(S, 1.0), lambda: fitted.linear(S), lambda: fitted.cosine_similarity(S)):
        with pytest.raises(FingerprintMismatchError, match=f"{fitted.fingerprint_.hex()}.*{S.fingerprint.hex()}"):
            use()
    for quantizer, bits in (("lloyd_max", 4), ("phase", 2), ("uniform", 3)):
        other = lt.RandomFeatures(n_components=130, quantizer=quantizer, bits=bits, random_state=0).fit(X)
        codes = other.encode(X)
        with pytest.raises(CodeLayoutError, match="codes must come from a Sketch"):
            lt.fourier_codes(codes, 1.0)
    with pytest.raises(ParameterError, match="codes must be Codes of a Sketch, got 'ndarray'"):
        fitted.fourier(X, 1.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("projection", LAYOUTS)
def test_rows_that_are_not_finite_are_refused(projection, bad):
    fitted, rows = sketch(projection=projection), X.astype(np.float32)
    rows[3, 7] = bad
    for method in (fitted.encode, fitted.transform):
        with pytest.raises(ValueError, match="NaN|infinity"):
            method(rows)


@pytest.mark.parametrize("projection", LAYOUTS)
def test_rows_too_long_for_float32_are_refused(projection):
    fitted = sketch(projection=projection)
    for method in (fitted.encode, fitted.transform):
        with pytest.raises(ParameterError, match="Scale the columns first"):
            method(np.full((2, 30), 3e38, np.float32))


def test_same_seed_same_codes_and_more_bits_move_no_projection():
    assert sketch().encode(X) == sketch().encode(X)
    np.testing.assert_array_equal(sketch(bits=1).random_weights_, sketch(bits=8).random_weights_)
    np.testing.assert_array_equal(sketch(bits=1).encode(X).levels(), sketch(bits=4).encode(X).levels() // 8)


LOPSIDED = GivenSteps(borders=[-1.1, -0.2, 0.3, 0.9, 2.0], values=[-1.7, -0.5, 0.1, 0.6, 1.3, 2.4])
QUANTIZERS = ["uniform", "sign", UniformSteps(3, reach=3.0), LOPSIDED]


@pytest.mark.parametrize("projection", ["hadamard", "iid"])
@pytest.mark.parametrize("quantizer", QUANTIZERS, ids=repr)
def test_levels_are_those_of_the_given_steps(quantizer, projection):
    fitted = sketch(quantizer=quantizer, projection=projection)
    expected = fitted.steps_.levels((U @ fitted.random_weights_).astype(np.float32))
    S = fitted.encode(X)
    assert S.bits == fitted.steps_.bits
    # A level may differ where a projection lies within float32's rounding of a border.
    assert np.mean(S.levels() != expected) < 2**S.bits * 1e-4
    assert lt.concatenate([fitted.encode(X[i : i + 1]) for i in range(40)]) == S
    assert fitted.encode(X * 2.0**10) == S
    np.testing.assert_array_equal(fitted.encode(X[:0]).shape, (0, 130))
    at_zero = fitted.steps_.levels(np.zeros((1, 1), np.float32))[0, 0]
    np.testing.assert_array_equal(fitted.encode(np.zeros((1, 30))).levels(), at_zero)
    np.testing.assert_array_equal(fitted.random_weights_, sketch(projection=projection).random_weights_)


def test_objects_have_their_own_bits_and_names_take_those_of_the_sketch():
    assert sketch(bits=2, quantizer=UniformSteps(5)).encode(X).bits == 5
    assert sketch(bits=2, quantizer="uniform").encode(X).bits == 2
    assert sketch(bits=2, quantizer="sign").encode(X).bits == 1
    assert sketch(bits=3, quantizer=NormalLloydMax(3)).encode(X) == sketch(bits=3).encode(X)
    with pytest.raises(ParameterError, match="quantizer of projections must be one of"):
        sketch(quantizer="phase")


def test_sign_and_one_bit_of_lloyd_max_have_the_same_levels_and_codes_that_do_not_meet():
    sign, one_bit = sketch(quantizer="sign"), sketch(bits=1)
    a, b = sign.encode(X), one_bit.encode(X)
    np.testing.assert_array_equal(a.packed, b.packed)
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)  # unbiased for the cosine, both
    # Claim 1 of the paper: another value of the level is another gamma.
    scale = normal_steps(1).values[1] ** 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BiasWarning)
        np.testing.assert_allclose(np.asarray(sign.fourier(a, scale)), np.asarray(one_bit.fourier(b, 1.0)), atol=1e-6)
    with pytest.raises(FingerprintMismatchError, match="side"):
        one_bit.fourier(a, 0.2)


@pytest.mark.parametrize("quantizer", QUANTIZERS, ids=repr)
def test_codes_are_read_with_the_values_of_their_steps(quantizer):
    fitted = sketch(quantizer=quantizer)
    S, values = fitted.encode(X), fitted.steps_.values
    F = fitted.fourier(S, 0.1)
    phase = math.sqrt(0.2) * values[S.levels()]
    expected = np.stack([np.cos(phase), np.sin(phase)], axis=2).reshape(40, 260) / math.sqrt(130)
    np.testing.assert_allclose(np.asarray(F), expected, atol=1e-6)
    assert fitted.linear(F) == S
    own = fitted.drawn_.quantizer
    assert lt.fourier_codes(S, 0.1, quantizer=own) == F
    assert lt.linear_codes(F, quantizer=own) == S
    if isinstance(quantizer, str):
        assert lt.fourier_codes(S, 0.1) == F
    else:
        with pytest.raises(CodeLayoutError, match="need quantizer="):
            lt.fourier_codes(S, 0.1)
    with pytest.raises(CodeLayoutError, match=r"a Sketch with quantizer=UniformSteps\(bits=7"):
        lt.fourier_codes(S, 0.1, quantizer=UniformSteps(7))


def test_a_bias_of_other_steps_names_a_quantizer_that_would_do():
    with pytest.warns(BiasWarning, match="quantizer='lloyd_max' and bits=2 would do"):
        sketch(quantizer="sign", gamma=2.0)


@pytest.mark.parametrize("quantizer", ["lloyd_max", LOPSIDED], ids=repr)
def test_dithered_cosines_are_a_turn_of_the_pair(quantizer):
    fitted = sketch(quantizer=quantizer)
    S = fitted.encode(X)
    D = fitted.dithered(S, 0.3)
    values = math.sqrt(0.6) * fitted.steps_.values[S.levels()]
    expected = math.sqrt(2 / 130) * np.cos(values + D.dither)
    np.testing.assert_allclose(np.asarray(D), expected, atol=1e-6)
    np.testing.assert_allclose(np.asarray(D[3:7], dtype=np.float64), expected[3:7], atol=1e-6)
    assert (len(D), D.shape) == (40, (40, 130))
    for W in (RNG.standard_normal((130, 3)), RNG.standard_normal(130).astype(np.float32)):
        np.testing.assert_allclose(D @ W, expected @ W, atol=1e-5)
        assert (D @ W).dtype == W.dtype
    np.testing.assert_allclose(D[:5].dot(D), expected[:5] @ expected.T, atol=1e-5)
    np.testing.assert_array_equal(lt.dithered_codes(S, 0.3, quantizer=fitted.drawn_.quantizer).dither, D.dither)
    full = math.sqrt(2 / 130) * np.cos(math.sqrt(0.6) * U @ fitted.random_weights_ + D.dither)
    np.testing.assert_allclose(fitted.dithered(X, 0.3), full, atol=3e-6)


def test_dithers_are_spread_over_a_turn_and_belong_to_the_projections():
    first, second = (sketch(n_components=4096, random_state=seed).encode(X[:1]) for seed in (0, 1))
    tau = lt.dithered_codes(first, 1.0).dither
    assert abs(np.exp(1j * tau).mean()) < 4 / math.sqrt(4096)
    assert abs(np.exp(2j * tau).mean()) < 4 / math.sqrt(4096)
    assert tau.min() >= 0.0
    assert tau.max() < 2 * math.pi
    with pytest.raises(ParameterError, match="both must be of one sketch"):
        lt.dithered_codes(first, 1.0).dot(lt.dithered_codes(second, 1.0))
    with pytest.raises(ParameterError, match="weights must have 4096 rows"):
        lt.dithered_codes(first, 1.0) @ np.ones(3)
    with pytest.warns(BiasWarning) as found:
        lt.dithered_codes(first, 200.0)
    assert [record.filename for record in found] == [__file__]
