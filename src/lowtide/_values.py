"""Dataclasses that share their methods, which most of the time of an import otherwise goes into compiling.

The standard library writes and compiles the source of `__repr__`, `__eq__`, `__hash__`, `__setattr__` and `__delattr__`
anew for each class. Here every class gets the same functions, and only `__init__` is compiled.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform, overload

__all__ = ["dataclass"]

ClassT = TypeVar("ClassT", bound=type)

_LOCK = threading.Lock()


@recursive_repr()
def _repr(value: Any) -> str:
    shown = [f"{each.name}={getattr(value, each.name)!r}" for each in dataclasses.fields(value) if each.repr]
    return f"{type(value).__qualname__}({', '.join(shown)})"


def _compared(value: Any) -> tuple[Any, ...]:
    return tuple([getattr(value, name) for name in value._compared_fields])


def _eq(value: Any, other: object) -> bool:
    if type(other) is not type(value):
        return NotImplemented
    return _compared(value) == _compared(other)  # tuples, so that one object is equal to itself, as an array is not


def _hash(value: Any) -> int:
    return hash(_compared(value))


def _set_once(value: Any, name: str, new: object) -> None:
    # `__init__` comes here too: what it sets may be set while it has no value.
    if name in value.__dict__ or name not in value._set_fields:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    value.__dict__[name] = new


def _delete(value: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _made(kind: Any, frozen: bool) -> Any:
    """Have the standard library compile `__init__` alone.

    It does so for a class that is not frozen, and refuses one below a frozen class; so those above are said not to be
    for as long. Afterwards the class is said to be what it is: who derives from it may freeze, and must.
    """
    above = [each.__dataclass_params__ for each in kind.__mro__[1:] if "__dataclass_params__" in vars(each)]
    with _LOCK:
        frozen_above = [params for params in above if params.frozen]
        for params in frozen_above if frozen else ():
            params.frozen = False
        try:
            kind = dataclasses.dataclass(repr=False, eq=False)(kind)
        finally:
            for params in frozen_above:
                params.frozen = True
    kind.__dataclass_params__.frozen = frozen
    listed = dataclasses.fields(kind)
    kind._compared_fields = tuple([each.name for each in listed if each.compare])
    kind._set_fields = {each.name for each in listed if each.init or each.default_factory is not dataclasses.MISSING}
    return kind


@overload
def dataclass(cls: ClassT, /) -> ClassT: ...


@overload
def dataclass(*, repr: bool = True, eq: bool = True, frozen: bool = False) -> Callable[[ClassT], ClassT]: ...


@dataclass_transform(field_specifiers=(dataclasses.field,))
def dataclass(
    cls: ClassT | None = None, /, *, repr: bool = True, eq: bool = True, frozen: bool = False
) -> ClassT | Callable[[ClassT], ClassT]:
    """Make a class a dataclass, as `dataclasses.dataclass` does, in a fraction of its time.

    A method that the class has of its own stays. To `dataclasses.fields`, `replace` and `asdict` it is like any other.
    """

    def made(kind: ClassT) -> ClassT:
        given = vars(kind)
        shared: dict[str, Any] = {"__repr__": _repr} if repr else {}
        if eq:
            shared["__eq__"] = _eq
            # Python itself puts None where a class has an equality and no hash.
            if given.get("__hash__") is None:
                kind.__hash__ = _hash if frozen else None  # type: ignore[method-assign, assignment]
        if frozen:
            shared |= {"__setattr__": _set_once, "__delattr__": _delete}
        for name, method in shared.items():
            if name not in given:
                setattr(kind, name, method)
        return _made(kind, frozen)

    return made if cls is None else made(cls)
