"""The browser's encoder gives the bits of `encode`."""

from __future__ import annotations

import numpy as np
import pytest
from device.samples import float_rows, phases, rows_on_borders
from serve.page.node import codes_by_javascript, needs_node

import lowtide as lt

SHAPES = [
    (64, 4096, {}),
    (784, 1000, {}),
    (1, 1, {}),
    (65, 127, {"feature_map": "cosine"}),
    (10, 33, {"bits": 3}),
    (10, 70, {"bits": 4, "quantizer": "uniform"}),
    (5, 30, {"bits": 7}),
    (10, 66, {"bits": 2, "quantizer": "phase"}),
    (10, 34, {"bits": 8, "quantizer": "phase"}),
    (40, 300, {"metric": np.linspace(0, 1.7, 40)}),
    (64, 130, {"metric": np.linspace(0.1, 3, 64), "bits": 2}),
    (20, 91, {"kept": np.r_[3, 60:100, 257, 1000:1004]}),
    (100, 66, {"kept": np.arange(500, 533), "metric": np.linspace(0, 0.9, 100)}),
]


@needs_node
@pytest.mark.parametrize(("d", "m", "options"), SHAPES)
def test_page_encodes_bit_by_bit_as_python_does(d, m, options):
    encoder, rows = phases(d, m, **options), float_rows(200, d)
    assert codes_by_javascript(encoder, rows) == encoder.encode(rows)


@needs_node
@pytest.mark.parametrize(("d", "options"), [(1, {}), (30, {"n_bytes": 8}), (100, {"n_bytes": 64})])
def test_page_encodes_learned_measurements_bit_by_bit(d, options):
    rng = np.random.default_rng(d)
    rows = (rng.standard_normal((200, d)) * np.linspace(3.0, 0.1, d) + 100.0).astype(np.float32)
    encoder = lt.LearnedFeatures(n_components=16, random_state=0, **options).fit(rows, rows[:, 0] > 100.0)
    assert codes_by_javascript(encoder, rows) == encoder.encode(rows)


@needs_node
def test_page_rounds_ties_as_python_does():
    encoder = phases(1, 64, feature_map="cosine")
    rows = rows_on_borders(encoder)
    assert codes_by_javascript(encoder, rows) == encoder.encode(rows)


@needs_node
def test_page_packs_no_rows_too():
    encoder = phases(5, 20)
    assert len(codes_by_javascript(encoder, np.empty((0, 5), np.float32))) == 0


@needs_node
@pytest.mark.parametrize(
    ("encoder", "words"),
    [
        (lambda: phases(5, 20, projection="iid"), "Hadamard layout"),
        (lambda: phases(5, 20, metric=np.eye(5)), "Hadamard layout"),
        (lambda: phases(5, 20, quantizer="stochastic"), "steps of the phase"),
        (lambda: lt.LearnedFeatures(measure="kernel").fit(np.eye(5)), "those of a kernel"),
        (lambda: lt.RandomFeatures(bits=None).fit(np.eye(3)), "no coded side"),
    ],
)
def test_page_says_why_it_cannot_encode(encoder, words):
    with pytest.raises(RuntimeError, match=words):
        codes_by_javascript(encoder(), np.zeros((1, 5)))


@needs_node
@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38])
def test_page_refuses_rows_whose_sums_are_not_finite(value):
    with pytest.raises(RuntimeError, match="finite numbers"):
        codes_by_javascript(phases(5, 20), np.full((1, 5), value))
