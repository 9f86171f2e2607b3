"""Docstrings: numpydoc sections name what the signature names, in its order."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from architecture.surface import public_classes_and_functions, public_methods
from numpydoc.docscrape import NumpyDocString

import lowtide
from lowtide import theory
from lowtide.kernels import KERNELS
from lowtide.maps import FEATURE_MAPS
from lowtide.projections import PROJECTIONS
from lowtide.quantizers import QUANTIZERS

PUBLIC = public_classes_and_functions()


def _called_by_users() -> dict[str, Any]:
    """Return what a user calls by name: the top-level names, every registered part, and the theory's functions."""
    found = [getattr(lowtide, name) for name in lowtide.__all__]
    found += [registry[name] for registry in (KERNELS, PROJECTIONS, FEATURE_MAPS, QUANTIZERS) for name in registry]
    found += [getattr(theory, name) for name in theory.__all__]
    return {f"{value.__module__}.{value.__qualname__}": value for value in found if callable(value)}


USED = _called_by_users()


def _sections(value: Any) -> NumpyDocString:
    return NumpyDocString(inspect.getdoc(value) or "")


def _documented(section: list[Any]) -> list[str]:
    """Return the names of a section; `X, Y : array` documents two."""
    return [name.strip().lstrip("*") for entry in section for name in entry.name.split(",")]


def _parameters(value: Any) -> list[str]:
    """Return the arguments a caller can give; a protocol and an exception have none of their own."""
    if inspect.isclass(value) and (getattr(value, "_is_protocol", False) or issubclass(value, BaseException)):
        return []
    return [name for name in inspect.signature(value).parameters if name not in ("self", "cls")]


def _wrong_sections(value: Any) -> str:
    """Return what a Parameters section says against the signature, empty when there is nothing to say."""
    documented, actual = _documented(_sections(value)["Parameters"]), _parameters(value)
    return f"{documented} documented, {actual} taken" if documented and documented != actual else ""


@pytest.mark.parametrize(("path", "value"), PUBLIC, ids=[name.path for name in PUBLIC])
def test_parameters_section_matches_the_signature(path, value):
    assert not _wrong_sections(value)


@pytest.mark.parametrize(("path", "value"), [name for name in PUBLIC if inspect.isclass(name.value)])
def test_parameters_sections_of_methods_match_their_signatures(path, value):
    methods = [name for name, member in public_methods(value).items() if not isinstance(member, property)]
    wrong = {name: complaint for name in methods if (complaint := _wrong_sections(getattr(value, name)))}
    assert not wrong


@pytest.mark.parametrize("path", sorted(USED))
def test_what_users_call_documents_every_parameter_and_has_an_example(path):
    sections, parameters = _sections(USED[path]), _parameters(USED[path])
    missing = [name for name in parameters if name not in _documented(sections["Parameters"])]
    assert not missing, "add them to the Parameters section"
    assert sections["Examples"] or not parameters, "add a doctested Examples section"
