"""Functions and builds in several threads at once."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.errors import CallError

THREADS = 6


def in_threads(work: Callable[[int], None]) -> None:
    """Run work(0), work(1), ... at once; raises the first exception of one of them."""
    failed: list[BaseException] = []
    begin = threading.Barrier(THREADS)

    def run(number: int) -> None:
        begin.wait()
        try:
            work(number)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    if failed:
        raise failed[0]


def smooth(n: int, target: str = "llvm") -> te_sched.runtime.Module:
    """C = 2 * (A[i] + A[i + 1]) in a parallel loop, with a temporary on the heap."""
    a = te.placeholder((n + 1,), name="A")
    b = te.compute((n,), lambda i: a[i] + a[i + 1], name="B")
    c = te.compute((n,), lambda i: b[i] * 2.0, name="C")
    s = te.create_schedule(c.op)
    if target == "cuda":
        for stage in (b, c):
            outer, inner = s[stage].split(stage.op.axis[0], factor=32)
            s[stage].bind(outer, te.thread_axis("blockIdx.x"))
            s[stage].bind(inner, te.thread_axis("threadIdx.x"))
    else:
        s[b].parallel(b.op.axis[0])
        s[c].parallel(c.op.axis[0])
    return te_sched.build(s, [a, c], target=target)


def check(module: te_sched.runtime.Module, n: int, seed: int, device: object = None) -> None:
    a = np.random.default_rng(seed).random(n + 1).astype("float32")
    given = [te_sched.nd.array(a, device), te_sched.nd.array(np.zeros(n, "float32"), device)]
    module(*given)
    np.testing.assert_allclose(given[1].numpy(), 2 * (a[1:] + a[:-1]), rtol=1e-6)


def test_one_function() -> None:
    module = smooth(50_000)

    def work(number: int) -> None:
        for turn in range(20):
            check(module, 50_000, 100 * number + turn)

    in_threads(work)


def test_one_function_on_the_emulated_device() -> None:
    module, device = smooth(2000, "cuda"), te_sched.emulated_cuda(0)
    in_threads(lambda number: check(module, 2000, number, device))


def test_errors_reach_the_thread_that_made_them() -> None:
    module = smooth(1000)

    def work(number: int) -> None:
        for turn in range(20):
            if number % 2:
                with pytest.raises(CallError, match=rf"has shape \({number},\)"):
                    module(np.zeros(number, "float32"), np.zeros(1000, "float32"))
            else:
                check(module, 1000, turn)

    in_threads(work)


def test_exceptions_of_callbacks_reach_the_thread_that_called() -> None:
    def fail(data: te_sched.nd.NDArray, result: te_sched.nd.NDArray) -> None:
        raise ValueError(f"number {data.numpy()[0]:.0f}")

    te_sched.register_func("test.fail", fail, override=True)
    a = te.placeholder((1,), name="A")
    b = te.extern((1,), [a], lambda i, o: te_sched.tir.call_packed("test.fail", i[0], o[0]))
    module = te_sched.build(te.create_schedule(b.op), [a, b])

    def work(number: int) -> None:
        for _ in range(20):
            with pytest.raises(ValueError, match=f"number {number}"):
                module(np.full(1, number, "float32"), np.zeros(1, "float32"))

    in_threads(work)


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("target", ["llvm", "cuda"])
def test_builds(target: str, cached: bool, tmp_path) -> None:
    device = te_sched.emulated_cuda(0) if target == "cuda" else te_sched.cpu(0)

    def work(number: int) -> None:
        with te_sched.config.scoped(cache=cached, cache_dir=str(tmp_path), verify_passes=False):
            for turn in range(3):
                n = 64 + 32 * (turn if turn else number)
                check(smooth(n, target), n, number, device)

    in_threads(work)


_FIRST_BUILDS = """
import threading, numpy as np, te_sched
from te_sched import te
begin, built = threading.Barrier(4), []
def work(number):
    a = te.placeholder((4096,), name="A")
    b = te.compute((4096,), lambda i: a[i] + float(number), name="B")
    s = te.create_schedule(b.op)
    s[b].parallel(b.op.axis[0])
    begin.wait()
    built.append((number, te_sched.build(s, [a, b])))
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
for number, module in built:
    x, y = np.ones(4096, "float32"), np.zeros(4096, "float32")
    module(x, y)
    assert (y == 1 + number).all()
"""


def test_first_parallel_loops_of_several_threads() -> None:
    """All use one team; that of the second thread to start one would be unloaded."""
    for _ in range(2):
        subprocess.run([sys.executable, "-c", _FIRST_BUILDS], check=True, timeout=60)
