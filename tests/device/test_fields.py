"""Exported learned features give the bits of `encode`, and decide on what codes are expanded to."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from device.harness import (
    HOST_C,
    STRICT,
    called_from_elsewhere,
    compiled,
    needs_arm,
    needs_host,
    needs_qemu,
    run_on_arm,
    run_on_host,
)

import lowtide as lt
from lowtide.device import ScoreTables, export_c
from lowtide.errors import ParameterError

FUSED = """
int main(void)
{
    float x[3];
    while (fread(x, sizeof *x, 3, stdin) == 3) {
        x[0] = fused(x[0], x[1], x[2]);
        fwrite(x, sizeof *x, 1, stdout);
    }
    return 0;
}
"""


def rows_of(n, d):
    rng = np.random.default_rng(d)
    return (rng.standard_normal((n, d)) * np.linspace(3.0, 0.1, d) + 1.0).astype(np.float32)


def model_of(d, **options):
    X = rows_of(120, d)
    y = (X[:, 0] > 1.0).astype(int) + (X[:, -1] > 1.0)
    features = lt.LearnedFeatures(**{"n_bytes": 8, "n_components": 100, "random_state": 0, **options})
    return lt.KernelClassifier(features, C=10.0).fit(X, y)


def every_kind():
    """Return models of few and many columns, one and more bits, with and without coordinates that are mixed."""
    plain = lt.LearnedFeatures(n_bytes=16, n_components=70, random_state=1).fit(rows_of(120, 33))
    codes = plain.encode(rows_of(120, 33))
    alone = lt.KernelClassifier(plain).fit(codes, np.arange(120) % 2)
    return [model_of(100), model_of(1, bits=1), model_of(40, n_bytes=32, bits=3), model_of(7, bits=8), alone]


def assert_equal_bits(models, jobs, answers):
    for model, (_, rows), answer in zip(models, jobs, answers, strict=True):
        codes = model.features_.encode(rows)
        assert not answer.status.any(), model
        assert np.array_equal(answer.codes, codes.packed), model
        expected = ScoreTables.of(model.decision_, "int8").scores(model.decision_.read(codes))
        assert np.array_equal(answer.scores, expected), model
        assert np.mean(model.classes_[answer.decided] == model.predict(rows)) > 0.9


def jobs_of(models, n):
    return [
        (export_c(model, name=f"f{i}", rows=rows_of(n, model.n_features_in_)), rows_of(n, model.n_features_in_))
        for i, model in enumerate(models)
    ]


@needs_host
def test_exported_fields_give_the_bits_of_encode(tmp_path):
    models = every_kind()
    jobs = jobs_of(models, 200)
    assert_equal_bits(models, jobs, run_on_host(tmp_path, jobs, ("-O2", "-march=native", "-ffp-contract=fast")))
    assert all(made.agreement > 0.9 for made, _ in jobs)


@needs_qemu
def test_exported_fields_give_the_bits_of_encode_on_a_cortex_m4(tmp_path):
    models = every_kind()[:2]
    jobs = jobs_of(models, 10)
    assert_equal_bits(models, jobs, run_on_arm(tmp_path, jobs))


@needs_host
@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38])
def test_rows_that_leave_float32_are_refused(tmp_path, value):
    model, rows = model_of(30), rows_of(6, 30)
    rows[5] = value
    (answer,) = run_on_host(tmp_path, [(export_c(model), rows)])
    assert answer.status.tolist() == [0, 0, 0, 0, 0, -1]


@needs_host
def test_fused_products_are_rounded_once(tmp_path):
    source = export_c(model_of(3)).source
    start = source.index("static float fused(")
    program = tmp_path / "fused.c"
    body = source[start : source.index("\n}\n", start) + 3]
    program.write_text(f"#include <stdint.h>\n#include <stdio.h>\n{body}{FUSED}")
    subprocess.run([HOST_C, *STRICT, "-O2", program, "-o", tmp_path / "fused"], check=True)
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((200_000, 3)) * 10.0 ** rng.integers(-6, 6, (200_000, 3))).astype(np.float32)
    # Sums halfway between two floats but for a term far below: rounding twice gets these wrong.
    a, b = np.float32(1 + 2.0**-12), np.float32(1 + 2.0**-11)
    c = (2.0**24 + 2.0 * rng.integers(0, 1000, 1000)).astype(np.float32)
    x[:1000] = np.stack([np.full(1000, a), np.full(1000, b), c], axis=1)
    run = subprocess.run([tmp_path / "fused"], input=x.tobytes(), capture_output=True, check=True)
    wide = x.astype(np.longdouble)  # 64 bits of mantissa: a product and most sums are exact
    expected = (wide[:, 0] * wide[:, 1] + wide[:, 2]).astype(np.float32)
    assert np.array_equal(np.frombuffer(run.stdout, np.float32), expected)


@needs_arm
def test_no_library_is_needed_but_for_arithmetic(tmp_path):
    called = called_from_elsewhere(compiled(export_c(model_of(30)), tmp_path))
    assert all(name.startswith("__aeabi_") for name in called), called


def test_what_a_device_cannot_run_is_refused():
    X = rows_of(120, 5)
    kernel = lt.LearnedFeatures(n_bytes=8, measure="kernel", random_state=0).fit(X)
    with pytest.raises(ParameterError, match="no more than sums and comparisons"):
        export_c(kernel)
    with pytest.raises(ParameterError, match="levels of equally many bits"):
        export_c(lt.KernelClassifier(kernel).fit(X, np.arange(120) % 2))


def test_header_says_where_levels_are():
    header = export_c(model_of(30), weights=None).header
    assert "of 1 to 4 bits, follow one another without gaps" in header
    assert "#define MODEL_CODE_BYTES 8\n" in header
