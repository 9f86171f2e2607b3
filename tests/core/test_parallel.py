import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from core import cases
from threadpoolctl import threadpool_info, threadpool_limits

from lowtide import _core

INPUTS = cases.draw((600, 50, 64, 8, 512))


@pytest.fixture
def four_threads():
    before = _core.thread_count()
    _core.set_thread_count(4)
    yield
    _core.set_thread_count(before)


EXPECTED = cases.turns(INPUTS)


def turns_are_right():
    return np.array_equal(cases.turns(INPUTS), EXPECTED)


def in_python(code, **environment):
    command, environment = [sys.executable, "-c", code], {**os.environ, **environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def default_threads(wish):
    return in_python("from lowtide import _core; print(_core.thread_count())", OMP_NUM_THREADS=wish)


@pytest.mark.parametrize(("wish", "count"), [("3", "3"), ("5,2", "5"), ("1", "1"), ("100000", "256")])
def test_thread_count_starts_at_omp_num_threads(wish, count):
    assert default_threads(wish) == count


@pytest.mark.parametrize("wish", ["", "0", "-2", "many"])
def test_thread_count_starts_at_the_usable_processors_otherwise(wish):
    assert default_threads(wish) == str(len(os.sched_getaffinity(0)))


def test_thread_count_follows_the_affinity_of_the_process():
    one = min(os.sched_getaffinity(0))
    code = f"import os; os.sched_setaffinity(0, [{one}]);from lowtide import _core; print(_core.thread_count())"
    assert in_python(code, OMP_NUM_THREADS="") == "1"


@pytest.mark.parametrize("n", [0, -1])
def test_set_thread_count_refuses_less_than_one(n):
    with pytest.raises(ValueError, match="at least 1"):
        _core.set_thread_count(n)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 64])
def test_results_do_not_depend_on_the_thread_count(n, four_threads):
    _core.set_thread_count(n)
    assert turns_are_right()


# Python warns of forking a process that has threads, which is what these tests are about.
forks = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@forks
def test_ops_work_in_a_child_after_fork(four_threads):
    assert turns_are_right()
    child = os.fork()
    if child == 0:
        os._exit(0 if turns_are_right() and turns_are_right() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert turns_are_right()


@forks
def test_ops_work_in_a_child_forked_while_they_run(four_threads):
    stop = threading.Event()

    def keep_busy():
        while not stop.is_set():
            cases.turns(INPUTS)

    busy = threading.Thread(target=keep_busy)
    busy.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                os._exit(0 if turns_are_right() else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        busy.join()


@forks
def test_ops_work_in_forked_worker_processes(four_threads):
    assert turns_are_right()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert all(pool.starmap(turns_are_right, [()] * 4))


def test_ops_may_be_called_from_many_threads_at_once(four_threads):
    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(lambda _: turns_are_right(), range(60)))


def test_threadpool_limits_hold_for_the_ops(four_threads):
    assert [entry["num_threads"] for entry in threadpool_info() if entry["user_api"] == "lowtide"] == [4]
    with threadpool_limits(limits=1, user_api="lowtide"):
        assert _core.thread_count() == 1
    assert _core.thread_count() == 4


def test_importing_a_learner_makes_the_threads_of_the_ops_known():
    code = (
        "from lowtide import KernelClassifier; import threadpoolctl;"
        "print([e['prefix'] for e in threadpoolctl.threadpool_info() if e['user_api'] == 'lowtide'])"
    )
    assert in_python(code) == "['_lowtide_core']"
