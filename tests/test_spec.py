"""Specs, the registries that find them by name, a user's own parts in them, and the parts that files are made of."""

import json
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import gammaincinv, gammaln

import lowtide as lt
from lowtide.errors import FileFormatError, LowtideError, ParameterError
from lowtide.kernels import KERNELS, Gaussian, Kernel, SignedMeasureKernel
from lowtide.maps import FEATURE_MAPS, Arcsine, FeatureMap, Moments
from lowtide.projections import PROJECTIONS, Blocks, DenseProjection, Projection
from lowtide.quantizers import QUANTIZERS, Quantizer, even_steps, quantizer_by_name
from lowtide.spec import Part, Registry, Spec, params_from_config, params_to_config, register, take_parts
from lowtide.testing import check_feature_map, check_kernel, check_projection, check_quantizer


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


def test_registry_refuses_a_configuration_that_lacks_a_parameter():
    with pytest.raises(ParameterError, match="PeriodicMap: configuration must have f, got"):
        QUANTIZERS.from_config({"type": "PeriodicMap"})


def test_plain_dataclass_compares_and_hashes_by_its_configuration():
    @dataclass
    class Listed(Stage):
        values: object = ()

    assert Listed([1, 2]) == Listed(np.array([1, 2]))
    assert hash(Listed([1, 2])) == hash(Listed(np.array([1, 2])))
    assert repr(Listed(3)) == "Listed(values=3)"


# Parts of a user's own ------------------------------------------------------------------------------------------------


@dataclass
class Bell(Kernel):
    """The kernel exp(-(s / width)^2), written outside the package."""

    width: float = 1.0
    law: ClassVar[str] = "gaussian_mixture"

    def radial(self, distance, n_features):
        return np.exp(-((np.asarray(distance, dtype=np.float64) / self.width) ** 2))

    def sample(self, rng, n_features, size):
        return rng.standard_normal((n_features, size)) * math.sqrt(2) / self.width

    def length_quantile(self, q, dimension):
        return 2 * np.sqrt(gammaincinv(dimension / 2, np.asarray(q, dtype=np.float64))) / self.width

    def mean_frequency_norm(self, n_features):
        return 2 * math.exp(gammaln((n_features + 1) / 2) - gammaln(n_features / 2)) / self.width

    def mean_projection(self, n_features):
        return 2 / math.sqrt(math.pi) / self.width

    @classmethod
    def from_gamma(cls, gamma):
        return cls(1 / math.sqrt(gamma))


@dataclass
class EqualMass(Quantizer):
    """Cells of equal probability."""

    bits: int = 1

    def draw(self, feature_map, rng):
        n = 2**self.bits
        values, borders = (feature_map.density.quantile(q) for q in ((np.arange(n) + 0.5) / n, np.arange(1, n) / n))
        return even_steps(values, borders, feature_map.shifts)


@dataclass
class Sine(FeatureMap):
    """The sine alone."""

    shifts: ClassVar[tuple[float, ...]] = (-0.25,)
    density: ClassVar[Arcsine] = Arcsine()

    def moments(self, n_harmonics=0):
        return Moments(np.array([[0, -0.5j, 0]]), np.array([[[0.5, 0, -0.25]]], dtype=complex))


@dataclass
class Reversed(Projection):
    """Independent frequencies, the last one first."""

    laws: ClassVar[frozenset[str]] = frozenset({"gaussian_mixture", "sphere", "independent", "joint"})

    def lay_out(self, kernel, n_features, n_frequencies, rng):
        W = kernel.sample(rng, n_features, n_frequencies)
        return DenseProjection.of(W[:, ::-1], Blocks("iid", n_features, (1,) * n_frequencies))

    def from_arrays(self, n_features, n_frequencies, arrays):
        return DenseProjection.kept("Reversed", arrays, n_features, n_frequencies)


OWN = {"bell": Bell, "equal_mass": EqualMass, "sine": Sine, "reversed": Reversed}
STAGES = (KERNELS, QUANTIZERS, FEATURE_MAPS, PROJECTIONS)
PARAMETERS = {"kernel": "bell", "quantizer": "equal_mass", "feature_map": "sine", "projection": "reversed"}


@pytest.fixture
def forgotten():
    """Leave the registries as they were."""
    before = [(registry, set(registry)) for registry in STAGES]
    yield
    for registry, names in before:
        for name in set(registry) - names:
            registry.remove(registry[name])


@pytest.fixture
def registered(forgotten):
    """Register a part of every stage."""
    for name, cls in OWN.items():
        assert lt.register(cls, name) is cls


def fitted(**parameters):
    X = np.random.default_rng(0).standard_normal((20, 6))
    return lt.RandomFeatures(n_components=64, bits=2, gamma=0.2, random_state=0, **parameters).fit(X), X


def read_again(state):
    """Return a state whose specs have been text."""
    return {name: Part(part.version, json.loads(json.dumps(part.spec)), part.arrays) for name, part in state.items()}


def test_own_parts_keep_the_contracts_of_their_stages():
    check_kernel(Bell(2.0))
    check_quantizer(EqualMass(3), Sine())
    check_feature_map(Sine())
    check_projection(Reversed(), Bell())


@pytest.mark.usefixtures("registered")
def test_own_parts_are_found_by_name():
    assert KERNELS.of(Kernel)["bell"] is KERNELS["bell"] is Bell
    assert PROJECTIONS.resolve("reversed") == Reversed()
    assert quantizer_by_name("equal_mass", 3) == EqualMass(3)
    encoder, X = fitted(**PARAMETERS)
    assert encoder.kernel_ == Bell.from_gamma(0.2)
    objects = {
        "kernel": Bell.from_gamma(0.2),
        "quantizer": EqualMass(2),
        "feature_map": Sine(),
        "projection": Reversed(),
    }
    assert encoder.encode(X) == fitted(**objects)[0].encode(X)


@pytest.mark.usefixtures("registered")
def test_own_parts_come_back_from_what_a_file_keeps():
    encoder, X = fitted(**PARAMETERS)
    kept = lt.RandomFeatures.from_state(read_again(encoder.to_state()))
    assert kept.encode(X) == encoder.encode(X)
    np.testing.assert_array_equal(kept.transform(X), encoder.transform(X))
    assert (kept.kernel, kept.kernel_, kept.quantizer_spec_) == ("bell", encoder.kernel_, EqualMass(2))


@pytest.mark.usefixtures("registered")
def test_own_kernel_may_be_a_term_of_a_signed_one():
    kernel = SignedMeasureKernel([(2.0, Bell(0.5)), (-1.0, Gaussian())])
    assert KERNELS.from_config(json.loads(json.dumps(KERNELS.to_config(kernel)))) == kernel


@pytest.mark.parametrize("name", PARAMETERS)
def test_own_part_that_is_not_registered_works_but_is_not_saved(name):
    encoder, _ = fitted(**{name: OWN[PARAMETERS[name]]()})
    cls = OWN[PARAMETERS[name]].__name__
    with pytest.raises(ParameterError, match=rf"must be of a registered class.*lowtide.register\({cls}\)"):
        encoder.to_state()


@pytest.mark.parametrize("name", PARAMETERS)
def test_file_with_a_part_that_is_not_registered_here_is_refused_by_name(name, forgotten):
    cls = OWN[PARAMETERS[name]]
    register(cls, PARAMETERS[name])
    state = read_again(fitted(**{name: cls()})[0].to_state())
    for registry in STAGES:
        registry.remove(cls)
    with pytest.raises(ParameterError, match=f"got '{cls.__name__}'.*register it first: lowtide.register"):
        lt.RandomFeatures.from_state(state)


@pytest.mark.usefixtures("forgotten")
def test_register_decorates_with_and_without_a_name():
    @lt.register(name="narrow")
    @dataclass
    class Narrow(Bell):
        width: float = 0.1

    @register
    @dataclass
    class Tabled(Quantizer):
        borders: object

    try:
        assert KERNELS.resolve("narrow") == Narrow(0.1)
        assert "narrow" in KERNELS.of(Kernel)
        assert QUANTIZERS.from_config({"type": "Tabled", "borders": [0.5]}) == Tabled([0.5])
        with pytest.raises(ParameterError, match="Tabled: configuration must have borders"):
            QUANTIZERS.from_config({"type": "Tabled"})
    finally:
        QUANTIZERS.remove(Tabled)


@pytest.mark.usefixtures("forgotten")
def test_class_that_is_defined_again_takes_the_place_of_the_first():
    def define(size):
        @register(name="again")
        @dataclass
        class Again(Bell):
            width: float = size

        return Again

    first, second = define(1.0), define(2.0)
    assert first is not second
    assert KERNELS["again"] is second
    assert KERNELS.to_config(second()) == {"type": "Again", "width": 2.0}


def test_register_refuses_what_could_not_be_read_back():
    class Undecorated(Bell):
        height: float = 1.0

    taken = dataclass(type("Gaussian", (Bell,), {}))
    with pytest.raises(ParameterError, match="register: Undecorated must be a dataclass"):
        register(Undecorated)
    with pytest.raises(ParameterError, match="must derive from one of .*MeasureKernel"):
        register(dict)
    with pytest.raises(ParameterError, match="the kernel 'Gaussian' must not be known already"):
        register(taken)
    with pytest.raises(ParameterError, match="the quantizer 'phase' must not be known already"):
        register(EqualMass, "phase")


def test_named_class_needs_defaults():
    @dataclass
    class Needy(Quantizer):
        borders: object

    with pytest.raises(ParameterError, match="Needy must have a default for each parameter.*none for borders"):
        register(Needy, "needy")


@pytest.mark.usefixtures("forgotten")
def test_named_quantizer_without_bits_says_so():
    @register(name="sign")
    @dataclass
    class Sign(Quantizer):
        """The sign alone."""

    with pytest.raises(ParameterError, match="must have a parameter bits, as Sign has not"):
        quantizer_by_name("sign", 1)


def test_narrower_view_of_a_list_has_its_own_names_only():
    symmetric = KERNELS.of(Kernel)
    assert "shift" in list(KERNELS)
    assert "shift" not in list(symmetric)
    with pytest.raises(ParameterError, match="kernel must be one of 'rbf'.* or a Kernel object, got 'shift'"):
        symmetric.resolve("shift")
    with pytest.raises(ParameterError, match="must name one of Gaussian.*, got 'ShiftGaussian'"):
        symmetric.from_config(KERNELS["shift"]().to_config())


# What estimators and files keep ---------------------------------------------------------------------------------------


def test_parameters_become_json_and_back():
    params = {"stage": Sized(size=2), "name": "plain", "n": np.int64(3), "seed": np.random.RandomState(0), "none": None}
    config = json.loads(json.dumps(params_to_config("Owner", params, {"stage": REGISTRY})))
    assert config["stage"] == {"type": "Sized", "size": 2, "weight": 0.5, "values": []}
    assert config["seed"] is None
    back = params_from_config("Owner", config, params, {"stage": REGISTRY})
    assert back == {**params, "stage": Sized(size=2, values=[]), "seed": None}


def test_parameter_that_no_file_can_hold_is_refused():
    with pytest.raises(ParameterError, match="Owner: f must be a number, a text, a part of lowtide or None"):
        params_to_config("Owner", {"f": print}, {})
    with pytest.raises(ParameterError, match="save: stage must be of a registered class"):
        params_to_config("Owner", {"stage": Foreign()}, {"stage": REGISTRY})


def test_parameter_that_an_estimator_does_not_have_is_refused():
    with pytest.raises(ParameterError, match=r"Owner: parameters must be of a, b, got \['c'\]"):
        params_from_config("Owner", {"a": 1, "c": 2}, ["a", "b"], {})


def test_take_parts_refuses_missing_unknown_and_other_versions():
    state = {"codes": Part(1, {}), "norms": Part(3, {"times_norms": True})}
    take_parts("Codes", state, {"codes": 1}, {"norms": 3, "template": 1})
    with pytest.raises(FileFormatError, match="Codes: there must be a part 'decision', got 'codes', 'norms'"):
        take_parts("Codes", state, {"decision": 1})
    with pytest.raises(FileFormatError, match="Codes has a part 'norms' that this version of lowtide does not know"):
        take_parts("Codes", state, {"codes": 1})
    with pytest.raises(FileFormatError, match="part 'norms' must be of version 4, got version 3. Make it again"):
        take_parts("Codes", state, {"codes": 1, "norms": 4})
    with pytest.raises(FileFormatError, match="part 'norms' must be of version 2, got version 3. Update lowtide"):
        take_parts("Codes", state, {"codes": 1, "norms": 2})
