"""Small objects to save, and files whose checksum is right whatever they say."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from given import given_classifier

import lowtide as lt
from lowtide.kernels import Bessel, Gaussian, Laplace, Matern, SignedMeasureKernel, SinhGaussian, Stable, SymmetricPart
from lowtide.persist.container import pack
from lowtide.quantizers import LloydMax

ENCODERS: dict[str, dict[str, Any]] = {
    "hadamard_1_bit": {"n_components": 64, "gamma": 0.1},
    "odd_components": {"n_components": 65},
    "one_component": {"n_components": 1},
    "cosine_map": {"n_components": 70, "feature_map": "cosine"},
    "dense_phase": {"n_components": 64, "projection": "iid", "quantizer": "phase", "bits": 3},
    "stochastic": {"n_components": 64, "quantizer": "stochastic", "bits": 2},
    "uniform_5_bits": {"n_components": 64, "projection": "orthogonal", "quantizer": "uniform", "bits": 5},
    "laplacian": {"kernel": "laplacian", "gamma": "median", "n_components": 64, "projection": "iid"},
    "haar": {"kernel": Bessel(scale=0.7), "n_components": 64, "projection": "haar"},
    "stable": {"kernel": Stable(scale=2, alpha=1.3), "n_components": 64, "projection": "iid"},
    "quantizer_object": {"kernel": Matern(nu=2.5), "n_components": 64, "quantizer": LloydMax(bits=4)},
    "periodic": {
        "kernel": Laplace(),
        "n_components": 64,
        "projection": "iid",
        "feature_map": "cosine",
        "quantizer": lt.PeriodicMap([0.1, 0.5, 0.2j]),
    },
    "no_coded_side": {"n_components": 64, "bits": None},
    "factors": {"n_components": 64, "metric": np.array([0.5, 2.0, 0.0, 1.0, 0.1])},
    "dense_factors": {"n_components": 64, "metric": [0.5, 2.0, 0.0, 1.0, 0.1], "projection": "orthogonal"},
    "matrix": {"n_components": 64, "metric": np.random.default_rng(8).standard_normal((5, 3)), "bits": 2},
    "kept": {"n_components": 65, "kept": np.arange(0, 198, 6)},
    "dense_kept": {"n_components": 64, "kept": [*range(0, 93, 3), 500], "projection": "orthogonal"},
    "kept_factors": {"n_components": 8, "kept": (1, 2, 70, 600), "metric": np.ones(5, np.float32) / 3},
}


ASYMMETRIC: dict[str, dict[str, Any]] = {
    "default": {"n_components": 96},
    "sinh_on_two_layouts": {"kernel": SinhGaussian([0.1, 0.5, -0.2, 0, 0.3], 1.5), "n_components": 101, "bits": 3},
    "phase_form": {"kernel": "cosh", "form": "phase", "n_components": 64, "quantizer": "phase", "bits": 2},
    "stochastic": {"kernel": "sinh", "form": "auto", "n_components": 64, "quantizer": "stochastic", "bits": 2},
    "signed": {"kernel": SignedMeasureKernel([(2, Gaussian(3)), (-0.5, Laplace(2.0))]), "n_components": 64},
    "symmetric_part": {"kernel": SymmetricPart(SinhGaussian(0.2)), "n_components": 64},
    "symmetric": {"kernel": Bessel(0.8), "projection": "haar", "n_components": 64, "allocation": "optimal"},
    "no_coded_side": {"n_components": 40, "bits": None},
    "fitted_masses": {"kernel": "sinh", "n_components": 66, "masses": "fitted"},
}


def rows(n: int = 40, d: int = 5) -> np.ndarray:
    return np.random.default_rng(7).standard_normal((n, d))


def encoder(name: str = "hadamard_1_bit") -> lt.RandomFeatures:
    return lt.RandomFeatures(**ENCODERS[name], random_state=3).fit(rows())


def asymmetric(name: str = "default") -> lt.AsymmetricFeatures:
    return lt.AsymmetricFeatures(**ASYMMETRIC[name], random_state=3).fit(rows())


def classifier(labels: Any = None, **params: Any) -> lt.KernelClassifier:
    y = np.arange(40) % 3 if labels is None else labels
    return given_classifier(**{"n_components": 64, "random_state": 3, **params}).fit(rows(), y)


ZEROS = b'"sha256":"' + b"0" * 64


def sealed(text: bytes, data: bytes = b"") -> bytes:
    """Return a file with any text, whose checksum of zeros is replaced by the right one."""
    text += b" " * (-len(text) % 8)
    whole = len(text).to_bytes(8, "little") + text + data
    digest = hashlib.sha256(whole).hexdigest().encode()
    return whole.replace(ZEROS, b'"sha256":"' + digest, 1)


def forged(header: Any, table: dict[str, Any], data: bytes = b"") -> bytes:
    """Return a file with any header and any table of arrays, and the right checksum."""
    metadata = {"lowtide": "2", "sha256": "0" * 64, "header": json.dumps(header)}
    return sealed(json.dumps({"__metadata__": metadata, **table}, separators=(",", ":")).encode(), data)


def packed(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """Return the bytes of a file."""
    return b"".join(pack(header, arrays))
