"""Loops that end for some threads, or never."""

import signal

import numpy as np
import pytest

from te_sched import config
from te_sched.codegen.checker import ViolationKind, check_program, statements
from te_sched.codegen.checker.expressions import Compiler
from te_sched.errors import BuildError, CallError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from tests.codegen.checker import kernels as k


def test_endless_kernel_is_stopped():
    def build(ib, A, tx):
        A[tx] = E.FloatImm(0.0)
        with ib.while_loop(A[tx] < E.FloatImm(1.0)):
            A[tx] = A[tx] * E.FloatImm(0.5)

    module = k.program(build, [k.array("A", 32)], tx=32)
    report = check_program(module, [np.zeros(32, np.float32)], max_steps=1000)
    assert [one.kind for one in report.findings] == [ViolationKind.STEP_LIMIT]
    assert "1000 steps" in str(report)
    with config.scoped(max_steps=500):
        assert "500 steps" in str(check_program(module, [np.zeros(32, np.float32)]))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers")
def test_long_run_can_be_interrupted():
    def build(ib, A, tx):
        with ib.while_loop(A[tx] < E.FloatImm(1.0)):
            A[tx] = A[tx] * E.FloatImm(0.5)

    def interrupt(*_):
        raise KeyboardInterrupt

    module = k.program(build, [k.array("A", 32)], tx=32)
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            check_program(module, [np.zeros(32, np.float32)])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_lanes_leave_a_loop_one_by_one():
    def build(ib, C, tx):
        C[tx] = E.IntImm(0)
        with ib.for_range(0, tx) as i:
            C[tx] = C[tx] + i

    module = k.program(build, [k.array("C", 40, "int32")], tx=40)
    result = np.zeros(40, np.int32)
    assert check_program(module, [result]).ok
    np.testing.assert_array_equal(result, [n * (n - 1) // 2 for n in range(40)])


def test_each_thread_takes_its_branches():
    def build(ib, C, tx):
        C[tx] = E.IntImm(0)
        with ib.if_scope(tx < 20):
            with ib.if_scope(tx < 10):
                C[tx] = C[tx] + 2
            with ib.else_scope():
                C[tx] = C[tx] + 1
        with ib.else_scope(), ib.if_scope(tx % 2 < 1):
            C[tx] = C[tx] + 4

    result = np.full(32, 9, np.int32)
    assert check_program(k.program(build, [k.array("C", 32, "int32")], tx=32), [result]).ok
    n = np.arange(32)
    np.testing.assert_array_equal(
        result, np.where(n < 10, 2, np.where(n < 20, 1, 4 * (n % 2 == 0)))
    )


def test_threads_leave_a_while_loop_one_by_one():
    def build(ib, C, tx):
        C[tx] = tx
        with ib.while_loop(C[tx] > 7):
            C[tx] = C[tx] - 5

    result = np.zeros(32, np.int32)
    assert check_program(k.program(build, [k.array("C", 32, "int32")], tx=32), [result]).ok
    np.testing.assert_array_equal(result, [n if n < 8 else (n - 8) % 5 + 3 for n in range(32)])


def test_memory_is_not_initialized_when_it_is_entered_again():
    def build(ib, C, tx):
        with ib.for_range(0, 2, name="i") as i:
            v = ib.allocate("float32", (1,), "v", scope="local")
            with ib.if_scope(i < 1):
                v[0] = E.FloatImm(1.0)
            C[tx] = v[0]

    report = check_program(k.program(build, [k.array("C", 32)], tx=32), [np.zeros(32, np.float32)])
    found = [(one.kind, one.buffer, one.loops) for one in report.findings]
    assert found == [(ViolationKind.UNINITIALIZED_READ, "v", {"i": 1})]


TX = E.Var("tx")
NOTHING = S.Evaluate(E.IntImm(0))
REFUSED = {
    "assertion failed in 'main_kernel': too many": S.AssertStmt(
        TX < 31, E.StringImm("too many"), NOTHING
    ),
    r"memory of scope 'warp' \(v\)": ("warp", E.IntImm(4)),
    r"memory of a size that differs between threads \(v\)": ("local", TX),
    "the statement Prefetch": S.Prefetch(k.array("v", 4), ()),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_refuses(fault):
    node = REFUSED[fault]
    if isinstance(node, tuple):
        data = E.Var("v", "handle", E.PointerType("float32", node[0]))
        node = S.Allocate(data, "float32", (node[1],), E.IntImm(1, "bool"), NOTHING)
    machine = k.state()
    machine.assign(machine.slot(TX), machine.space.axis("threadIdx.x"))
    with pytest.raises((BuildError, CallError), match=fault):
        statements.statement(Compiler(machine, {}), node)()
