"""Parallel loops: each iteration once, nested, from several callers, after fork."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.errors import CallError
from te_sched.ir import ops
from te_sched.runtime import registry, threads
from te_sched.runtime.module import Module
from tests.codegen.programs import build, elementwise

N = 1000


@pytest.fixture(scope="module")
def double() -> Module:
    return build(elementwise(lambda x: ops.add(x, x), ["float32"], N, "parallel"))


def check(module: Module, seed: int = 0) -> None:
    a, b = np.random.default_rng(seed).random(N, "float32"), np.zeros(N, "float32")
    module(a, b)
    np.testing.assert_array_equal(b, a + a)


def test_several_callers_at_once(double: Module) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda seed: [check(double, seed) for _ in range(20)], range(8)))


def test_several_threads_build_at_once() -> None:
    def job(k: int) -> None:
        a, b = np.ones(N, "float32"), np.zeros(N, "float32")
        build(elementwise(lambda x: ops.add(x, float(k)), ["float32"], N))(a, b)
        np.testing.assert_array_equal(b, a + k)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(job, range(12)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_child_process_runs_parallel_loops(double: Module) -> None:
    check(double)  # the parent has a team, which the child lacks
    child = os.fork()
    if child == 0:
        try:
            check(double)
            check(build(elementwise(lambda x: ops.add(x, x), ["float32"], N, "parallel")))
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    check(double)


def test_number_of_threads() -> None:
    assert threads.get_num_threads() >= 1
    threads.set_num_threads(1)
    try:
        assert threads.get_num_threads() == 1
        check(build(elementwise(lambda x: ops.add(x, x), ["float32"], N, "parallel")))
    finally:
        threads.set_num_threads(0)
    with pytest.raises(CallError, match="the number of threads must not be negative, got -1"):
        threads.set_num_threads(-1)
    with pytest.raises(CallError, match="is 100000, expected at most 1024"):
        threads.set_num_threads(100_000)
    with pytest.raises(CallError, match=r"is 2\.5, expected an int"):
        threads.set_num_threads(2.5)  # type: ignore[arg-type]


_FORKED = """
import multiprocessing, numpy as np, sys
import te_sched
from te_sched import te
a = te.placeholder((1000,), name="A")
b = te.compute((1000,), lambda i: a[i] + 1.0, name="B")
s = te.create_schedule(b.op)
s[b].parallel(b.op.axis[0])
module = te_sched.build(s, [a, b])
def job(number):
    x, y = np.full(1000, number, "float32"), np.zeros(1000, "float32")
    for _ in range(20):
        module(x, y)
    return bool((y == number + 1).all())
if __name__ == "__main__":
    assert job(3)
    with multiprocessing.get_context("fork").Pool(3) as pool:
        assert all(pool.map(job, range(12)))
    assert job(4)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("count", ["1", "2", "5"])
def test_pools_of_processes(count: str) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": count}
    command = [sys.executable, "-W", "ignore", "-c", _FORKED]
    subprocess.run(command, env=environment, check=True, timeout=60)


@pytest.mark.parametrize(
    ("variables", "count"),
    [
        ({"OMP_NUM_THREADS": "3"}, 3),
        ({"OMP_NUM_THREADS": "3", "TE_SCHED_NUM_THREADS": "2"}, 2),
        ({"TE_SCHED_OPENMP": "serial", "TE_SCHED_NUM_THREADS": "2"}, 1),
        ({"OMP_NUM_THREADS": "3,2"}, 3),
        ({"TE_SCHED_NUM_THREADS": "0" * 30 + "2"}, 2),
        ({"OMP_NUM_THREADS": "3", "TE_SCHED_NUM_THREADS": "00"}, 3),
        ({"OMP_NUM_THREADS": "3", "OMP_THREAD_LIMIT": "2"}, 2),
    ],
)
def test_environment_says_how_many_threads(variables: dict[str, str], count: int) -> None:
    code = "from te_sched.runtime import threads; print(threads.get_num_threads())"
    command = [sys.executable, "-c", code]
    given = {**os.environ, **variables}
    done = subprocess.run(command, env=given, check=True, capture_output=True, text=True)
    assert int(done.stdout) == count


@pytest.mark.parametrize("text", ["abc", "-1", "0", "2.5", "100000", "9" * 5000])
@pytest.mark.parametrize("variable", ["OMP_NUM_THREADS", "TE_SCHED_OPENMP"])
def test_nonsense_of_openmp_is_ignored(
    monkeypatch: pytest.MonkeyPatch, text: str, variable: str
) -> None:
    monkeypatch.delenv("TE_SCHED_NUM_THREADS", raising=False)
    monkeypatch.setenv(variable, text)
    with pytest.warns(RuntimeWarning, match=f"ignores the environment variable {variable}"):
        assert 1 <= threads._default.__wrapped__() <= (os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abc", "is 'abc', expected a number of threads"),
        ("100000", "is 100000, expected at most"),
        ("0" * 20 + "5000", "is 5000, expected"),
    ],
)
def test_nonsense_of_our_own_is_refused(
    monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.setenv("TE_SCHED_NUM_THREADS", text)
    with pytest.raises(CallError, match=message):
        threads._default.__wrapped__()


def test_threads_that_the_system_refuses(monkeypatch: pytest.MonkeyPatch, double: Module) -> None:
    check(double)
    failed = threads._FAILED
    real = threads._python
    monkeypatch.setattr(
        threads, "_python", lambda name: (lambda *_: failed) if "start" in name else real(name)
    )
    threads.set_num_threads(900)
    try:
        with pytest.raises(CallError, match=r"cannot start 900 threads(.|\n)*the system refuses"):
            check(double)
    finally:
        threads.set_num_threads(0)
    check(double)


def test_a_loop_does_not_wait_for_threads_that_do_something_else(double: Module) -> None:
    """The share of a thread that does not begin is run by the caller."""
    begun, over = threading.Event(), threading.Event()

    def hold(i: int) -> int:
        if threading.current_thread() is not caller:
            begun.set()
            over.wait(30)
        else:
            begun.wait(30)
        return 0

    te_sched.register_extern("hold", hold)
    b = te.compute((2,), lambda i: te_sched.tir.call_extern("int32", "hold", i), name="B")
    s = te.create_schedule(b.op)
    s[b].parallel(b.op.axis[0])
    module = te_sched.build(s, [b])
    threads.set_num_threads(2)
    caller = threading.Thread(target=module, args=(np.zeros(2, "int32"),))
    try:
        caller.start()
        assert begun.wait(30)  # the only thread of the team is busy from now on
        check(double)
        assert caller.is_alive()
    finally:
        over.set()
        caller.join()
        threads.set_num_threads(0)
        registry.remove_extern("hold")


@pytest.mark.skipif(
    sys.platform != "linux" or len(os.sched_getaffinity(0)) == 1, reason="needs cores to leave"
)
def test_a_thread_that_is_queued_behind_its_caller_leaves_the_core() -> None:
    code = """
import ctypes, os, time
import numpy as np, te_sched
from te_sched import te
from te_sched.runtime import team, threads
a = te.placeholder((64, 4096), name="A")
b = te.compute(a.shape, lambda i, j: te.exp(a[i, j]), name="B")
s = te.create_schedule(b.op)
s[b].parallel(b.op.axis[0])
module = te_sched.build(s, [a, b])
threads.set_num_threads(2)
x, y = np.ones(a.shape, "float32"), np.zeros(a.shape, "float32")
module(x, y)
box = ctypes.c_void_p.from_address(threads.slot_value("boxes")).value + team.BOX_BYTES
thread, left = (ctypes.c_int32.from_address(box + team.NUMBER_OFFSET + at) for at in (0, 4))
until = time.monotonic() + 60
while not thread.value and time.monotonic() < until:
    module(x, y)  # until the thread has begun
thread = thread.value
core, other, *_ = os.sched_getaffinity(0)
os.sched_setaffinity(0, {core})
os.sched_setaffinity(thread, {core})
left.value = other + 1  # as if its share had been late when the caller was there
while os.sched_getaffinity(thread) == {core} and time.monotonic() < until:
    module(x, y)
assert os.sched_getaffinity(thread) == {other}
assert np.allclose(y, np.exp(x))
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_environment_stays_as_it_is() -> None:
    code = """
import os
before = dict(os.environ)
from tests.runtime.test_threads import N, build, check, elementwise, ops
check(build(elementwise(lambda x: ops.add(x, x), ["float32"], N, "parallel")))
assert dict(os.environ) == before
import subprocess, sys
child = "import os; print(sorted(os.environ))"
shown = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True).stdout
assert all(name not in shown for name in ("GOMP_", "KMP_", "OMP_WAIT"))
"""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("GOMP_", "KMP_", "OMP_"))}
    subprocess.run([sys.executable, "-c", code], env=clean, check=True, timeout=60)
