"""What a user writes down of a stage, the lists of classes that a file may name, and the parts that files are made of.

A *spec* holds hyperparameters only: cheap, comparable, printable, JSON. A *registry* maps text to the classes of one
stage, ours and a user's. A *part* is one named and versioned piece of what is kept of a fitted object.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, fields
from inspect import signature
from typing import Any, Generic, Self, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.errors import FileFormatError, ParameterError


class Spec:
    """Base of every stage's hyperparameter object; subclasses are dataclasses.

    A spec stores its arguments as given, checks them in `check`, compares by its configuration and turns into JSON and
    back. It has scikit-learn's `get_params` and `set_params`, so a search can reach `kernel__bandwidth`.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # `dataclass` keeps what a class has of its own: else it would compare fields, which may be arrays, and
        # take the hash away.
        for name in ("__eq__", "__hash__", "__repr__"):
            if name not in vars(cls):
                setattr(cls, name, getattr(cls, name))

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Raise ParameterError when a hyperparameter is outside its limits."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the hyperparameters by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Set hyperparameters by name; a refused value leaves all of them as they were."""
        for name in (each for each in params if each not in self._names()):
            known = ", ".join(self._names()) or "none, it has no hyperparameters"
            raise fail(type(self).__name__, f"parameter must be one of {known}", name)
        type(self)(**{**self.get_params(), **params})
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def to_config(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary: the class's name under `type`, and every hyperparameter."""
        declared = {each.name: each.type for each in fields(cast(Any, self))}
        params = {name: _plain(value, declared[name]) for name, value in self.get_params().items()}
        return {"type": type(self).__name__, **params}

    @classmethod
    def _names(cls) -> list[str]:
        return [each.name for each in fields(cast(Any, cls)) if each.init]

    @classmethod
    def _required(cls) -> list[str]:
        """Return the hyperparameters without a default."""
        return [each.name for each in signature(cls).parameters.values() if each.default is each.empty]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Spec) or type(self) is not type(other):
            return False
        return self.comparison_key() == other.comparison_key()

    def __hash__(self) -> int:
        return hash(self.comparison_key())

    def __repr__(self) -> str:
        listed = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({listed})"

    def comparison_key(self) -> str:
        """Return a text that is equal for equal specs; how a class that holds callables tells them apart."""
        return json.dumps(self.to_config(), sort_keys=True)


SpecT = TypeVar("SpecT", bound=Spec)
ClassT = TypeVar("ClassT", bound=type[Spec])

# Every list of classes there is: where `register` looks for the stage of a class.
_REGISTRIES: list[Registry[Any]] = []


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

    Examples
    --------
    >>> from lowtide.projections import PROJECTIONS
    >>> PROJECTIONS.resolve("iid")
    Iid()
    >>> PROJECTIONS.from_config({"type": "Haar"})
    Haar()
    """

    def __init__(
        self, stage: str, base: type[Spec], classes: Mapping[str, type[SpecT]], unnamed: tuple[type[SpecT], ...] = ()
    ) -> None:
        self.stage, self.base = stage, base
        self._named: dict[str, type[SpecT]] = dict(classes)
        self._by_type: dict[str, type[SpecT]] = {cls.__name__: cls for cls in (*classes.values(), *unnamed)}
        _REGISTRIES.append(self)

    def of(self, base: type[Spec]) -> Registry[Any]:
        """Return a view of this list with the classes of a narrower base alone, also those that are added later."""
        view = copy(self)
        view.base = base
        return view

    def __iter__(self) -> Iterator[str]:
        return (name for name, cls in self._named.items() if issubclass(cls, self.base))

    def __getitem__(self, name: str) -> type[SpecT]:
        if not isinstance(name, str) or name not in set(self):
            listed = ", ".join(map(repr, self))
            raise ParameterError(
                f"{self.stage} must be one of {listed} or a {self.base.__name__} object, got {name!r}."
            )
        return self._named[name]

    def resolve(self, part: str | SpecT) -> SpecT:
        """Return an object of the stage as it is, and a name as the default object of its class."""
        return part if isinstance(part, self.base) else self[cast(str, part)]()

    def add(self, cls: type[SpecT], name: str | None = None) -> None:
        """Add a class, by a name or only as objects; one that was defined again takes the place of the first."""
        owner = cls.__name__
        if "__dataclass_fields__" not in vars(cls):
            raise fail("register", f"{owner} must be a dataclass", owner, "Write @dataclass over the class.")
        if name is not None and cls._required():
            need = f"{owner} must have a default for each parameter to be found by a name"
            raise fail("register", need, f"none for {', '.join(cls._required())}", "Or register it without a name.")
        for known in (self._by_type.get(owner), None if name is None else self._named.get(name)):
            if known is not None and _place(known) != _place(cls):
                need = f"the {self.stage} {name or owner!r} must not be known already"
                raise fail("register", need, f"{_place(cls)} beside {_place(known)}", "Choose another name.")
        self._by_type[owner] = cls
        if name is not None:
            self._named[name] = cls

    def remove(self, cls: type[Spec]) -> None:
        """Take a class that was added out of the list."""
        for known in (self._by_type, self._named):
            for name in [name for name, each in known.items() if each is cls]:
                del known[name]

    def to_config(self, part: SpecT) -> dict[str, Any]:
        """Return the configuration of an object; refused now when this list could not read it back."""
        owner = type(part).__name__
        if self._by_type.get(owner) is not type(part):
            remedy = f"Register its class first: lowtide.register({owner})."
            raise fail("save", f"{self.stage} must be of a registered class", part, remedy)
        config = part.to_config()
        self.from_config(config)
        return config

    def from_config(self, config: dict[str, Any]) -> SpecT:
        """Build the spec that `to_config` described; only registered classes can be named."""
        kind = config.get("type")
        cls = self._by_type.get(kind) if isinstance(kind, str) else None
        if cls is None or not issubclass(cls, self.base):
            listed = ", ".join(known for known, each in self._by_type.items() if issubclass(each, self.base))
            need = f"one of {listed}" if listed else "a registered class"
            raise ParameterError(
                f"{self.stage} configuration must name {need}, got {kind!r}. If that is a class of your own, "
                "register it first: lowtide.register."
            )
        params = {name: value for name, value in config.items() if name != "type"}
        if set(params) - set(cls._names()):
            raise fail(cls.__name__, f"configuration must have {', '.join(cls._names()) or 'no'} parameters", config)
        if set(cls._required()) - set(params):
            raise fail(cls.__name__, f"configuration must have {', '.join(cls._required())}", config)
        return cls(**params)


def registry_of(part: type[Spec]) -> Registry[Any]:
    """Return the list of the stage that a class belongs to."""
    for registry in _REGISTRIES:
        if isinstance(part, type) and issubclass(part, registry.base):
            return registry
    listed = ", ".join(registry.base.__name__ for registry in _REGISTRIES)
    raise fail("register", f"a class must derive from one of {listed}", part)


@overload
def register(part: ClassT, name: str | None = None) -> ClassT: ...


@overload
def register(part: None = None, name: str | None = None) -> Callable[[ClassT], ClassT]: ...


def register(part: Any = None, name: str | None = None) -> Any:
    """Make a class of your own a part like lowtide's: found by its name, saved by its configuration, loaded again.

    A file names classes and holds their parameters, never code: it can be loaded only where the class is registered
    too, before the file is read.

    Parameters
    ----------
    part : type
        A dataclass that derives from a stage's contract: `kernels.Kernel`, `projections.Projection`,
        `maps.FeatureMap`, `quantizers.Quantizer`, `quantizers.LineQuantizer`, `learners.Loss` or `kernels.Density`. Its
        parameters must be JSON.
    name : str, optional
        What may be written in its place, `kernel="cauchy"`; every parameter then has a default. Without it the class
        is used through its objects alone.

    Returns
    -------
    type
        The class, so that `register` may stand over it; a decorator where only a name is given.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import lowtide as lt
    >>> from lowtide.quantizers import QUANTIZERS, LloydMax
    >>> @lt.register(name="coarse")
    ... @dataclass
    ... class Coarse(LloydMax):
    ...     bits: int = 1
    >>> QUANTIZERS.resolve("coarse")
    Coarse(bits=1)
    >>> QUANTIZERS.remove(Coarse)
    """
    if part is None:
        return lambda decorated: register(decorated, name)
    registry_of(part).add(part, name)
    return part


def params_to_config(owner: str, params: Mapping[str, Any], parts: Mapping[str, Registry[Any]]) -> dict[str, Any]:
    """Return an estimator's parameters ready for JSON; `parts` has the registry of each that may be an object."""
    return {
        name: parts[name].to_config(value)
        if name in parts and isinstance(value, Spec)
        else plain_parameter(owner, name, value)
        for name, value in params.items()
    }


def params_from_config(
    owner: str, config: Mapping[str, Any], names: Iterable[str], parts: Mapping[str, Registry[Any]]
) -> dict[str, Any]:
    """Return the parameters of `params_to_config`, of those that are named; one that is not there keeps its default.

    The configuration is what a file says, which may be anything that JSON can hold.
    """
    known = list(names)
    if set(config) - set(known):
        raise fail(owner, f"parameters must be of {', '.join(known)}", sorted(set(config) - set(known)))
    return {
        name: parts[name].from_config(value)
        if name in parts and isinstance(value, dict)
        else tuple(value)
        if isinstance(value, list)
        else value
        for name, value in config.items()
    }


def plain_parameter(owner: str, name: str, value: Any) -> Any:
    """Return a parameter as JSON has it; a generator object, whose state no file keeps, becomes None."""
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, (tuple, list, np.ndarray)):
        return [plain_parameter(owner, name, each) for each in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain_parameter(owner, name, each) for key, each in value.items()}
    value = value.item() if isinstance(value, np.generic) else value
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise fail(owner, f"{name} must be a number, a text, a part of lowtide or None to be saved", value)
    return value


@dataclass(frozen=True, eq=False)
class Part:
    """One named piece of what is kept of a fitted object: a spec ready for JSON, and arrays by name.

    The version is of this piece alone: a reader refuses one that it does not know.
    """

    version: int
    spec: dict[str, Any]
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)


# What files, messages and stores keep of an object: its parts by name.
State = dict[str, Part]


def take_parts(
    owner: str, state: Mapping[str, Part], required: Mapping[str, int], optional: Mapping[str, int] | None = None
) -> None:
    """Raise FileFormatError unless a state has the required parts and no other than these and the optional ones.

    Both are given by name, with the version that is understood.

    Examples
    --------
    >>> take_parts("Codes", {"codes": Part(1, {})}, required={"codes": 1}, optional={"norms": 1})
    """
    known = {**required, **(optional or {})}
    for name in (each for each in required if each not in state):
        got = ", ".join(map(repr, state)) or "none"
        raise FileFormatError(f"{owner}: there must be a part {name!r}, got {got}. The file is of another kind.")
    for name, part in state.items():
        if name not in known:
            need = f"{owner} has a part {name!r} that this version of lowtide does not know."
            raise FileFormatError(f"{need} Update lowtide.")
        if part.version != known[name]:
            remedy = "Update lowtide." if part.version > known[name] else "Make it again with this version of lowtide."
            need = f"{owner}: part {name!r} must be of version {known[name]}, got version {part.version}."
            raise FileFormatError(f"{need} {remedy}")


def _place(part: type) -> str:
    """Return where a class was defined."""
    return f"{part.__module__}.{part.__qualname__}"


def _plain(value: Any, declared: Any) -> Any:
    """Turn numpy scalars and arrays into plain Python, and 2 into 2.0 where a float is declared: one spec, one text."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    plain = value.item() if isinstance(value, np.generic) else value
    return float(plain) if declared in ("float", float) else plain
