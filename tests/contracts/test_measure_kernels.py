"""Every kernel of differences passes its suite: frequencies, phases, masses and exact values belong together."""

import numpy as np
import pytest

from lowtide.errors import ParameterError
from lowtide.kernels import (
    KERNELS,
    Bessel,
    ComplexMeasureKernel,
    CoshGaussian,
    Gaussian,
    Laplace,
    Matern,
    MeasureBlock,
    ShiftGaussian,
    SignedMeasureKernel,
    SinhGaussian,
    SymmetricPart,
)
from lowtide.testing import check_measure_kernel


def skew_density(W):
    """Return e^{i 0.8 w_1} times the normal density of bandwidth 1.5."""
    return Gaussian(1.5).density(W) * np.exp(0.8j * W[:, 0])


def skew_kernel(D):
    return np.exp(-0.5 * ((D[:, 0] + 0.8) ** 2 + np.sum(D[:, 1:] ** 2, axis=1)) / 1.5**2)


@pytest.mark.parametrize("name", list(KERNELS))
def test_default_kernel_passes(name):
    check_measure_kernel(KERNELS[name]())


@pytest.mark.parametrize("n_features", [1, 57])
@pytest.mark.parametrize("strength", [0.05, 0.3, 1.0, 2.4])
@pytest.mark.parametrize("family", [ShiftGaussian, SinhGaussian, CoshGaussian])
def test_kernel_of_any_strength_passes(family, strength, n_features):
    sigma = 2.0
    unit = np.random.default_rng(1).standard_normal(n_features)
    unit /= np.linalg.norm(unit)
    vector = strength * unit * (sigma if family is ShiftGaussian else 1 / sigma)
    check_measure_kernel(family(vector, sigma), n_features, scale=sigma / np.sqrt(n_features))


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Laplace(3.0), Matern(2.0, nu=0.7), Bessel(0.8)], ids=repr)
def test_symmetric_kernel_is_the_case_of_one_block(kernel):
    check_measure_kernel(kernel)
    (block,) = kernel.measures(3)
    assert (block.mass, block.turn, block.shift) == (1.0, 0.0, None)


def test_signed_kernel_of_mixed_terms_passes():
    check_measure_kernel(SignedMeasureKernel([(2.0, Gaussian(3.0)), (-0.5, Laplace(1.0)), (-1.0, Matern(nu=2.0))]))


@pytest.mark.parametrize("family", [ShiftGaussian, SinhGaussian, CoshGaussian])
def test_symmetric_part_passes_and_is_symmetric(family):
    part = SymmetricPart(family(0.6))
    check_measure_kernel(part)
    X = np.random.default_rng(0).standard_normal((6, 3))
    np.testing.assert_allclose(part.gram(X), (family(0.6).gram(X) + family(0.6).gram(X).T) / 2, atol=1e-12)
    np.testing.assert_allclose(part.gram(X[:2], X[2:]), part.gram(X)[:2, 2:], atol=1e-12)


@pytest.mark.parametrize("kernel", ["shift", ComplexMeasureKernel(skew_density, skew_kernel)])
def test_symmetric_part_of_what_is_no_kernel_in_closed_form_is_refused(kernel):
    with pytest.raises(ParameterError, match="closed form"):
        SymmetricPart(kernel)


def test_kernel_of_a_density_passes():
    check_measure_kernel(ComplexMeasureKernel(skew_density, skew_kernel, proposal=Gaussian(1.4), bound=1.3))


class WrongMass(ShiftGaussian):
    """Forgets the skew part."""

    def measures(self, n_features):
        return super().measures(n_features)[:2]


class WrongPhase(ShiftGaussian):
    """Shifts the wrong way."""

    def phase_measure(self, n_features):
        return MeasureBlock(1.0, Gaussian(self.bandwidth), shift=-self.shift_vector(n_features))


@pytest.mark.parametrize("broken", [WrongMass, WrongPhase])
def test_a_broken_kernel_is_found_out(broken):
    with pytest.raises(AssertionError, match="kernel"):
        check_measure_kernel(broken(0.6))
