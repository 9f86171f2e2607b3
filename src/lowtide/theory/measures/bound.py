"""How many frequencies guarantee a uniform error: Proposition 6 of AsK-RFF, with its constant corrected."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lowtide._checks import check_integer, check_interval, check_positive, fail
from lowtide.kernels import MeasureKernel

__all__ = ["MeasureBound", "measure_beta", "measure_bound"]


@dataclass(frozen=True)
class MeasureBound:
    """What Proposition 6 is made of.

    Parameters
    ----------
    total_mass : float
        |mu| = m_R+ + m_R- + 2 m_I+.
    second_moment : float
        E|w|^2 + E|zeta|^2 + 2 E|nu|^2 over the three blocks; one without mass counts 0.
    alpha : float
        Square root of (m_R+^2 + m_R-^2 + 2 m_I+^2) times that.
    count : float
        Frequencies a block, not rounded.

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> measure_bound(Gaussian(), n_features=4, diameter=1.0, error=0.5, failure=0.1).second_moment
    4.0
    """

    total_mass: float
    second_moment: float
    alpha: float
    count: float


def measure_beta(dimension: int) -> float:
    """Constant beta_d = ((d/2)^{-d/(d+2)} + (d/2)^{2/(d+2)}) 2^{(6d+2)/(d+2)}: 12 at d = 1, at most 66.

    Parameters
    ----------
    dimension : int
        d, at least 1.

    Examples
    --------
    >>> round(measure_beta(1), 10), round(measure_beta(64), 10)
    (12.0, 66.0)
    """
    d = check_integer("measure_beta", "dimension", dimension, 1)
    half = d / 2
    return (half ** (-d / (d + 2)) + half ** (2 / (d + 2))) * 2 ** ((6 * d + 2) / (d + 2))


def measure_bound(
    kernel: MeasureKernel, n_features: int, diameter: float, error: float, failure: float
) -> MeasureBound:
    """Frequencies a block for a uniform error over data of a diameter, of the three-block form.

    M >= 4 (d+2) |mu|^2 eps^-2 (log(beta_d/delta) + (2d/(d+2)) log(alpha l/eps)).

    Parameters
    ----------
    kernel : MeasureKernel
        In closed form.
    n_features : int
        d.
    diameter : float
        l, of the rows; their differences, up to 2 l, are already counted.
    error : float
        eps, above 0.
    failure : float
        delta, in (0, 1].

    Returns
    -------
    MeasureBound

    Notes
    -----
    A worst case: tens of thousands of frequencies for an error of 0.1, where `measure_variance` asks for hundreds.

    References
    ----------
    AsK-RFF (He, He, Liu and Huang), Proposition 6, beta_d corrected.

    Examples
    --------
    >>> from lowtide.kernels import ShiftGaussian
    >>> bound = measure_bound(ShiftGaussian(0.35), n_features=4, diameter=2.0, error=0.1, failure=0.05)
    >>> math.ceil(bound.count)
    48574
    """
    d = check_integer("measure_bound", "n_features", n_features, 1)
    length = check_positive("measure_bound", "diameter", diameter)
    eps = check_positive("measure_bound", "error", error)
    delta = check_interval("measure_bound", "failure", failure, 0.0, 1.0)
    if delta == 0.0:
        raise fail("measure_bound", "failure must be above 0", failure)
    blocks = kernel.measures(d)
    # The imaginary block has mass 2 m_I: it counts twice its moment and, squared and halved, 2 m_I^2.
    twice = [2.0 if block.turn == 0.25 else 1.0 for block in blocks]
    total = sum(block.mass for block in blocks)
    moment = sum(n * block.frequencies.second_moment(d) for n, block in zip(twice, blocks))
    squares = sum(block.mass**2 / n for n, block in zip(twice, blocks))
    alpha = math.sqrt(squares * moment)
    logs = math.log(measure_beta(d) / delta) + 2 * d / (d + 2) * math.log(alpha * length / eps)
    return MeasureBound(total, moment, alpha, 4 * (d + 2) * total**2 / eps**2 * logs)
