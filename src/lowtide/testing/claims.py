"""Say in one sentence what a part breaks of its contract, and check what all parts share: being a spec."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from lowtide.errors import ParameterError
from lowtide.spec import Spec

# Every random check draws from a fixed seed, so a part passes always or never. Six standard errors: a right part fails
# one comparison in 5e8, and a part with a hundred comparisons still has nothing to fear.
STANDARD_ERRORS = 6.0
SEED = 20


def claim(holds: Any, part: object, sentence: str) -> None:
    """Raise AssertionError `part: sentence` unless it holds."""
    if not bool(np.all(holds)):
        raise AssertionError(f"{type(part).__name__}: {sentence}")


def claim_mean(sample: ArrayLike, expected: ArrayLike, part: object, sentence: str, slack: float = 0.0) -> None:
    """Claim that the mean of independent draws along the first axis is the expected one, up to a slack."""
    draws, expected = np.asarray(sample, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    mean, error = draws.mean(axis=0), draws.std(axis=0) / np.sqrt(len(draws))
    gap = np.abs(mean - expected)
    holds = gap <= STANDARD_ERRORS * error + 1e-6 + slack
    worst = np.unravel_index(int(np.argmax(gap - STANDARD_ERRORS * error)), gap.shape)
    told = f"expected {expected[worst]:.5g}, measured {mean[worst]:.5g} +- {error[worst]:.2g}"
    claim(holds, part, f"{sentence}; {told}")


def refusal(kind: type[Exception], call: Callable[[], Any]) -> str:
    """Return the message of an expected error, empty when there was none."""
    try:
        call()
    except kind as error:
        return str(error) or kind.__name__
    return ""


def check_spec(spec: Spec) -> None:
    """Check that a part is a value: comparable, hashable, printable, copied by scikit-learn, and ready for JSON.

    An AssertionError names what failed.

    Parameters
    ----------
    spec : Spec
        A kernel, projection, feature map or quantizer. One that holds a callable need not have a configuration.

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> check_spec(Gaussian(bandwidth=2.0))
    """
    claim(isinstance(spec, Spec), spec, "must derive from lowtide.spec.Spec")
    params = spec.get_params()
    claim(all(getattr(spec, name) is value for name, value in params.items()), spec, "must keep arguments as given")
    claim(clone(spec) == spec, spec, "scikit-learn's clone must give an equal object")
    claim(copy.deepcopy(spec) == spec, spec, "a deep copy must be equal")
    claim(hash(type(spec)(**params)) == hash(spec), spec, "equal objects must have equal hashes")
    claim(spec != object(), spec, "must differ from a foreign object")
    claim(repr(spec).startswith(f"{type(spec).__name__}("), spec, "repr must start with the name of the class")
    try:
        config = spec.to_config()
    except ParameterError:
        claim(any(callable(value) for value in params.values()), spec, "must have a configuration")
        return
    claim(config.get("type") == type(spec).__name__, spec, "the configuration must name the class under 'type'")
    read = json.loads(json.dumps(config))
    read.pop("type")
    claim(type(spec)(**read) == spec, spec, "the configuration must survive JSON and build an equal object")
    claim(pickle.loads(pickle.dumps(spec)) == spec, spec, "pickle must give an equal object")
