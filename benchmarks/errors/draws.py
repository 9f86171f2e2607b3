"""Run a configuration over independent encoders, and judge what came."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from benchmarks.errors.configurations import Configuration
from benchmarks.errors.judgement import LIMIT, Draws, Finding, Floats, judge, judge_distances
from lowtide import AsymmetricFeatures
from lowtide.encoders import Encoder
from lowtide.errors import BiasWarning, LayoutWarning, LowtideError, PrecisionWarning

N_DRAWS = 400
HONEST = (PrecisionWarning, BiasWarning, LayoutWarning)


@dataclass(frozen=True)
class Outcome:
    """What became of a configuration: the finding that uses most of its tolerance, or what the encoder said."""

    name: str
    verdict: Literal["passed", "said so", "failed"]
    worst: Finding
    findings: list[Finding] = field(default_factory=list)


def run(configuration: Configuration, n_draws: int = N_DRAWS, seed: int = 0) -> Outcome:
    """Judge a configuration over encoders of consecutive seeds.

    An error or a warning of lowtide's own is an answer: the encoder says that it has no bar. Any other is a failure.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            findings = measure(configuration, n_draws, seed)
        except LowtideError as error:
            return Outcome(configuration.name, "said so", Finding("said so", 0.0, str(error)))
        except Exception as error:
            return failure(configuration.name, f"{type(error).__name__}: {error}")
    foreign = [warned for warned in caught if not issubclass(warned.category, HONEST)]
    if foreign:
        return failure(configuration.name, f"{foreign[0].category.__name__}: {foreign[0].message}")
    if caught:
        return Outcome(configuration.name, "said so", Finding("said so", 0.0, str(caught[0].message)))
    worst = max(findings, key=lambda finding: finding.used)
    return Outcome(configuration.name, "failed" if worst.used > 1 else "passed", worst, findings)


def failure(name: str, text: str) -> Outcome:
    """Return the outcome of a call that broke."""
    return Outcome(name, "failed", Finding("broke", math.inf, text))


def measure(configuration: Configuration, n_draws: int, seed: int) -> list[Finding]:
    """Return the findings of every pair of rows."""
    first = fitted(configuration, seed)
    truth, rounding = expectations(configuration, first)
    stated = stated_errors(configuration, first)
    estimates = sample(configuration, first, n_draws, seed)
    findings = []
    for i, differ in enumerate(configuration.pairs.differ):
        values, std = estimates[:, 0, i], estimates[:, 1, i]
        raw = configuration.inputs == ("raw", "raw")
        if configuration.quantity == "distance":
            draws = Draws(values, std, float(configuration.distances[i]), differ, raw)
            # The kernel decreases to 0, and its estimate is clear of it.
            found = judge_distances(draws, tellable=bool(truth[i] > 2 * LIMIT * stated[i] > 0))
        else:
            known = (configuration.slack, float(rounding[i]), float(stated[i]), configuration.long)
            found = judge(Draws(values, std, float(truth[i]), differ, raw, *known))
        findings += [Finding(f"{one.what}, row {i}", one.used, one.figures) for one in found]
    return findings


def fitted(configuration: Configuration, seed: int) -> Encoder:
    """Return an encoder of a seed, fitted."""
    return configuration.with_seed(seed).fit(configuration.pairs.to_fit)


def expectations(configuration: Configuration, encoder: Encoder) -> tuple[Floats, Floats]:
    """Return the mean of the estimates, and what rounding may move them by.

    An estimate is a sum of m products of float32 features. Each factor is rounded once, and so is each of log2(m)
    partial sums or more, by 2^-24 of sum |f g| at most, which the products of the rows with themselves bound.
    """
    x, Y = configuration.pairs.x, configuration.pairs.Y
    call = {"sides": configuration.sides, "normalize": configuration.normalize}
    truth = np.asarray(encoder.expected_kernel(x, Y, **call), dtype=np.float64)[0]
    own = [np.abs(np.diagonal(encoder.expected_kernel(rows, rows, **call))) for rows in (x, Y)]
    size = np.maximum(np.sqrt(own[0] * own[1]), np.abs(truth))
    return truth, (2 + math.log2(encoder.n_components)) * 2.0**-24 * size


def stated_errors(configuration: Configuration, encoder: Encoder) -> Floats:
    """Return the standard errors of the kernel in closed form; 0 where there is none."""
    x, Y = configuration.pairs.x, configuration.pairs.Y
    call = {"sides": configuration.sides, "normalize": configuration.normalize}
    try:
        std = encoder.kernel_estimate(x, Y, return_std=True, **call)[1]
    except LowtideError:
        return np.zeros(len(Y))
    return np.nan_to_num(np.asarray(std, dtype=np.float64)[0], posinf=0.0)


def sample(configuration: Configuration, first: Encoder, n_draws: int, seed: int) -> Floats:
    """Return estimates and their bars over encoders, (n_draws, 2, rows of Y).

    The bar of raw rows is a closed form. Where two encoders agree on it to the last digit it is not worked out again.
    """
    drawn = [bars(configuration, first), bars(configuration, fitted(configuration, seed + 1))]
    raw = configuration.inputs == ("raw", "raw") and configuration.quantity == "kernel"
    shared = drawn[0][1] if raw and np.array_equal(drawn[0][1], drawn[1][1]) else None
    for i in range(2, n_draws):
        encoder = fitted(configuration, seed + i)
        if shared is None:
            drawn.append(bars(configuration, encoder))
        else:
            drawn.append(np.stack([call(configuration, encoder, encoder.kernel_estimate)[0], shared]))
    return np.array(drawn, dtype=np.float64)


def bars(configuration: Configuration, encoder: Encoder) -> Floats:
    """Return the estimate of one encoder and its bar, (2, rows of Y)."""
    make = encoder.distance_estimate if configuration.quantity == "distance" else encoder.kernel_estimate
    value, std = call(configuration, encoder, make, return_std=True)
    return np.array([value[0], std[0]], dtype=np.float64)


def call(configuration: Configuration, encoder: Encoder, make: Callable[..., Any], **more: Any) -> Any:
    """Return what an estimate gives for the rows as they come: raw, or as Codes."""
    left, right = configuration.pairs.x, configuration.pairs.Y
    makers = [encoder if isinstance(side, str) else encoder.side(side) for side in configuration.sides]
    if configuration.inputs[0] == "codes":
        left = makers[0].encode(left)
    if configuration.inputs[1] == "codes":
        right = (makers[1].encode_right if isinstance(encoder, AsymmetricFeatures) else makers[1].encode)(right)
    if configuration.quantity == "kernel":
        more["normalize"] = configuration.normalize
    return make(left, right, sides=configuration.sides, **more)
