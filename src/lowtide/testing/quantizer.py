"""The contract of a quantizer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.maps import FeatureMap, Moments
from lowtide.quantizers import Quantizer
from lowtide.testing.claim import SEED, claim, claim_mean
from lowtide.testing.spec import check_spec

__all__ = ["check_quantizer"]

_N_PHASES = 1 << 16
_HARMONICS = 4


def check_quantizer(quantizer: Quantizer, feature_map: FeatureMap) -> None:
    """Check that a quantizer's levels, codebook and moments belong together, and that codes are unbiased.

    Parameters
    ----------
    quantizer : Quantizer
    feature_map : FeatureMap
        A map that the quantizer stands against.

    Raises
    ------
    AssertionError
        With a sentence that names what failed.

    Notes
    -----
    Decoded levels at random phases against `moments`, mean and products, random rounding included; the product with the
    full side against the kernel's share; the same draw from the same generator.

    Examples
    --------
    >>> from lowtide.maps import CosSin
    >>> from lowtide.quantizers import Phase
    >>> check_quantizer(Phase(bits=3), CosSin())
    """
    claim(isinstance(quantizer, Quantizer), quantizer, "must derive from lowtide.quantizers.Quantizer")
    check_spec(quantizer)
    drawn, again = (quantizer.draw(feature_map, np.random.default_rng(SEED)) for _ in range(2))
    same = all(np.array_equal(a, b) for a, b in zip(_decides(drawn), _decides(again)))
    claim(same, quantizer, "the same generator must draw the same quantizer")
    turns = np.random.default_rng(SEED + 1).random((_N_PHASES, 1), dtype=np.float32)
    if drawn.bits is None:
        values = _float_values(quantizer, drawn, turns, feature_map.width)
    else:
        _check_codebook(quantizer, drawn, feature_map.width)
        values = _decoded(quantizer, drawn, turns, feature_map.width)
    moments = drawn.moments()
    _check_moments(quantizer, moments, turns[:, 0].astype(np.float64), values)
    _check_unbiased(quantizer, moments, feature_map)


def _decides(drawn: Any) -> tuple[Any, ...]:
    """Return all that decides a level."""
    return (drawn.shifts, *drawn.op_arguments)


def _float_values(quantizer: Quantizer, drawn: Any, turns: NDArray[np.float32], width: int) -> NDArray[np.float64]:
    claim(drawn.codebook is None, quantizer, "without bits there must be no codebook")
    values = drawn.values(turns)
    claim(values.shape == (len(turns), width), quantizer, "values must give one number a component")
    claim(values.dtype == np.float32, quantizer, "values must give float32")
    return values.astype(np.float64)


def _check_codebook(quantizer: Quantizer, drawn: Any, width: int) -> None:
    claim(1 <= drawn.bits <= 8, quantizer, f"bits must be from 1 to 8, got {drawn.bits}")
    rows = np.shape(drawn.codebook)
    claim(
        rows in ((2**drawn.bits,), (2**drawn.bits, 2)), quantizer, f"the codebook must have 2^bits entries, got {rows}"
    )
    per_level = 1 if len(rows) == 1 else rows[1]
    claim(drawn.shifts.dtype == np.float32, quantizer, "shifts must be float32")
    claim(len(drawn.shifts) * per_level == width, quantizer, "levels and codebook must give every component a value")
    claim(np.isfinite(drawn.codebook), quantizer, "the codebook must be finite")


def _decoded(quantizer: Quantizer, drawn: Any, turns: NDArray[np.float32], width: int) -> NDArray[np.float64]:
    levels = drawn.levels(turns)
    claim(levels.dtype == np.uint8, quantizer, "levels must be uint8")
    claim(levels.shape == (len(turns), len(drawn.shifts)), quantizer, "levels must have one column a shift")
    claim(levels.max() < 2**drawn.bits, quantizer, "levels must stay below 2^bits")
    # A few phases within float32 rounding of a border may change sides.
    differ = float(np.mean(drawn.levels(turns + np.float32(1.0)) != levels))
    claim(differ < 1e-3, quantizer, "levels must not change when a phase grows by a whole turn")
    return np.asarray(drawn.codebook)[levels].reshape(len(turns), width)


def _check_moments(
    quantizer: Quantizer, moments: Moments, turns: NDArray[np.float64], values: NDArray[np.float64]
) -> None:
    claim(moments.width == values.shape[1], quantizer, "moments must have a row a component")
    for k in range(_HARMONICS):
        wave = np.exp(-2j * np.pi * k * turns)[:, None]
        _claim_complex(values * wave, _at(moments.mean, k), quantizer, f"moments().mean, k = {k}")
        products = (values[:, :, None] * values[:, None, :] * wave[:, :, None]).reshape(len(turns), -1)
        _claim_complex(products, _at(moments.product, k).ravel(), quantizer, f"moments().product, k = {k}")


def _claim_complex(sample: Any, expected: Any, quantizer: Quantizer, name: str) -> None:
    for part in ("real", "imag"):
        sentence = f"{name} must be what decoded levels have at random phases ({part} part)"
        claim_mean(getattr(sample, part), getattr(expected, part), quantizer, sentence)


def _at(coefficients: NDArray[np.complex128], k: int) -> NDArray[np.complex128]:
    """Return the coefficients of order k; those past the end are 0."""
    return coefficients[..., k] if k < coefficients.shape[-1] else np.zeros_like(coefficients[..., 0])


def _check_unbiased(quantizer: Quantizer, moments: Moments, feature_map: FeatureMap) -> None:
    full = feature_map.moments()
    share = np.sum(moments.mean[:, 1] * full.mean[:, 1].conj())
    expected = np.sum(np.abs(full.mean[:, 1]) ** 2)
    sentence = f"codes against the full side must carry the kernel once, got {(share / expected).real:.6g} times"
    claim(abs(share - expected) < 1e-6, quantizer, sentence)
