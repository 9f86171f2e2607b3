"""Every reference value of the vector file is reproduced by `lowtide.theory`, to the file's own tolerance.

Another file of the same format can be run by naming it in LOWTIDE_VECTORS. A quantity without a function yet is skipped
by name.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowtide import kernels, theory
from lowtide.kernels import CoshGaussian, Gaussian, Kernel, Laplace, MeasureKernel, ShiftGaussian, SinhGaussian
from lowtide.maps import Normal
from lowtide.quantizers import lloyd_max_distortion, lloyd_max_normal

PATH = Path(os.environ.get("LOWTIDE_VECTORS") or Path(__file__).parent / "data" / "vectors.json")
VECTORS = json.loads(PATH.read_text(encoding="utf-8"))["vectors"]
ABSOLUTE = 1e-13  # the file's: |x - value| <= rtol |value| + 1e-13

# The dimension of X, for kernels that do not depend on it.
ANY = 3


def lm_arcsine(b: int) -> dict[str, Any]:
    table = theory.lloyd_max_table(b)
    half = len(table.levels) // 2
    return {
        "levels_positive": table.levels[half:],
        "borders_nonnegative": table.borders[half - 1 :],
        "distortion": table.distortion,
        "F1": table.F1,
        "S2": table.S2,
    }


def estimator_variance(kernel: Kernel, s: float) -> dict[str, float]:
    names = {
        "cos_cos": ("cosine", 1),
        "q_cos": ("square_wave", 1),
        "q_exp_complex_total": ("square_wave_complex", 1),
        "exp_exp_complex_total": ("complex", 1),
        "sincos_pair_full": ("pair", 1),
        "sincos_pair_one_side_sign": ("sign_pair", 1),
        **{f"phase_M{2**b}": ("phase", b) for b in range(1, 9)},
        **{f"lm_asym_b{b}": ("lloyd_max", b) for b in range(1, 9)},
    }
    return {name: float(theory.unbiased_variance(*row).at(kernel, s, ANY)) for name, row in names.items()}


def mean_lipschitz(f: str) -> float:
    if f.startswith("lm_arcsine_b"):
        levels = theory.lloyd_max_table(int(f.removeprefix("lm_arcsine_b"))).levels
        return theory.mean_lipschitz([*levels, *levels[::-1]])
    return theory.mean_lipschitz({"q": "square_wave", "cos": "cosine", "exp_i": "exponential"}[f])


# The file takes the paper's bound 1 for the smoothness of the cosine, and the real part of complex products.
SIDES = {"q": theory.Side(4 / math.pi), "cos": theory.Side(1.0), "exp": theory.Side(1.0)}


def uniform(d: int, eps: float, f: str, g: str, sigma: float, form: str) -> float:
    """A failure that counts for nothing leaves the number that the covering takes."""
    bound = theory.Guarantee(SIDES[f], SIDES[g], theory.Ball(d), Gaussian(sigma), form=form)
    return bound.features(eps, failure=1.0)


def cor3_paper(d: int, eps: float, sigma: float) -> float:
    """The one-bit estimate is pi/2 times a product of features of sup-norm 1."""
    settings = {"scale": math.pi / 2, "form": "printed"}
    bound = theory.Guarantee("square_wave", "cosine", theory.Ball(d), Gaussian(sigma), **settings)
    return bound.features(eps, failure=1.0)


def orf_constants(d: int) -> dict[str, float | None]:
    ranges = theory.orf_ranges(d)
    return {
        "b_d": ranges.b,
        "c_d": ranges.c,
        "alpha_d": ranges.alpha,
        "beta_d": ranges.beta,
        "first_zero": ranges.first_zero,
        "second_zero": ranges.second_zero,
    }


def rff_variance_per_feature(gamma: float, rho: float) -> float:
    return float(theory.rff_variance(1, gamma * math.sqrt(2 * (1 - rho))))


def activation(name: str, par: list[float] | None = None) -> theory.Activation:
    """The file's names of activations."""
    classes = {
        "abs": theory.Absolute,
        "relu": theory.ReLU,
        "lrelu": theory.LeakyReLU,
        "quadratic": theory.Quadratic,
        "exp": theory.Exponential,
        "gauss_bump": theory.Bump,
        "cos": theory.Cosine,
        "sin": theory.Sine,
        "cos_sin_pair": theory.FourierPair,
        "linear": theory.Linear,
        "sign": theory.Sign,
        "step": theory.Step,
    }
    return classes[name](*(par or ()))


def trf_thresholds(activation: theory.Activation, tau: float) -> dict[str, Any]:
    moments = theory.gaussian_moments(activation, tau)
    A, B, B_max = theory.equation_constants(moments, tau)
    solutions = [
        {"s_minus": sigma.s_minus, "s_plus": sigma.s_plus, "d0": sigma.moments(tau).d0}
        for sigma in theory.ternary_solutions(moments, tau)
    ]
    return {"A": A, "B": B, "B_max": B_max, "solvable": bool(solutions), "solutions": solutions}


def trf_scaled(activation: theory.Activation, tau: float) -> dict[str, float]:
    match = theory.match_moments(activation, tau, method="scaled")
    return {
        "r": 2 * math.sqrt(tau * match.target.d2 / match.target.d1),
        "s_minus": match.map.s_minus,
        "s_plus": match.map.s_plus,
        "alpha": match.map.alpha,
        "d0_scaled": match.moments.d0,
        "lambda": match.diagonal_shift,
    }


def lm_gauss(b: int) -> dict[str, Any]:
    levels, borders = lloyd_max_normal(b)
    half = len(levels) // 2
    return {
        "levels_positive": levels[half:],
        "borders_nonnegative": borders[half - 1 :],
        "distortion": lloyd_max_distortion(Normal(), b),
    }


def sklearn_gamma(gamma: float) -> float:
    """One-Sketch's gamma is 1/bandwidth."""
    return gamma**2 / 2


def thm2_corrected(b: int, gamma: float, rho: float) -> dict[str, float]:
    bounds = theory.sketch_bounds(b, sklearn_gamma(gamma), rho)
    return {
        "D_s": bounds.sine_distortion,
        "D_c": bounds.cosine_distortion,
        "zeta_s": bounds.sine_covariance,
        "zeta_c": bounds.cosine_covariance,
        "Delta_c": bounds.cosine_offset,
        "K": bounds.kernel,
        "lower": bounds.lower,
        "upper": bounds.upper,
    }


def prop1_LQ(b: int, gamma: float) -> float:  # noqa: N802  (the file's name)
    return theory.sketch_lipschitz(b, sklearn_gamma(gamma), printed=True)


def thm3_k(b: int, gamma: float, d: int, eps: float) -> float:
    return theory.sketch_features_printed(eps, d, sklearn_gamma(gamma), prop1_LQ(b, gamma))


ASYMMETRIC = {"shift": ShiftGaussian, "sinh": SinhGaussian, "cosh": CoshGaussian}


def ask_kernel_of_strength(kind: str, s: float, d: int, sigma: float = 1.0) -> MeasureKernel:
    """A kernel whose vector lies along an axis and has the length of strength s."""
    return ASYMMETRIC[kind](s * sigma * np.eye(d)[0] if kind == "shift" else s / sigma * np.eye(d)[0], sigma)


def ask_masses(kind: str, s: float) -> dict[str, float]:
    masses = ask_kernel_of_strength(kind, s, 3, 1.7).masses(3)
    return {"mu_R_plus": masses.positive, "mu_R_minus": masses.negative, "mu_I_plus": masses.imaginary}


def gauss_trig_segment(s: float, a: float, b: float) -> dict[str, float]:
    value = kernels.gauss_trig_segment(s, a, b)
    return {"cos": value.real, "sin": value.imag}


def ask_uniform(kind: str, s: float, d: int, sigma: float, l: float, eps: float, delta: float) -> dict[str, float]:  # noqa: E741
    bound = theory.measure_bound(ask_kernel_of_strength(kind, s, d, sigma), d, l, eps, delta)
    return {
        "total_mass": bound.total_mass,
        "sigma_mu_sq": bound.second_moment,
        "alpha_mu": bound.alpha,
        "M_real": bound.count,
        "M": math.ceil(bound.count),
    }


def ask_variance_shift(sigma: float, r: list[float], delta: list[float]) -> dict[str, Any]:
    kernel = ShiftGaussian(r, sigma)
    return {
        "three_block_M_var": theory.measure_variance(kernel, delta),
        "phase_M_var": theory.measure_variance(kernel, delta, form="phase"),
        "k": kernel.at(delta),
    }


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "lm_arcsine": lm_arcsine,
    "universal_Qk": theory.universal_Qk,
    "triangle_wave": theory.triangle_wave,
    "kappa_qq_gaussian": lambda s: theory.kappa_qq(Gaussian(), s, ANY),
    "kappa_qq_laplace": lambda s: theory.kappa_qq(Laplace(), s, ANY),
    "gamma_q_cos_gaussian": lambda s: theory.DistanceMap("q_cos", Gaussian(), ANY)(s),
    "gamma_q_cos_inverse_gaussian": theory.gamma_q_cos_inverse_gaussian,
    "gamma_q_cos_inverse_slope": theory.gamma_q_cos_inverse_slope,
    "gamma_cos_cos_gaussian": lambda s: theory.DistanceMap("cos_cos", Gaussian(), ANY)(s),
    "gamma_q_q_gaussian": lambda s: theory.DistanceMap("q_q", Gaussian(), ANY)(s),
    "estimator_variance_gaussian": lambda s: estimator_variance(Gaussian(), s),
    "estimator_variance_laplace": lambda s: estimator_variance(Laplace(), s),
    "phase_quantiser_F1": lambda M_: theory.phase_F1(M_),
    "mean_lipschitz": mean_lipschitz,
    "hoeffding_m_real_pair": lambda eps, delta: theory.Guarantee("square_wave", "cosine").features(eps, delta),
    "uniform_m_unit_ball_paper": partial(uniform, form="printed"),
    "uniform_m_unit_ball_corrected": partial(uniform, form="corrected"),
    "cor3_m_unit_ball_paper": cor3_paper,
    "lm_gauss": lm_gauss,
    "qrp_rff_mean": lambda b, gamma, rho: theory.fourier_moments(b, sklearn_gamma(gamma)).mean(rho),
    "qrp_rff_variance_per_feature": lambda b, gamma, rho: theory.fourier_moments(b, sklearn_gamma(gamma)).variance(rho),
    "thm2_corrected": thm2_corrected,
    "prop1_LQ": prop1_LQ,
    "thm3_k_paper": thm3_k,
    "stocq_variance_per_feature": lambda b, s: theory.stochastic_codes_variance(b, Gaussian(), s, ANY),
    "rff_variance_per_feature": rff_variance_per_feature,
    "bessel_kernel": lambda d, z: kernels.normalized_bessel(d, z),
    "orf_variance": lambda d, p, z: theory.orf_variance(d, p, z),
    "orf_variance_blocks": lambda d, p, z: theory.orf_variance(d, p, z),
    "rff_variance": lambda p, z: theory.rff_variance(p, z),
    "orf_chi_variance": lambda d, p, z: theory.orf_chi_variance(d, p, z),
    "orf_constants": orf_constants,
    "trf_moments": lambda tau, **named: asdict(activation(named["activation"], named.get("par")).moments(tau)),
    "ternary_moments": lambda s_minus, s_plus, tau: asdict(theory.TernaryMap(s_minus, s_plus).moments(tau)),
    "trf_thresholds": lambda tau, **named: trf_thresholds(activation(named["activation"], named.get("par")), tau),
    "trf_tau_limit": lambda case, par=None: theory.tau_limit(activation(case, par)),
    "trf_scaled": lambda tau, **named: trf_scaled(activation(named["activation"], named.get("par")), tau),
    "ask_kernel": lambda kind, sigma, v, delta: ASYMMETRIC[kind](v, sigma).at(delta),
    "ask_masses": ask_masses,
    "E_abs_cos": kernels.mean_abs_cos,
    "E_abs_sin": kernels.mean_abs_sin,
    "gauss_trig_segment": gauss_trig_segment,
    "ask_beta_d": lambda d: theory.measure_beta(d),
    "ask_uniform_M": ask_uniform,
    "ask_variance_shift": ask_variance_shift,
}


def assert_reproduced(found: Any, expected: Any, rtol: float, where: str) -> None:
    """Compare numbers, lists and dictionaries of them; null stands for a value that does not exist."""
    if isinstance(expected, dict):
        for key, value in expected.items():
            assert_reproduced(found[key], value, rtol, f"{where}.{key}")
    elif isinstance(expected, list) and any(isinstance(value, dict) for value in [*expected, *found]):
        assert len(found) == len(expected), where
        for i, value in enumerate(expected):
            assert_reproduced(found[i], value, rtol, f"{where}[{i}]")
    elif expected is None:
        assert found is None, where
    else:
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=ABSOLUTE, err_msg=where, strict=False)
        assert np.shape(found) == np.shape(expected), where


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["id"] for vector in VECTORS])
def test_vector_is_reproduced(vector):
    quantity = vector["quantity"]
    if quantity not in FUNCTIONS:
        pytest.skip(f"{quantity}: no function yet")
    assert_reproduced(FUNCTIONS[quantity](**vector["params"]), vector["value"], vector["rtol"], vector["id"])


@pytest.mark.skipif("LOWTIDE_VECTORS" in os.environ, reason="another file may hold other quantities")
def test_every_function_is_exercised_by_a_vector():
    assert not set(FUNCTIONS) - {vector["quantity"] for vector in VECTORS}
