"""Ctrl-C stops what runs for long."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.runtime import interrupts, registry

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no signals to send")


def product(n: int, target: str) -> te_sched.runtime.Module:
    """C = A * B, slowly."""
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    if target == "cuda":
        bx, tx = s[c].split(c.op.axis[1], factor=32)
        for axis, tag in ((c.op.axis[0], "blockIdx.x"), (bx, "blockIdx.y"), (tx, "threadIdx.x")):
            s[c].bind(axis, te.thread_axis(tag))
    return te_sched.build(s, [a, b, c], target=target)


def arrays(n: int, device: te_sched.runtime.Device) -> list[te_sched.nd.NDArray]:
    return [te_sched.nd.array(np.ones((n, n), "float32"), device) for _ in range(3)]


_HEAD = """
import numpy as np, te_sched
from tests.runtime.test_interrupts import *
def begin():
    print("begins", flush=True)
"""
LONG = {
    "a serial loop": """
f, x = exponentials(False)
begin()
f(*x)""",
    "a loop beside an empty one that counts steps": """
f, x = beside_an_empty_loop()
begin()
f(x, 0)""",
    "a parallel loop": """
f, x = exponentials(True)
begin()
f(*x)""",
    "an endless loop of the processor": """
f, x = waiting(1)
begin()
f(x)""",
    "an endless share of another thread": """
f, x = waiting(2)
begin()
f(x)""",
    "the timing of a loop that does not end": """
f, x = waiting(1)
begin()
f.time_evaluator("main", te_sched.cpu(0))(x)""",
    "compiling": """
f = large_program()
begin()
with te_sched.config.scoped(cache=False):
    te_sched.build(f, target="llvm")""",
    "the emulated device": """
f = product(4096, "cuda")
x = arrays(4096, te_sched.emulated_cuda(0))
begin()
f(*x)""",
    "an endless loop": """
f = endless()
x = te_sched.nd.array(np.ones(64, "float32"), te_sched.emulated_cuda(0))
begin()
with te_sched.config.scoped(max_steps=2**60):
    f(x)""",
    "the checked mode": """
f = product(512, "cuda")
x = [np.ones((512, 512), "float32") for _ in range(3)]
begin()
while True:
    f.check(*x)""",
    "calls of a compiled function": """
f = product(512, "llvm")
x = arrays(512, te_sched.cpu(0))
begin()
while True:
    f(*x)""",
    "the timing": """
f = product(256, "llvm")
begin()
f.time_evaluator("main", te_sched.cpu(0), number=10**6, repeat=3)(*arrays(256, te_sched.cpu(0)))""",
    "the timing of the emulated device": """
f = product(256, "cuda")
x = arrays(256, te_sched.emulated_cuda(0))
begin()
f.time_evaluator("main", te_sched.emulated_cuda(0), number=10**6, repeat=3)(*x)""",
}


def exponentials(parallel: bool) -> tuple[te_sched.runtime.Module, list[np.ndarray]]:
    """A reduction over millions of elements for each of millions, of extents that calls tell."""
    n, m = te.var("n"), te.var("m")
    a, k = te.placeholder((m,), name="A"), te.reduce_axis((0, m), "k")
    b = te.compute((n,), lambda i: te.sum(te.exp(a[k] * i.astype("float32")), axis=k), name="B")
    s = te.create_schedule(b.op)
    if parallel:
        s[b].parallel(b.op.axis[0])
    return te_sched.build(s, [a, b]), [np.ones(1 << 22, "float32") for _ in range(2)]


def beside_an_empty_loop() -> tuple[te_sched.runtime.Module, np.ndarray]:
    """Much work, and a loop that counts the steps of another one but has no iterations."""
    n, ib = te_sched.tir.Var("n", "int32"), te_sched.tir.ir_builder.create()
    b = te_sched.tir.decl_buffer((1000,), "int32", "B")
    elements = ib.buffer_ptr(b)
    with ib.for_range(0, 1 << 30, name="i") as i:
        with ib.for_range(0, 1000, name="t") as t:
            elements[t] = elements[t] * 3 + i
        with ib.for_range(0, n), ib.for_range(0, n):
            elements[0] = elements[0] + 1
    handle = te_sched.tir.Var("B", "handle")
    function = te_sched.tir.PrimFunc([handle, n], ib.get(), {handle: b})
    return te_sched.build(function), np.zeros(1000, "int32")


def waiting(count: int) -> tuple[te_sched.runtime.Module, np.ndarray]:
    """Iterations of a parallel loop, the last of which waits for what never comes."""

    def wait(outs):
        ib = te_sched.tir.ir_builder.create()
        b = ib.buffer_ptr(outs[0])
        with ib.for_range(0, count, kind="parallel", name="i") as i:
            b[i] = 1.0
            with ib.while_loop(te_sched.tir.all(b[i] > 0.0, i == count - 1)):
                b[i] = b[i] * 1.0
        return ib.get()

    b = te.extern((count,), [], lambda ins, outs: wait(outs), name="B", dtype="float32")
    return te_sched.build(te.create_schedule(b.op), [b]), np.ones(count, "float32")


def large_program() -> te_sched.ir.stmt.IRModule:
    """A program that is compiled for minutes."""
    a = te.placeholder((64, 64), name="A")
    terms = [te.exp(a[0, j % 64] * float(j)) * a[j * 7 % 64, 0] for j in range(1500)]
    b = te.compute((64,), lambda i: sum(terms, te.const(0.0, "float32")) + i, name="B")
    return te_sched.lower(te.create_schedule(b.op), [a, b])


def endless() -> te_sched.runtime.CudaModule:
    """A kernel that waits for what never comes."""
    from te_sched.codegen.target import as_target
    from te_sched.runtime.cuda_module import CudaModule
    from tests.codegen.checker import kernels as k

    def wait(ib, A, bx, tx):
        with ib.while_loop(A[bx * 32 + tx] > 0.0):
            A[bx * 32 + tx] = A[bx * 32 + tx] * 1.0

    return CudaModule(
        k.program(wait, [k.array("A", 64, "float32")], bx=2, tx=32), as_target("cuda")
    )


@pytest.mark.parametrize("what", LONG)
def test_ctrl_c_stops(what: str) -> None:
    command = [sys.executable, "-c", _HEAD + LONG[what]]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        try:
            _, messages = process.communicate(timeout=20)
        finally:
            process.kill()
    assert time.monotonic() - start < 10  # a machine with nothing else to do needs half a second
    assert messages.splitlines()[-1].startswith("KeyboardInterrupt")
    assert "Exception ignored" not in messages


def test_a_handler_that_goes_on_is_called_and_the_result_is_whole() -> None:
    calls = []
    before = signal.signal(signal.SIGINT, lambda number, frame: calls.append(number))
    try:
        module, values = product(256, "cuda"), arrays(256, te_sched.emulated_cuda(0))
        module(*values)
        signal.raise_signal(signal.SIGINT)
        module(*values)
        assert calls == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)
    np.testing.assert_array_equal(values[2].numpy(), np.full((256, 256), 256))


def test_a_callback_that_was_interrupted_at_once_is_no_success(monkeypatch, capsys) -> None:
    """Python may be interrupted before the first line of a callback, which ctypes only prints."""
    from te_sched.runtime import callbacks

    def interrupted(*args):
        raise KeyboardInterrupt

    te_sched.register_func("test.interrupted", lambda a, b: None, override=True)
    a = te.placeholder((4,), name="A")
    b = te.extern(
        (4,), [a], lambda ins, outs: te_sched.tir.call_packed("test.interrupted", ins[0], outs[0])
    )
    monkeypatch.setattr(callbacks, "make_packed", lambda *args: callbacks._PACKED(interrupted))
    module = te_sched.build(te.create_schedule(b.op), [a, b])
    monkeypatch.setattr(sys, "unraisablehook", lambda information: None)
    with pytest.raises(KeyboardInterrupt):
        module(np.zeros(4, "float32"), np.zeros(4, "float32"))
    registry.remove_global_func("test.interrupted")


_ANOTHER_FAILED = """
import ctypes, os, signal, threading, time
import numpy as np, te_sched
from te_sched import te
from te_sched.runtime import interrupts, registry
te_sched.runtime.set_num_threads(3)
failed = []
def share(i):
    if threading.current_thread() is threading.main_thread():
        time.sleep(0.2)
    elif not failed:
        failed.append(i)
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)
        raise ValueError("mine")
    else:
        time.sleep(1)
    return 0
te_sched.register_extern("share", share)
b = te.compute((3,), lambda i: te_sched.tir.call_extern("int32", "share", i), name="B")
s = te.create_schedule(b.op)
s[b].parallel(b.op.axis[0])
module = te_sched.build(s, [b])
try:
    module(np.zeros(3, "int32"))
except KeyboardInterrupt:
    print("stopped")
assert not any((ctypes.c_void_p * 3).from_address(interrupts.address("kept")))
assert len(registry._pending) <= 1  # the error, if the interrupt came first
"""


def test_ctrl_c_counts_after_the_error_of_another_share() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ANOTHER_FAILED], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("stopped\n", "")


@pytest.mark.parametrize("count", [1, 2])
def test_limit_stops_endless_loops_of_any_thread(count: int) -> None:
    f, x = waiting(count)
    begin = time.perf_counter()
    with (
        pytest.raises(interrupts.TimeLimitError, match="main was stopped at its time limit"),
        interrupts.time_limit(0.2),
    ):
        f.entry_func.measure(te_sched.cpu(0), 1, x)
    assert 0.2 <= time.perf_counter() - begin < 10


@pytest.mark.parametrize("parallel", [False, True])
def test_limit_stops_long_loops_and_nothing_after_it(parallel: bool) -> None:
    f, x = exponentials(parallel)
    with (
        pytest.raises(interrupts.TimeLimitError, match="at its time limit"),
        interrupts.time_limit(0.1),
    ):
        f(*x)
    short = [one[:100].copy() for one in x]
    with interrupts.time_limit(1e18):
        f(*short)
    f(*short)
    assert short[1][1] == pytest.approx(100 * np.e, rel=1e-4)


def test_limit_is_of_one_thread() -> None:
    f, x = waiting(1)
    with (
        pytest.raises(interrupts.TimeLimitError, match="at its time limit"),
        interrupts.time_limit(0.1),
    ):
        f(x)
    g, y = product(512, "llvm"), arrays(512, te_sched.cpu(0))
    errors: list[BaseException] = []

    def call() -> None:
        try:
            for _ in range(3):
                g(*y)
        except BaseException as error:
            errors.append(error)

    other = threading.Thread(target=call)
    with interrupts.time_limit(0.1):
        other.start()
        with pytest.raises(interrupts.TimeLimitError, match="at its time limit"):
            f(x)
    other.join()
    assert errors == []
    assert y[2].numpy()[0, 0] == 512.0


def test_limit_inside_of_a_limit_is_that_around_it() -> None:
    f, x = waiting(1)
    begin = time.perf_counter()
    with (
        interrupts.time_limit(0.2),
        pytest.raises(interrupts.TimeLimitError, match="at its time limit"),
        interrupts.time_limit(60),
    ):
        f(x)
    assert time.perf_counter() - begin < 30
    with (
        pytest.raises(interrupts.TimeLimitError, match="at its time limit"),
        interrupts.time_limit(0.1),
    ):
        f(x)
