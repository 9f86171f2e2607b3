"""Exported ternary encoders give the trits of `encode` from integers alone."""

from __future__ import annotations

import re

import numpy as np
import pytest
from device.harness import needs_host, needs_qemu, run_on_arm, run_on_host
from device.samples import integer_rows, trits

import lowtide as lt
from lowtide.device import export_c


def every_kind():
    """Return encoders of odd, tiny and wide shapes, dense and sparse, of every kind of map, and their input."""
    return [
        (trits(64, 512, "uint8"), "uint8"),
        (trits(64, 512), "int16"),
        (trits(1, 1, "uint8"), "uint8"),
        (trits(3, 33), "int16"),
        (trits(65, 127, "uint8"), "uint8"),
        (trits(40, 100, sparsity=0.0), "int16"),
        (trits(300, 70, "uint8", sparsity=0.9), "uint8"),
        (trits(1500, 40, sparsity=0.9), "int16"),
        (trits(31, 64, "uint8", target="abs"), "uint8"),
        (trits(40, 100, "uint8", form="windows"), "uint8"),
    ]


def jobs_of(kinds, n, favor):
    return [
        (
            export_c(encoder, name=f"t{i}", input=input, favor=favor),
            integer_rows(n, encoder.n_features_in_, input, i),
        )
        for i, (encoder, input) in enumerate(kinds)
    ]


def assert_equal_trits(kinds, jobs, answers):
    for (encoder, _), (_, rows), answer in zip(kinds, jobs, answers, strict=True):
        assert not answer.status.any()
        assert np.array_equal(answer.codes, encoder.encode(rows).packed), encoder


@needs_host
@pytest.mark.parametrize("favor", ["flash", "time"])
def test_exported_trits_are_those_of_encode(tmp_path, favor):
    kinds = every_kind()
    jobs = jobs_of(kinds, 60, favor)
    assert_equal_trits(kinds, jobs, run_on_host(tmp_path, jobs))


@needs_qemu
@pytest.mark.parametrize("favor", ["flash", "time"])
def test_exported_trits_are_those_of_encode_on_a_cortex_m4(tmp_path, favor):
    kinds = every_kind()
    jobs = jobs_of(kinds, 12, favor)
    assert_equal_trits(kinds, jobs, run_on_arm(tmp_path, jobs))


def test_exported_trits_need_no_float():
    source = export_c(trits(64, 128)).source
    assert not re.search(r"\b(float|double)\b", source)


def test_thresholds_of_bytes_take_two_bytes():
    tables = export_c(trits(64, 512, "uint8"), input="uint8").tables
    assert tables == {"upper": 1024, "lower": 1024}


def test_ternary_features_want_integers():
    with pytest.raises(lt.errors.ParameterError, match="int16"):
        export_c(trits(8, 16), input="float32")
