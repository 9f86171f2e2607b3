"""Exported sketches give the bits of `encode`; the root in them is that of the processor."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from device.harness import HOST_C, STRICT, needs_host, needs_qemu, run_on_arm, run_on_host
from device.samples import classifier, float_rows

import lowtide as lt
from lowtide.device import ScoreTables, export_c
from lowtide.errors import ParameterError
from lowtide.quantizers import GivenSteps

ROOTS = """
int main(void)
{
    double x;
    while (fread(&x, sizeof x, 1, stdin) == 1) {
        x = root(x);
        fwrite(&x, sizeof x, 1, stdout);
    }
    return 0;
}
"""


def sketch(d, k, bits, **options):
    options.setdefault("projection", "hadamard")  # a rotation stays in Python
    return lt.Sketch(n_components=k, bits=bits, random_state=k, **options).fit(np.eye(2, d))


def every_kind():
    """Return sketches of one and more bits, on odd, padded and tiny shapes."""
    shapes = [(64, 512, 4), (64, 300, 1), (1, 1, 1), (1, 3, 2), (65, 127, 3), (100, 70, 8), (33, 64, 5)]
    given = GivenSteps([-1.0, 0.0, 1.0], [-1.4, -0.2, 0.5, 1.9])
    others = [sketch(33, 40, 3, quantizer="uniform"), sketch(33, 40, 3, quantizer=given)]
    return [sketch(*shape) for shape in shapes] + others


def rows_of(d, n, seed):
    """Return rows of all lengths: those too short to be normalized, and long ones near the end of the range."""
    rows = float_rows(n, d, seed)
    rows[5], rows[6] = 1e-39, 1e30 / np.sqrt(d)
    return rows


def assert_equal_bits(kinds, jobs, answers):
    for encoder, (_, rows), answer in zip(kinds, jobs, answers, strict=True):
        assert not answer.status.any(), encoder
        assert np.array_equal(answer.codes, encoder.encode(rows).packed), encoder


def jobs_of(kinds, n):
    return [
        (export_c(encoder, name=f"s{i}"), rows_of(encoder.n_features_in_, n, seed=i)) for i, encoder in enumerate(kinds)
    ]


@needs_host
def test_exported_sketches_give_the_bits_of_encode(tmp_path):
    kinds = every_kind()
    jobs = jobs_of(kinds, 300)
    assert_equal_bits(kinds, jobs, run_on_host(tmp_path, jobs, ("-O2", "-march=native", "-ffp-contract=fast")))


@needs_qemu
def test_exported_sketches_give_the_bits_of_encode_on_a_cortex_m4(tmp_path):
    kinds = every_kind()
    jobs = jobs_of(kinds, 20)
    assert_equal_bits(kinds, jobs, run_on_arm(tmp_path, jobs))


@needs_host
@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38])
def test_exported_sketches_refuse_rows_without_a_finite_length(tmp_path, value):
    rows = float_rows(6, 30)
    rows[5] = value
    (answer,) = run_on_host(tmp_path, [(export_c(sketch(30, 64, 2)), rows)])
    assert answer.status.tolist() == [0, 0, 0, 0, 0, -1]


@needs_host
@pytest.mark.parametrize("gamma", [None, 1.0])
def test_decisions_on_a_sketch_are_those_of_the_reference(tmp_path, gamma):
    X = np.random.default_rng(0).standard_normal((80, 20)).astype(np.float32)
    model = classifier(lt.Sketch(n_components=100, bits=4, gamma=gamma, random_state=0), 4, X)
    (answer,) = run_on_host(tmp_path, [(export_c(model), X)])
    assert np.array_equal(answer.scores, ScoreTables.of(model.decision_, "int8").scores(model.features_.encode(X)))
    assert np.mean(model.classes_[answer.decided] == model.predict(X)) > 0.9


@needs_host
def test_the_root_is_rounded_as_the_processor_rounds_it(tmp_path):
    source = export_c(sketch(1, 64, 2)).source
    start = source.index("static double root(")
    body = source[start : source.index("\n}\n", start) + 3]
    program = tmp_path / "root.c"
    program.write_text(f"#include <stdint.h>\n#include <stdio.h>\n{body}{ROOTS}")
    rng = np.random.default_rng(0)
    squares = np.concatenate(
        [10.0 ** rng.uniform(-90, 77, 20_000), np.arange(1.0, 5000.0), np.arange(1.0, 5000.0) ** 2]
    )
    squares = np.concatenate([squares, np.nextafter(squares, np.inf), np.nextafter(squares, 0)])
    subprocess.run([HOST_C, *STRICT, "-O2", program, "-o", tmp_path / "root"], check=True)
    run = subprocess.run([tmp_path / "root"], input=squares.tobytes(), capture_output=True, check=True)
    assert np.array_equal(np.frombuffer(run.stdout), np.sqrt(squares))


@pytest.mark.parametrize(
    ("options", "words"), [({"projection": "iid"}, "Hadamard"), ({"store_norms": True}, "without norms")]
)
def test_sketches_that_a_device_cannot_run_are_refused(options, words):
    with pytest.raises(lt.errors.ParameterError, match=words):
        export_c(sketch(5, 20, 2, **options))


def test_steps_that_do_not_mirror_each_other_are_refused():
    lopsided = sketch(8, 16, 2, quantizer=GivenSteps([-1.0, 0.2], [-1.4, -0.2, 0.9]))
    with pytest.raises(ParameterError, match="must be 2\\^b levels that mirror each other"):
        export_c(lopsided, name="s")
