"""What lowtide shows: the names that packages list in `__all__`, and those that modules show to their neighbors."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import lowtide

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "lowtide"


class PublicName(NamedTuple):
    """A class or function of lowtide under the module that defines it."""

    path: str
    value: Any


def module_names() -> list[str]:
    """Return every module of lowtide but the compiled one, which has no Python source."""
    found = pkgutil.walk_packages([str(SOURCE)], prefix="lowtide.", onerror=_reraise)
    return ["lowtide", *(info.name for info in found if not info.name.endswith("._lowtide_core"))]


def public_modules() -> list[ModuleType]:
    """Return the modules that list public names: the packages."""
    modules = (import_module(name) for name in module_names() if not name.endswith("__main__"))
    return [module for module in modules if hasattr(module, "__all__")]


def public_classes_and_functions() -> list[PublicName]:
    """Return each class and function of Python without a leading underscore, under the module that defines it."""
    found = {}
    for module in (import_module(name) for name in module_names() if not name.endswith("__main__")):
        for name, value in vars(module).items():
            if not name.startswith("_") and (inspect.isclass(value) or inspect.isfunction(value)):
                found[f"{value.__module__}.{value.__qualname__}"] = value
    compiled = "lowtide._core._lowtide_core."  # whose stub says what there is
    paths = [path for path in sorted(found) if path.startswith("lowtide.") and not path.startswith(compiled)]
    return [PublicName(path, found[path]) for path in paths]


def public_methods(cls: type) -> dict[str, Any]:
    """Return the functions and properties that the class itself defines without a leading underscore."""
    return {name: value for name, value in vars(cls).items() if not name.startswith("_") and _is_member(value)}


def _is_member(value: Any) -> bool:
    return inspect.isfunction(value) or isinstance(value, (property, classmethod, staticmethod))


def _reraise(name: str) -> None:
    raise ImportError(f"{name} cannot be imported")


assert Path(lowtide.__file__).resolve().parent == SOURCE, "the tests must run against this tree: make dev"
