"""Spec: what a user writes down of a stage. Hyperparameters only: cheap, comparable, printable, JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Generic, Self, TypeVar, cast

import numpy as np

from lowtide._checks import fail
from lowtide.errors import ParameterError

__all__ = ["Registry", "Spec"]


class Spec:
    """Base of every stage's hyperparameter object; subclasses are dataclasses.

    A spec stores its arguments as given, checks them in `check`, compares by its configuration and turns into JSON and
    back. It has scikit-learn's `get_params` and `set_params`, so a search can reach `kernel__bandwidth`.
    """

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Raise ParameterError when a hyperparameter is outside its limits."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the hyperparameters by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Set hyperparameters by name and check them again."""
        for name, value in params.items():
            if name not in self._names():
                owner = type(self).__name__
                raise fail(owner, f"parameter must be one of {', '.join(self._names())}", name)
            setattr(self, name, value)
        self.check()
        return self

    def to_config(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary: the class's name under `type`, and every hyperparameter."""
        return {"type": type(self).__name__, **{n: _plain(v) for n, v in self.get_params().items()}}

    @classmethod
    def _names(cls) -> list[str]:
        return [field.name for field in fields(cast(Any, cls)) if field.init]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        listed = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({listed})"

    def _key(self) -> str:
        return json.dumps(self.to_config(), sort_keys=True)


SpecT = TypeVar("SpecT", bound=Spec)


class Registry(Generic[SpecT]):
    """The classes of one stage by the names a user may write; the only place that maps text to code.

    Parameters
    ----------
    stage : str
        What the classes are, for messages: "kernel", "projection", ...
    classes : dict
        Class by name; a name alone must be enough to build the object.
    unnamed : tuple
        Classes that are only given as objects, and read back from configurations.
    """

    def __init__(self, stage: str, classes: dict[str, type[SpecT]], unnamed: tuple[type[SpecT], ...] = ()) -> None:
        self.stage = stage
        self._classes = classes
        self._by_type = {cls.__name__: cls for cls in (*classes.values(), *unnamed)}

    def __getitem__(self, name: str) -> type[SpecT]:
        if not isinstance(name, str) or name not in self._classes:
            listed = ", ".join(repr(known) for known in self._classes)
            raise ParameterError(f"{self.stage} must be one of {listed} or an object of that stage, got {name!r}.")
        return self._classes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def resolve(self, part: str | SpecT) -> SpecT:
        """Return an object as it is, and a name as the default object of its class."""
        return self[part]() if isinstance(part, str) else part

    def from_config(self, config: dict[str, Any]) -> SpecT:
        """Build the spec that `to_config` described; only registered classes can be named."""
        if config.get("type") not in self._by_type:
            listed = ", ".join(self._by_type)
            raise ParameterError(f"{self.stage} configuration must name one of {listed}, got {config.get('type')!r}.")
        return self._by_type[config["type"]](**{name: value for name, value in config.items() if name != "type"})


def _plain(value: Any) -> Any:
    """Turn numpy scalars and arrays into plain Python."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return value
