"""Exported Hadamard encoders give the bits of `encode`, on the host and as Cortex-M4 code."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from device.harness import needs_host, needs_qemu, run_on_arm, run_on_host
from device.samples import float_rows, phases, rows_on_borders

import lowtide as lt
from lowtide.device import export_c
from lowtide.maps import Cosine

SCALED_AND_KEPT = [
    ((40, 200), {"metric": np.linspace(0.0, 1.7, 40)}),
    ((64, 130), {"metric": np.linspace(0.1, 3.0, 64), "bits": 2}),
    ((20, 90), {"kept": np.r_[3, 60:100, 257, 1000:1003]}),
    ((20, 91), {"kept": np.r_[3, 60:100, 257, 1000:1004]}),
    ((7, 44), {"kept": np.arange(0, 1408, 64) + np.arange(22), "quantizer": "phase", "bits": 3}),
    ((100, 66), {"kept": np.arange(500, 533), "metric": np.linspace(0.0, 0.9, 100), "feature_map": "cos_sin"}),
    ((9, 33), {"kept": np.arange(64, 97), "metric": np.full(9, 1 / 3), "feature_map": "cosine"}),
]


def every_kind():
    """Return encoders of every width, quantizer and map, on odd, padded and tiny shapes."""
    made = [
        phases(64, 512),
        phases(64, 256, bits=2),
        phases(1, 1),
        phases(1, 3, feature_map="cosine"),
        phases(63, 65),
        phases(65, 127, feature_map="cosine"),
        phases(100, 200, bits=2),
        phases(7, 33, bits=3),
        phases(130, 301, bits=3, quantizer="uniform", feature_map="cosine"),
        phases(5, 70, bits=4),
        phases(3, 9, bits=6, quantizer="uniform"),
        phases(3, 257, bits=8, feature_map="cosine"),
        phases(10, 64, bits=1, quantizer="phase"),
        phases(10, 66, bits=2, quantizer="phase"),
        phases(10, 34, bits=3, quantizer="phase"),
        phases(10, 34, bits=8, quantizer="phase"),
        phases(20, 90, quantizer=lt.PeriodicMap(lambda t: np.sign(np.sin(t))), feature_map="cosine"),
        phases(20, 90, quantizer=lt.PeriodicMap(lambda t: np.floor(3 * np.sin(t))), feature_map="cosine"),
        phases(20, 91, quantizer=lt.PeriodicMap(lambda t: np.floor(3 * np.sin(t)))),
        phases(20, 91, bits=3, quantizer="modulo"),
        phases(600, 1100),
    ]
    made += [phases(*sizes, **options) for sizes, options in SCALED_AND_KEPT]
    # Frequencies of a heavy tail span more than two bytes of a scale hold.
    made.append(lt.RandomFeatures(lt.kernels.Matern(1.0, nu=0.5), n_components=80, random_state=0).fit(np.eye(6)))
    return made


def drawn_of(encoder):
    return getattr(encoder, "drawn_", encoder)


def jobs_of(encoders, n, favor):
    return [
        (export_c(encoder, name=f"e{i}", favor=favor), float_rows(n, drawn_of(encoder).n_features, seed=i))
        for i, encoder in enumerate(encoders)
    ]


def assert_equal_bits(encoders, jobs, answers):
    for encoder, (_, rows), answer in zip(encoders, jobs, answers, strict=True):
        assert not answer.status.any(), encoder
        assert np.array_equal(answer.codes, encoder.encode(rows).packed), encoder


@needs_host
@pytest.mark.parametrize(
    "flags",
    [("-O0",), ("-O2", "-march=native", "-ffp-contract=fast"), ("-O3", "-march=native", "-std=gnu99")],
    ids=["plain", "contracted", "gnu"],
)
@pytest.mark.parametrize("favor", ["flash", "time"])
def test_exported_phases_give_the_bits_of_encode(tmp_path, flags, favor):
    encoders = every_kind()
    jobs = jobs_of(encoders, 60, favor)
    assert_equal_bits(encoders, jobs, run_on_host(tmp_path, jobs, flags))


@needs_qemu
@pytest.mark.parametrize("favor", ["flash", "time"])
def test_exported_phases_give_the_bits_of_encode_on_a_cortex_m4(tmp_path, favor):
    encoders = every_kind()
    jobs = jobs_of(encoders, 12, favor)
    assert_equal_bits(encoders, jobs, run_on_arm(tmp_path, jobs))


@needs_host
@pytest.mark.parametrize("input", ["uint8", "int16"])
def test_exported_phases_take_integers_as_encode_does(tmp_path, input):
    encoder = phases(30, 200)
    rows = np.random.default_rng(0).integers(0, 100, (50, 30)).astype(input)
    (answer,) = run_on_host(tmp_path, [(export_c(encoder, name="pixels", input=input), rows)])
    assert np.array_equal(answer.codes, encoder.encode(rows).packed)


@needs_host
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
def test_exported_phases_refuse_rows_whose_sums_are_not_finite(tmp_path, value):
    encoder = phases(30, 200)
    rows = float_rows(5, 30)
    rows[4] = value
    (answer,) = run_on_host(tmp_path, [(export_c(encoder), rows)])
    assert answer.status.tolist() == [0, 0, 0, 0, -1]


@needs_host
def test_exported_phases_round_ties_as_encode_does(tmp_path):
    encoder = phases(1, 64, feature_map=Cosine())
    rows = rows_on_borders(encoder)
    (answer,) = run_on_host(tmp_path, [(export_c(encoder), rows)])
    assert np.array_equal(answer.codes, encoder.encode(rows).packed)


def test_scales_of_a_gaussian_take_two_bytes_and_offsets_none_or_three():
    assert export_c(phases(64, 4096)).tables == {"signs": 512, "angles": 1024, "cosines": 256, "scales": 4096}
    assert export_c(phases(64, 4096), favor="time").tables["offsets"] == 6144


@needs_host
def test_offsets_that_no_seed_gives_are_kept_in_a_table(tmp_path):
    drawn = phases(9, 40).drawn_
    encoders = [replace(drawn, offset=(1 - drawn.offset).astype(np.float32)), replace(drawn, seed=None)]
    jobs = jobs_of(encoders, 20, "flash")
    assert all(made.tables["offsets"] == 3 * 20 for made, _ in jobs)
    assert_equal_bits(encoders, jobs, run_on_host(tmp_path, jobs))


def test_a_file_keeps_the_seed_of_the_dither(tmp_path):
    encoder = phases(9, 40)
    lt.save(encoder, tmp_path / "e.lowtide")
    assert export_c(lt.load(tmp_path / "e.lowtide")).source == export_c(encoder).source


def test_kept_frequencies_take_only_their_blocks_of_flash():
    every_fourth = export_c(phases(64, 64, kept=np.arange(0, 128, 4)))
    one_block = export_c(phases(64, 64, kept=np.arange(640, 672)))
    assert (every_fourth.tables["signs"], every_fourth.tables["kept"]) == (32, 16)
    assert (one_block.tables["signs"], one_block.tables["kept"], one_block.tables["scales"]) == (16, 8, 64)


def test_factors_of_a_metric_take_four_bytes_a_column():
    assert export_c(phases(30, 64, metric=np.linspace(0, 1, 30))).tables["factors"] == 120


def test_equal_encoders_give_equal_text():
    first, second = export_c(phases(10, 50)), export_c(phases(10, 50))
    assert (first.header, first.source) == (second.header, second.source)


@pytest.mark.parametrize(
    ("encoder", "words"),
    [
        (lambda: phases(5, 20, projection="iid"), "Hadamard"),
        (lambda: phases(5, 20, metric=np.eye(5)), "metric must be None or a factor per column"),
        (lambda: phases(5, 20, quantizer="stochastic"), "steps of the phase"),
        (lambda: lt.RandomFeatures(bits=None).fit(np.eye(3)), "coded side"),
        (lambda: phases(5, 20, quantizer=lt.PeriodicMap([0, 0.5, 0.1]), feature_map="cosine"), "sums and comparisons"),
        (lambda: lt.AsymmetricFeatures(n_components=64).fit(np.eye(3)), "sums and comparisons"),
    ],
)
def test_encoders_that_a_device_cannot_run_are_refused(encoder, words):
    with pytest.raises(lt.errors.ParameterError, match=words):
        export_c(encoder())
