"""Names and modules that are imported when they are first asked for, so that what nobody asks for costs nothing."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

__all__ = ["ByName", "later", "names_in_stub", "put_off"]

ClassT = TypeVar("ClassT", bound=type)


def later(package: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """Return a package's `__getattr__`: it imports a name from the module that `homes` lists it under.

    What is listed under the package itself are its modules.
    """
    home = {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = home[name]
        value = import_module(f"{package}.{name}") if module == package else getattr(import_module(module), name)
        setattr(sys.modules[package], name, value)  # the next time it is simply there
        return value

    return get


def names_in_stub(package: str, file: str) -> tuple[list[str], Callable[[str], Any]]:
    """Return a package's `__all__` and `__getattr__` from the imports of the stub beside its `__init__.py`.

    The stub is the one list of names: type checkers read it as it is.
    """
    stub = ast.parse(Path(file).with_name("__init__.pyi").read_text(encoding="utf-8"))
    homes: dict[str, tuple[str, ...]] = {}
    for node in stub.body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            homes[node.module] = homes.get(node.module, ()) + tuple(alias.name for alias in node.names)
    return [name for names in homes.values() for name in names], later(package, homes)


class ByName(Mapping[str, ClassT]):
    """Classes of a package by their names, each imported when it is taken out."""

    def __init__(self, package: str, names: Mapping[str, str]) -> None:
        """Take what the package calls each of them."""
        self._package, self._names = package, names

    def __getitem__(self, name: str) -> ClassT:
        return getattr(sys.modules[self._package], self._names[name])

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class _PutOff(ModuleType):
    """A module's place in `sys.modules`, until something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__path__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def put_off(module: str) -> None:
    """Have a module that others import at their top loaded when it is first used; it is no matter if it is there."""
    sys.modules.setdefault(module, _PutOff(module))
