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
        """Set hyperparameters by name; a refused value leaves all of them as they were."""
        for name in params:
            if name not in self._names():
                known = ", ".join(self._names()) or "none, it has no hyperparameters"
                raise fail(type(self).__name__, f"parameter must be one of {known}", name)
        type(self)(**{**self.get_params(), **params})
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def to_config(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary: the class's name under `type`, and every hyperparameter."""
        declared = {field.name: field.type for field in fields(cast(Any, self))}
        params = {name: _plain(value, declared[name]) for name, value in self.get_params().items()}
        return {"type": type(self).__name__, **params}

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
    base : type
        The contract that every object of the stage derives from.
    classes : dict
        Class by name; a name alone must be enough to build the object.
    unnamed : tuple
        Classes that are only given as objects, and read back from configurations.
    """

    def __init__(
        self, stage: str, base: type[Spec], classes: dict[str, type[SpecT]], unnamed: tuple[type[SpecT], ...] = ()
    ) -> None:
        self.stage = stage
        self.base = base
        self._classes = classes
        self._by_type = {cls.__name__: cls for cls in (*classes.values(), *unnamed)}

    def __getitem__(self, name: str) -> type[SpecT]:
        if not isinstance(name, str) or name not in self._classes:
            listed = ", ".join(repr(known) for known in self._classes)
            raise ParameterError(
                f"{self.stage} must be one of {listed} or a {self.base.__name__} object, got {name!r}."
            )
        return self._classes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def resolve(self, part: str | SpecT) -> SpecT:
        """Return an object of the stage as it is, and a name as the default object of its class."""
        return part if isinstance(part, self.base) else self[cast(str, part)]()

    def from_config(self, config: dict[str, Any]) -> SpecT:
        """Build the spec that `to_config` described; only registered classes can be named."""
        if config.get("type") not in self._by_type:
            listed = ", ".join(self._by_type)
            raise ParameterError(f"{self.stage} configuration must name one of {listed}, got {config.get('type')!r}.")
        params = {name: value for name, value in config.items() if name != "type"}
        cls = self._by_type[config["type"]]
        if set(params) - set(cls._names()):
            raise fail(cls.__name__, f"configuration must have {', '.join(cls._names()) or 'no'} parameters", config)
        return cls(**params)


def _plain(value: Any, declared: Any) -> Any:
    """Turn numpy scalars and arrays into plain Python, and 2 into 2.0 where a float is declared: one spec, one text."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    plain = value.item() if isinstance(value, np.generic) else value
    return float(plain) if declared in ("float", float) else plain
