"""Draw configurations of encoders, sides, inputs and rows at random, each from a seed and a number of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.errors.rows import KINDS, Floats, Pairs, Rng
from lowtide import ActivationFeatures, AsymmetricFeatures, RandomFeatures, Sketch, TernaryFeatures
from lowtide.encoders import Encoder
from lowtide.kernels import (
    Bessel,
    CoshGaussian,
    Gaussian,
    Kernel,
    Laplace,
    Matern,
    MeasureKernel,
    ShiftGaussian,
    SignedMeasureKernel,
    SinhGaussian,
    Stable,
)
from lowtide.quantizers import LloydMax, Modulo, PeriodicMap, Phase, Quantizer, Stochastic, Uniform
from lowtide.theory import sketch_bits_needed

Input = Literal["raw", "codes"]
Side = Literal["full", "codes"] | Quantizer

BOTH = ("full", "codes")
SIDES = [(left, right) for left in BOTH for right in BOTH]
N_COLUMNS = (2, 5, 16, 60, 64, 150)
# A QR decomposition of more columns a block takes longer than the rest of a configuration.
MOST_ORTHOGONAL = 64
N_COMPONENTS = (96, 128, 129, 192, 255, 256)
# Powers of two: grids stay exact.
SCALES = (0.25, 1.0, 4.0)
# Bits that keep the kernel of a sketch nearer than this to the Gaussian one spare a warning.
LARGEST_SKETCH_BIAS = 0.25
# Layouts whose closed form leaves out up to a twentieth of the variance.
# Bars of a sketch are too long by up to 16% in 16 dimensions: a quarter of the variance.
SECOND_ORDER = 4.0
# Share of the variance of activation features that orthogonal frequencies take away: 0.32 to 0.33 for ReLU in 30
# dimensions, over 3,000 encoders.
CANCELLED = 0.35
LEFT_OUT = {"iid": 0.0, "orthogonal": 0.05, "haar": 0.05, "hadamard": 0.05}


@dataclass(frozen=True)
class Configuration:
    """An encoder that is not fitted, rows for it, and the call that is judged."""

    name: str
    encoder: Encoder
    pairs: Pairs
    sides: tuple[Side, Side] = ("full", "full")
    inputs: tuple[Input, Input] = ("raw", "raw")
    normalize: bool = False
    quantity: Literal["kernel", "distance"] = "kernel"

    @property
    def slack(self) -> float:
        """What the closed form of the layout leaves out, relative to the variance."""
        return LEFT_OUT.get(str(getattr(self.encoder, "projection", "iid")), 0.0)

    @property
    def long(self) -> float:
        """How much less variance than stated there may be: of codes of a sketch, by terms of second order in 1/D.

        Activation features take products as independent; those of orthogonal frequencies cancel in part.
        """
        if isinstance(self.encoder, ActivationFeatures) and self.slack > 0.0:
            return CANCELLED
        if not isinstance(self.encoder, Sketch) or self.sides == ("full", "full") or self.slack == 0.0:
            return 0.0
        return min(1.0, SECOND_ORDER / self.pairs.x.shape[1])

    @property
    def distances(self) -> Floats:
        """The true distances, in the norm of the kernel; of a sketch without norms, those of unit rows."""
        x, Y = self.pairs.x, self.pairs.Y
        if isinstance(self.encoder, Sketch):
            if not self.encoder.store_norms:
                x, Y = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (x, Y))
            return np.linalg.norm(x - Y, axis=1)
        return np.linalg.norm(x - Y, ord=self.encoder.get_params()["kernel"].norm, axis=1)

    def with_seed(self, seed: int) -> Encoder:
        """Return an encoder of this configuration with a seed of its own."""
        return type(self.encoder)(**{**self.encoder.get_params(deep=False), "random_state": seed})


def dead_zone(t: NDArray[Any]) -> Floats:
    """Return -1, 0 or 1, with no first cosine harmonic."""
    return np.sign(np.sin(t)) * (np.abs(np.sin(t)) > 0.4)


def bent(t: NDArray[Any]) -> Floats:
    """Return a smooth sensor's answer."""
    return np.tanh(1.5 * np.cos(t - 0.8) + 0.4)


def configuration(seed: int, number: int) -> Configuration:
    """Return configuration `number` of a seed's sequence."""
    rng = np.random.default_rng([seed, number])
    family = choose(rng, (random_features, sketch, asymmetric, ternary), p=(0.5, 0.22, 0.2, 0.08))
    return family(rng)


def choose(rng: Rng, options: Any, p: Any = None) -> Any:
    """Return one of some options."""
    return options[int(rng.choice(len(options), p=p))]


# Families --------------------------------------------------------------------------------------------------------


def random_features(rng: Rng) -> Configuration:
    """Return random features of a kernel, a layout that fits it, a map and a quantizer."""
    scale = choose(rng, SCALES)
    kernel, layouts = choose(
        rng,
        (
            (Gaussian(scale), ("hadamard", "orthogonal", "iid")),
            (Gaussian(scale), ("hadamard", "orthogonal", "iid")),
            (Matern(scale, nu=choose(rng, (0.5, 1.5, 2.5))), ("hadamard", "orthogonal", "iid")),
            (Laplace(scale), ("iid",)),
            (Stable(scale, alpha=choose(rng, (1.2, 1.5, 1.9))), ("iid",)),
            (Bessel(scale), ("haar",)),
        ),
    )
    layout, feature_map = choose(rng, layouts), choose(rng, ("cos_sin", "cosine"))
    n_components = choose(rng, N_COMPONENTS)
    quantizer = choose_quantizer(rng, feature_map, n_components)
    encoder = RandomFeatures(
        kernel, projection=layout, feature_map=feature_map, quantizer=quantizer, n_components=n_components
    )
    quantity = "distance" if not isinstance(kernel, Bessel) and rng.random() < 0.15 else "kernel"
    drawn = around(rng, encoder, scale, kernel.norm, quantity=quantity, codes_from=codes_of(quantizer))
    if "codes" not in drawn.sides or rng.random() < 0.6:
        return drawn
    # A further side of the encoder in place of its own codes.
    other = choose_quantizer(rng, feature_map, n_components)
    if not codes_of(other) and "codes" in drawn.inputs:
        return drawn
    sides = (other, *drawn.sides[1:]) if drawn.sides[0] == "codes" else (drawn.sides[0], other)
    return replace(drawn, sides=sides, name=f"{drawn.name}, side {tell(other)}")


def sketch(rng: Rng) -> Configuration:
    """Return a sketch, linear or of a bandwidth that its bits can tell, of unit rows or of rows as they came."""
    bits, store_norms, linear = int(rng.integers(1, 9)), bool(rng.random() < 0.4), rng.random() < 0.2
    # Rows as they came have the bandwidth of gamma, which the bits must be able to tell.
    scale = 1.0 if store_norms else choose(rng, SCALES)
    largest = max(
        (g for g in np.geomspace(0.02, 32, 40) if sketch_bits_needed(g, LARGEST_SKETCH_BIAS) <= bits), default=0.02
    )
    # Base rows have length 1, so steps are in units of their length.
    gamma = None if linear else round(float(np.exp(rng.uniform(np.log(0.02), np.log(largest)))), 4)
    unit = 1.0 if linear else 1 / math.sqrt(2 * gamma)
    encoder = Sketch(
        choose(rng, N_COMPONENTS),
        bits=bits,
        projection=choose(rng, ("hadamard", "orthogonal", "iid")),
        gamma=gamma,
        store_norms=store_norms,
    )
    quantity = "distance" if not linear and rng.random() < 0.1 else "kernel"
    return around(rng, encoder, scale, step=unit, quantity=quantity)


def asymmetric(rng: Rng) -> Configuration:
    """Return asymmetric features of a kernel with a direction, or of a signed one, in either form."""
    scale, strength = choose(rng, SCALES), float(rng.uniform(0.2, 1.0))
    n_components = choose(rng, N_COMPONENTS)
    encoder = AsymmetricFeatures(
        None,
        n_components=n_components,
        form=choose(rng, ("blocks", "phase")),
        allocation=choose(rng, ("equal", "optimal")),
        projection=choose(rng, ("hadamard", "orthogonal", "iid")),
        quantizer=choose_quantizer(rng, "cos_sin", n_components - n_components % 2),
    )
    family = choose(rng, (ShiftGaussian, SinhGaussian, CoshGaussian, SignedMeasureKernel))

    def with_kernel(n_features: int) -> Encoder:
        kernel = directed_kernel(family, strength, scale, n_features)
        # A difference of kernels has no measure with a phase of its own.
        form = {"form": "blocks"} if family is SignedMeasureKernel else {}
        even = n_components - (n_components % 2 if isinstance(encoder.quantizer, Phase) else 0)
        return encoder.set_params(kernel=kernel, n_components=even, **form)

    return around(rng, with_kernel, scale, codes_from=codes_of(encoder.quantizer))


def directed_kernel(family: Any, strength: float, bandwidth: float, n_features: int) -> MeasureKernel:
    """Return a kernel of the given strength along the diagonal, or the difference of two Gaussians."""
    if family is SignedMeasureKernel:
        return SignedMeasureKernel.delta_gaussian((bandwidth, 2.5 * bandwidth), (1.0, strength))
    unit = np.full(n_features, strength / math.sqrt(n_features))
    return family(unit * bandwidth if family is ShiftGaussian else unit / bandwidth, bandwidth)


def ternary(rng: Rng) -> Configuration:
    """Return ternary features, of the Gaussian kernel or of another activation."""
    encoder = TernaryFeatures(
        choose(rng, ("rbf", "rbf", "relu", "sign")), n_components=choose(rng, N_COMPONENTS), sparsity="auto"
    )
    return around(rng, encoder, 1.0, columns=(64, 150, 300))


# What is common to all -------------------------------------------------------------------------------------------


def choose_quantizer(rng: Rng, feature_map: str, n_components: int) -> Quantizer:
    """Return a quantizer that fits a map: phases need pairs."""
    bits = int(rng.integers(1, 9))
    options = [LloydMax(bits), LloydMax(1), Uniform(max(bits, 2)), Stochastic(bits), Modulo(bits)]
    options.append(PeriodicMap(choose(rng, (dead_zone, bent)), aligned=bool(rng.random() < 0.7)))
    if feature_map == "cos_sin" and n_components % 2 == 0:
        options += [Phase(bits), Phase(bits)]
    return choose(rng, options)


def codes_of(quantizer: Any) -> bool:
    """Return whether the coded side is packed levels, not continuous values."""
    return not (isinstance(quantizer, PeriodicMap) and quantizer.f is bent)


def around(
    rng: Rng,
    encoder: Encoder | Callable[[int], Encoder],
    scale: float,
    norm: float = 2.0,
    *,
    step: float = 1.0,
    quantity: Literal["kernel", "distance"] = "kernel",
    columns: tuple[int, ...] = N_COLUMNS,
    codes_from: bool = True,
) -> Configuration:
    """Return a configuration with rows, sides and inputs; steps between rows are `step` times the scale."""
    kind_name = choose(rng, tuple(KINDS))
    kind = KINDS[kind_name]
    n_features = min(max(choose(rng, columns), kind.fewest_columns), kind.most_columns)
    projection = encoder_projection(encoder)
    if projection in ("orthogonal", "haar"):
        n_features = min(n_features, MOST_ORTHOGONAL)
    if projection == "haar":
        n_features = max(n_features, 2)
    drawn = kind.draw(rng, n_features, norm)
    pairs = Pairs(drawn.x, drawn.x + step * (drawn.Y - drawn.x), drawn.around).times(scale)
    sides = choose(rng, SIDES)
    some = codes_from and rng.random() < 0.5
    inputs = tuple("codes" if some and side == "codes" and rng.random() < 0.7 else "raw" for side in sides)
    normalize = quantity == "kernel" and rng.random() < 0.2
    made = encoder if isinstance(encoder, Encoder) else encoder(n_features)
    name = describe(made, n_features, kind_name, sides, inputs, normalize, quantity)
    return Configuration(name, made, pairs, sides, inputs, normalize, quantity)


def encoder_projection(encoder: Any) -> str:
    """Return the name of the layout, also of an encoder whose kernel waits for the number of columns."""
    return str(getattr(encoder, "projection", "iid"))


def describe(
    encoder: Encoder, n_features: int, kind: str, sides: Any, inputs: Any, normalize: bool, quantity: str
) -> str:
    """Return one line: the encoder, the rows, and the call."""
    params = {k: v for k, v in encoder.get_params(deep=False).items() if k != "random_state"}
    defaults = type(encoder)().get_params(deep=False)
    told = [f"{k}={tell(v)}" for k, v in params.items() if tell(v) != tell(defaults.get(k))]
    call = "-".join("Codes" if given == "codes" else side for side, given in zip(sides, inputs))
    more = [quantity] * (quantity != "kernel") + ["normalize"] * normalize
    return f"{type(encoder).__name__}({', '.join(told)}); {n_features} columns, {kind}; {', '.join([call, *more])}"


def tell(value: Any) -> str:
    """Return a parameter as it is written, vectors by their first entry and functions by their name."""
    if isinstance(value, PeriodicMap):
        return f"PeriodicMap({value.f.__name__})"
    if isinstance(value, (ShiftGaussian, SinhGaussian, CoshGaussian)):
        vector = np.atleast_1d(value.get_params()[value.vector])
        return f"{type(value).__name__}({vector[0]:.3g}, bandwidth={value.bandwidth:g})"
    if isinstance(value, Kernel):
        return repr(value)
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
