"""Work that is stopped: every op by a token and by a signal, with nothing half made."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import lowtide as lt
from lowtide import _core, cancel
from lowtide.checksum import crc32c
from lowtide.errors import CancelledError, LowtideError, ParameterError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2500, 40)).astype(np.float32)
# From a stop to the error: 0.2 s on an idle machine, on which others may work while tests run.
PATIENCE = 2.0


def codes_of(bits, n_components=1024, rows=X, **options):
    encoder = lt.RandomFeatures(n_components=n_components, bits=bits, gamma=0.02, random_state=0, **options)
    return encoder.fit(X).encode(rows)


ONE, TWO, EIGHT = codes_of(1), codes_of(2), codes_of(8)
TRITS = lt.TernaryFeatures(n_components=1024, sparsity=0.25, random_state=0).fit(X)
ENCODERS = {
    "hadamard": lt.RandomFeatures(n_components=4096, bits=1, gamma=0.02, random_state=0).fit(X),
    "wide levels": lt.RandomFeatures(n_components=4096, bits=4, gamma=0.02, random_state=0).fit(X),
    "dense": lt.RandomFeatures(n_components=2048, bits=1, gamma=0.02, projection="iid", random_state=0).fit(X),
    "at random": lt.RandomFeatures(n_components=4096, bits=2, gamma=0.02, quantizer="stochastic", random_state=0).fit(
        X
    ),
    "sketch": lt.Sketch(n_components=4096, random_state=0).fit(X),
    "ternary": TRITS,
}
W, R = RNG.normal(size=(1024, 40)), RNG.normal(size=(len(X), 40))
BUFFER = np.ones(1 << 26, np.uint8)

OPS = {
    **{f"encode {name}": lambda e=encoder: e.encode(X).packed for name, encoder in ENCODERS.items()},
    "transform": lambda: ENCODERS["hadamard"].transform(X),
    "transform dense": lambda: ENCODERS["dense"].transform(X),
    "decode": lambda: np.asarray(TWO),
    "gram one bit": lambda: ONE.gram(),
    "gram two bits": lambda: TWO.gram(),
    "gram float64": lambda: TWO[:800].gram(dtype=np.float64),
    "gram trits": lambda: TRITS.encode(X).gram(),
    "dot one bit": lambda: ONE.dot(ONE),
    "dot two bits": lambda: TWO.dot(TWO[:1500]),
    "dot mixed": lambda: ONE[:800].dot(TWO),
    "dot bytes": lambda: EIGHT[:400].dot(EIGHT),
    "dot trits": lambda: TRITS.encode(X[:800]).dot(TRITS.encode(X)),
    "C @ W": lambda: ONE @ W,
    "C @ W of bytes": lambda: EIGHT @ W,
    "C.T @ R": lambda: TWO.T @ R,
    "top_k codes": lambda: ONE.top_k(ONE[:500], 10)[0],
    "top_k floats": lambda: TWO.top_k(W.T.copy(), 10)[0],
    "top_k of many": lambda: ONE.top_k(ONE[:8], 2000)[0],
    "crc32c": lambda: crc32c(BUFFER),
    "pull back": lambda: ENCODERS["hadamard"].drawn_.projection.pull_back(np.ones((800, 2048), np.float32)),
}


def until_stopped(work):
    """Do work over and over, until it raises."""
    end = time.monotonic() + 10.0
    while time.monotonic() < end:
        work()
    raise AssertionError("nothing has stopped the work")


@pytest.fixture(scope="module", params=OPS)
def op(request):
    return OPS[request.param]


def test_op_is_stopped_by_its_deadline_and_the_next_call_is_right(op):
    expected = op()
    seconds = float(RNG.uniform(0.001, 0.02))
    start = time.perf_counter()
    with pytest.raises(CancelledError) as caught, lt.CancelToken(seconds=seconds):
        until_stopped(op)
    assert seconds <= time.perf_counter() - start < seconds + PATIENCE
    assert caught.value.timed_out
    np.testing.assert_array_equal(op(), expected)


def interrupt_every_op():
    """Stop each op by SIGINT at a random moment, and a single long call; print which did not do as they should."""
    large = np.ones(1 << 28, np.uint8)
    for name, work in {**OPS, "one call": lambda: crc32c(large)}.items():
        expected, sent = work(), []

        def send(sent=sent):
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(float(RNG.uniform(0.001, 0.02)), send)
        try:
            timer.start()
            until_stopped(work)
        except KeyboardInterrupt:
            if time.perf_counter() - sent[0] > PATIENCE:
                print(name, "was late")
        timer.join()
        if not np.array_equal(work(), expected):
            print(name, "was wrong afterwards")


def test_every_op_is_stopped_by_ctrl_c_and_the_next_call_is_right():
    command = [sys.executable, "-c", "from core.test_cancel import interrupt_every_op; interrupt_every_op()"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals are the main thread's")
def test_a_handler_may_use_ops_and_the_op_goes_on():
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(ONE[:64].dot(ONE[:64])))
    try:
        timer = threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGUSR1))
        timer.start()
        end = time.monotonic() + 10.0
        while not seen and time.monotonic() < end:
            found = TWO.gram()
        timer.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    np.testing.assert_array_equal(found, TWO.gram())
    np.testing.assert_array_equal(seen[0], ONE[:64].dot(ONE[:64]))


def test_cancel_from_another_thread_stops_the_work_of_this_one():
    token = lt.CancelToken()
    timer = threading.Timer(0.01, token.cancel)
    timer.start()
    with pytest.raises(CancelledError) as caught, token:
        until_stopped(OPS["gram two bits"])
    timer.join()
    assert token.cancelled
    assert not caught.value.timed_out


def test_token_holds_for_its_thread_alone():
    token = lt.CancelToken()
    token.cancel()
    with ThreadPoolExecutor(1) as pool, token:
        assert pool.submit(crc32c, b"123456789").result() == 0xE3069283
        with pytest.raises(CancelledError):
            crc32c(bytes(1 << 16))  # smaller ones are done before anybody could stop them
    assert crc32c(b"123456789") == 0xE3069283


def test_token_within_another_leaves_both_in_force():
    outer, inner = lt.CancelToken(), lt.CancelToken(seconds=60)
    with outer, inner:
        outer.cancel()
        assert not inner.cancelled
        with pytest.raises(CancelledError):
            cancel.poll()
    cancel.poll()


def test_token_may_be_entered_again_and_on_many_threads():
    token = lt.CancelToken()

    def sums():
        with token, token:
            return crc32c(b"123456789")

    with ThreadPoolExecutor(4) as pool:
        assert {future.result() for future in [pool.submit(sums) for _ in range(20)]} == {0xE3069283}
    assert _core.tokens() == []


def test_tokens_left_in_another_order_are_refused():
    first, second = lt.CancelToken(), lt.CancelToken()
    first.__enter__()
    second.__enter__()
    with pytest.raises(ParameterError, match="the last one first"):
        first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    first.__exit__(None, None, None)
    assert _core.tokens() == []


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), float("inf"), "1", True])
def test_token_refuses_seconds_that_are_no_time(seconds):
    with pytest.raises(ParameterError, match="seconds must be a finite number above 0"):
        lt.CancelToken(seconds=seconds)


def test_a_time_beyond_the_clock_is_none():
    assert not lt.CancelToken(seconds=1e300).cancelled


@pytest.mark.parametrize("timed_out", [False, True])
def test_error_is_ours_and_survives_a_pickle(timed_out):
    error = pickle.loads(pickle.dumps(CancelledError(timed_out)))
    assert isinstance(error, LowtideError)
    assert isinstance(error, RuntimeError)
    assert error.timed_out is timed_out


def test_child_of_a_fork_made_on_another_thread_answers_signals():
    def child_status():
        pid = os.fork()
        if pid == 0:
            try:
                # The thread that forked is the child's main one.
                threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()
                until_stopped(OPS["crc32c"])
            except KeyboardInterrupt:
                os._exit(7)
            finally:
                os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(child_status).result() == 7


def test_threads_run_under_the_tokens_of_their_maker():
    with lt.CancelToken() as token, cancel.Threads(2) as threads:
        assert list(threads.map(lambda _: len(_core.tokens()), range(3))) == [2, 2, 2]
        token.cancel()
        with pytest.raises(CancelledError):
            list(threads.map(abs, [1]))


def test_threads_stop_their_tasks_when_the_block_fails():
    begun, ended = threading.Event(), []

    def task(_):
        begun.set()
        try:
            until_stopped(cancel.poll)
        except CancelledError as error:
            ended.append(error)

    def fail_after_tasks():
        with cancel.Threads(1) as threads:
            for i in range(3):
                threads.submit(task, i)
            begun.wait()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_after_tasks()
    assert len(ended) == 1


def test_threads_are_stopped_and_waited_for_when_ctrl_c_comes_at_the_end_of_the_block():
    ended = []

    def task():
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        try:
            until_stopped(cancel.poll)
        except CancelledError as error:
            ended.append(error)

    with pytest.raises(KeyboardInterrupt), cancel.Threads(1) as threads:
        threads.submit(task)
    assert len(ended) == 1


def test_a_call_aside_can_be_left_and_gives_its_result_or_error():
    assert cancel.aside(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        cancel.aside(divmod, 7, 0)
    may_end = threading.Event()
    with pytest.raises(CancelledError), lt.CancelToken(seconds=0.01):
        cancel.aside(may_end.wait)
    may_end.set()


def test_what_comes_later_is_waited_for_and_made_under_the_tokens_of_its_time():
    may_end = threading.Event()
    later = cancel.Later(lambda: may_end.wait() and 3)
    may_end.set()
    assert later.result() == later.result() == cancel.ready(later) == cancel.ready(3)
    with lt.CancelToken() as token:
        token.cancel()
        stopped = cancel.Later(cancel.poll)
    with pytest.raises(CancelledError):
        stopped.result()


@pytest.mark.parametrize("shapes", [((300, 50), (50, 7)), ((3, 50), (50, 400)), ((0, 5), (5, 4)), ((1, 1), (1, 1))])
def test_matmul_in_pieces_is_matmul(shapes, monkeypatch):
    A, B = (RNG.normal(size=shape) for shape in shapes)
    expected = A @ B
    monkeypatch.setattr(cancel, "_PIECE", 64)
    monkeypatch.setattr(cancel, "_LEAST_ROWS", 5)
    # Sums of 50 products in another order.
    np.testing.assert_allclose(cancel.matmul(A, B), expected, rtol=0, atol=50 * 2.0**-52 * 20)
    out = np.empty_like(expected)
    assert cancel.matmul(A, B, out=out) is out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("piece", [1 << 28, 1])
def test_add_gram_adds_to_the_lower_triangle(dtype, sign, piece, monkeypatch):
    monkeypatch.setattr(cancel, "_PIECE", piece)
    monkeypatch.setattr(cancel, "_LEAST_ROWS", 8)
    block, total = RNG.integers(-3, 4, size=(9, 21)).astype(dtype), np.ones((21, 21), dtype=dtype)
    cancel.add_gram(total, block, sign)
    np.testing.assert_array_equal(np.tril(total), np.tril(1 + sign * block.T @ block))


def test_stopped_calls_leave_no_memory_behind():
    def resident():
        with open("/proc/self/statm") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def stopped(name):
        with pytest.raises(CancelledError), lt.CancelToken(seconds=0.002):
            until_stopped(OPS[name])

    names = ("encode hadamard", "gram two bits", "dot one bit", "C.T @ R", "top_k codes")
    for name in names:
        stopped(name)
    before = resident()
    for i in range(50):
        stopped(names[i % len(names)])
    # Ten results of dot are 250 MB, as many operands of the others a few hundred.
    assert resident() - before < 100 << 20
