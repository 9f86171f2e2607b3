"""What a file keeps of an estimator: parameters as JSON, arrays as they are."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from lowtide._checks import fail
from lowtide.errors import FileFormatError
from lowtide.spec import Registry, Spec

__all__ = ["EstimatorState"]

Arrays = dict[str, NDArray[Any]]


class EstimatorState:
    """Contract of an estimator that can be saved: `_state` gives a spec, ready for JSON, and arrays.

    `_from_state` builds the estimator of them again. It may be given anything that JSON and safetensors can hold: it
    compares shapes with what the spec says before it makes anything of that size, and builds only what a registry
    names.
    """

    _parts: ClassVar[dict[str, Registry[Any]]] = {}
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    @abstractmethod
    def _state(self) -> tuple[dict[str, Any], Arrays]:
        """Return what was fitted; refuse what a file cannot hold, such as a callable."""

    @classmethod
    @abstractmethod
    def _from_state(cls, spec: dict[str, Any], arrays: Arrays) -> Self:
        """Return the fitted estimator."""

    def _check_fitted_to_save(self, attribute: str | None = None) -> None:
        try:
            check_is_fitted(self, attribute)
        except NotFittedError:
            got = f"an unfitted {type(self).__name__}"
            raise fail("save", "an estimator must be fitted", got, "Call fit first.") from None

    def _params_to_spec(self: Any) -> dict[str, Any]:
        """Return constructor parameters as JSON; those in `_parts` may be objects of their stage."""
        return {name: self._param_to_spec(name, value) for name, value in self.get_params(deep=False).items()}

    def _param_to_spec(self, name: str, value: Any) -> Any:
        if name in self._parts and isinstance(value, Spec):
            return self._part_to_spec(name, value)
        return plain_parameter(type(self).__name__, name, value)

    def _part_to_spec(self, name: str, part: Spec) -> dict[str, Any]:
        """Return the configuration of a part; refused now when its registry could not read it back."""
        config = part.to_config()
        if type(self._parts[name].from_config(config)) is not type(part):
            raise fail("save", f"{name} must be a registered part", part)
        return config

    @classmethod
    def _from_params_spec(cls: Any, spec: dict[str, Any]) -> Any:
        """Return an unfitted estimator; a parameter that is not in the file keeps its default."""
        known = cls._get_param_names()
        if set(spec) - set(known):
            raise fail(cls.__name__, f"parameters must be of {', '.join(known)}", sorted(set(spec) - set(known)))
        return cls(**{name: cls._param_from_spec(name, value) for name, value in spec.items()})

    @classmethod
    def _param_from_spec(cls, name: str, value: Any) -> Any:
        return cls._parts[name].from_config(value) if name in cls._parts and isinstance(value, dict) else value

    def _names_to_spec(self) -> list[str] | None:
        """Return the names of the columns that the estimator was fitted with."""
        return [str(name) for name in self.feature_names_in_] if hasattr(self, "feature_names_in_") else None

    def _set_names(self, names: Any) -> None:
        """Give the columns their names back."""
        if names is None:
            return
        texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
        if not texts or len(names) != self.n_features_in_:
            raise fail(type(self).__name__, f"feature names must be {self.n_features_in_} texts", names)
        self.feature_names_in_ = np.array(names, dtype=object)

    def _check_same(self, rebuilt: bytes, kept: str) -> None:
        """Raise when an encoder would not make the codes of the one that was saved."""
        if rebuilt.hex() != kept:
            raise FileFormatError(
                f"{type(self).__name__}: the fingerprint must be {kept}, as when it was saved, got {rebuilt.hex()}. "
                "Load it with the version of lowtide that wrote it."
            )

    @staticmethod
    def _prefixed(part: str, arrays: Arrays) -> Arrays:
        """Return the arrays of a part under names of its own."""
        return {f"{part}.{name}": array for name, array in arrays.items()}

    @staticmethod
    def _arrays_of(part: str, arrays: Arrays) -> Arrays:
        """Return the arrays of one part under the names that it gave them."""
        start = f"{part}."
        return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def plain_parameter(owner: str, name: str, value: Any) -> Any:
    """Return a parameter as JSON has it; a generator object, whose state no file keeps, becomes None."""
    if isinstance(value, np.random.RandomState):
        return None
    value = value.item() if isinstance(value, np.generic) else value
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise fail(owner, f"{name} must be a number, a text, a part of lowtide or None to be saved", value)
    return value
