"""Dataclasses that share their methods do what those of the standard library do."""

from __future__ import annotations

import dataclasses
import pickle
from copy import copy
from dataclasses import KW_ONLY, FrozenInstanceError, field
from typing import Any, ClassVar

import numpy as np
import pytest

from lowtide._values import dataclass

MAKERS = {"ours": dataclass, "standard": dataclasses.dataclass}


@dataclass(frozen=True)
class Point:
    """A frozen value with fields of every sort."""

    x: Any
    y: Any = 2
    kind: ClassVar[list[str]] = ["point"]
    _: KW_ONLY
    note: str = field(default="", compare=False)
    hidden: int = field(default=0, repr=False)
    total: int = field(init=False, default=7)


@pytest.mark.parametrize("maker", MAKERS)
def test_values_print_compare_and_hash(maker):
    point = MAKERS[maker](frozen=True)(type("Point", (), {**_body(Point)}))
    one, other = point(1, note="a"), point(1, note="b")
    assert repr(one).endswith("Point(x=1, y=2, note='a', total=7)")
    assert (one == other, one == point(3), one == (1, 2), hash(one) == hash(other)) == (True, False, False, True)
    array = np.zeros(3)
    assert point(array) == point(array)  # one object is equal to itself


def _body(cls: type) -> dict[str, Any]:
    """Return what a class body had before it was made a dataclass."""
    fields = {each.name: each for each in dataclasses.fields(cls)}
    body = {"__annotations__": cls.__annotations__, "__module__": __name__, "kind": cls.kind}
    return body | {
        name: each if name in ("note", "hidden", "total") else each.default
        for name, each in fields.items()
        if each.default is not dataclasses.MISSING
    }


def test_frozen_values_refuse_to_change():
    point = Point(1)
    for change in (
        lambda: setattr(point, "x", 2),
        lambda: setattr(point, "total", 2),
        lambda: setattr(point, "new", 2),
        lambda: delattr(point, "x"),
    ):
        with pytest.raises(FrozenInstanceError, match="cannot"):
            change()
    assert point == Point(1)


def test_values_are_replaced_copied_and_pickled():
    point = dataclasses.replace(Point(1), y=5)
    assert (point.x, point.y, point.kind) == (1, 5, ["point"])
    assert copy(point) == pickle.loads(pickle.dumps(point)) == point
    assert dataclasses.asdict(point) == {"x": 1, "y": 5, "note": "", "hidden": 0, "total": 7}


def test_a_value_that_can_change_has_no_hash_unless_it_compares_by_identity():
    @dataclass
    class Open:
        x: int

    @dataclass(eq=False, repr=False)
    class Same:
        x: int

    with pytest.raises(TypeError, match="unhashable"):
        hash(Open(1))
    assert Open(1) == Open(1)
    assert Same(1) != Same(1)
    assert isinstance(hash(Same(1)), int)


def test_methods_of_the_class_stay():
    @dataclass(frozen=True)
    class Own:
        x: int

        def __repr__(self):
            return "own"

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 5

    assert (repr(Own(1)), Own(1) == Own(2), hash(Own(1))) == ("own", True, 5)


@pytest.mark.parametrize("maker", MAKERS)
def test_a_frozen_value_is_derived_from_by_frozen_ones_only(maker):
    @MAKERS[maker](frozen=True)
    class Below(Point):
        z: int = 3

    assert Below(1, 2, 4).z == 4
    with pytest.raises(FrozenInstanceError):
        Below(1).z = 5
    with pytest.raises(TypeError, match="cannot inherit non-frozen"):
        MAKERS[maker](type("Thawed", (Point,), {}))
    assert Point.__dataclass_params__.frozen


def test_a_value_that_holds_itself_is_printed():
    value = Point([])
    value.x.append(value)
    assert "..." in repr(value)
