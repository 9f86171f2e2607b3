"""Specs and the registries that find them by name."""

from dataclasses import dataclass

import numpy as np
import pytest

from lowtide.errors import LowtideError, ParameterError
from lowtide.spec import Registry, Spec


@dataclass(eq=False, repr=False)
class Stage(Spec):
    """A stage's contract."""


@dataclass(eq=False, repr=False)
class Plain(Stage):
    """A spec without hyperparameters."""


@dataclass(eq=False, repr=False)
class Sized(Stage):
    """A spec with hyperparameters of several types."""

    size: int = 1
    weight: float = 0.5
    values: object = ()

    def check(self):
        if self.size < 0:
            raise ParameterError(f"Sized: size must be at least 0, got {self.size!r}.")


@dataclass(eq=False, repr=False)
class Foreign(Spec):
    """A spec of another stage."""


REGISTRY = Registry("stage", Stage, {"plain": Plain}, unnamed=(Sized,))


def test_spec_checks_when_it_is_made():
    with pytest.raises(ParameterError, match="size must be at least 0, got -1"):
        Sized(size=-1)


def test_spec_keeps_arguments_as_given():
    values = np.arange(3)
    assert Sized(values=values).get_params() == {"size": 1, "weight": 0.5, "values": values}
    assert Sized(values=values).values is values


def test_config_is_plain_python():
    config = Sized(size=np.int64(3), weight=np.float32(0.5), values=np.arange(2)).to_config()
    assert config == {"type": "Sized", "size": 3, "weight": 0.5, "values": [0, 1]}
    assert [type(value) for value in config.values()] == [str, int, float, list]


def test_repr_names_every_parameter():
    assert repr(Sized(size=2)) == "Sized(size=2, weight=0.5, values=())"
    assert repr(Plain()) == "Plain()"


def test_equal_specs_are_one_dictionary_key():
    assert {Sized(weight=1): "a"}[Sized(weight=1.0)] == "a"
    assert Sized(size=1) != Sized(size=2)
    assert Plain() == Plain()
    assert Plain() != Sized()


def test_set_params_of_a_spec_without_parameters_says_so():
    with pytest.raises(ParameterError, match="has no hyperparameters"):
        Plain().set_params(bits=1)


def test_registry_resolves_names_and_objects():
    assert REGISTRY.resolve("plain") == Plain()
    given = Sized(size=5)
    assert REGISTRY.resolve(given) is given
    assert list(REGISTRY) == ["plain"]


@pytest.mark.parametrize("part", ["sized", "", 5, None, Foreign(), Plain, ["plain"]], ids=repr)
def test_registry_refuses_what_is_neither_a_name_nor_an_object_of_the_stage(part):
    with pytest.raises(LowtideError, match="stage must be one of 'plain' or a Stage object, got"):
        REGISTRY.resolve(part)


def test_registry_reads_configurations_of_unnamed_classes_too():
    spec = Sized(size=4, values=[1, 2])
    assert REGISTRY.from_config(spec.to_config()) == spec


@pytest.mark.parametrize("config", [{}, {"type": "Foreign"}, {"type": "os.system"}, {"type": None}])
def test_registry_builds_only_registered_classes(config):
    with pytest.raises(ParameterError, match="stage configuration must name one of Plain, Sized"):
        REGISTRY.from_config(config)


def test_registry_refuses_a_configuration_with_unknown_parameters():
    with pytest.raises(ParameterError, match="Plain: configuration must have no parameters"):
        REGISTRY.from_config({"type": "Plain", "size": 3})


def test_registry_checks_what_a_configuration_says():
    with pytest.raises(ParameterError, match="size must be at least 0"):
        REGISTRY.from_config({"type": "Sized", "size": -3})
