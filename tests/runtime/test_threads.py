"""Parallel loops: each iteration once, nested, from several callers, after fork."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from te_sched.errors import CallError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.runtime import threads
from te_sched.runtime.module import Module
from tests.codegen.programs import buffer, build, elementwise, function, loop

N = 1000


@pytest.fixture(scope="module")
def double() -> Module:
    return build(elementwise(lambda x: ops.add(x, x), ["float32"], N, "parallel"))


def check(module: Module, seed: int = 0) -> None:
    a, b = np.random.default_rng(seed).random(N, "float32"), np.zeros(N, "float32")
    module(a, b)
    np.testing.assert_array_equal(b, a + a)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 17])
def test_every_iteration_runs_once(n: int) -> None:
    target = buffer("B", [max(n, 1)])

    def body(i: E.Var) -> S.Stmt:
        return S.BufferStore(target, ops.add(E.BufferLoad(target, (i,)), 1.0), (i,))

    m = E.Var("m")
    module = build(function([m, target], loop(m, body, "parallel")))
    b = np.zeros(max(n, 1), "float32")
    module(n, b)
    np.testing.assert_array_equal(b, np.ones(n) if n else [0.0])


def test_parallel_anywhere_in_the_nest_and_nested() -> None:
    target = buffer("B", [8, 8, 8])

    def cell(i: E.Var, j: E.Var, k: E.Var) -> S.Stmt:
        return S.BufferStore(
            target,
            ops.cast("float32", ops.add(ops.mul(ops.add(ops.mul(i, 8), j), 8), k)),
            (i, j, k),
        )

    body = loop(
        8, lambda i: loop(8, lambda j: loop(8, lambda k: cell(i, j, k), "parallel"), "parallel")
    )
    b = np.zeros((8, 8, 8), "float32")
    build(function([target], body))(b)
    np.testing.assert_array_equal(b.ravel(), np.arange(512))


def test_bodies_capture_vectors_and_bounds() -> None:
    source, target = buffer("A", [4]), buffer("B", [16])
    v = E.Var("v", "float32x4")
    start = E.Var("start")
    ramp = E.Ramp(E.IntImm(0), E.IntImm(1), 4)

    def body(i: E.Var) -> S.Stmt:
        return S.BufferStore(target, v, (E.Ramp(ops.mul(ops.sub(i, start), 4), E.IntImm(1), 4),))

    inner = S.For(i := E.Var("i"), start, E.IntImm(4), "parallel", body(i))
    module = build(
        function([start, source, target], S.LetStmt(v, E.BufferLoad(source, (ramp,)), inner))
    )
    a, b = np.arange(4, dtype="float32"), np.zeros(16, "float32")
    module(5, a, b)
    np.testing.assert_array_equal(b, np.tile(a, 4))


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
    with pytest.raises(CallError, match="less than none"):
        threads.set_num_threads(-1)


PROGRAM = """
from tests.runtime.test_threads import N, build, check, elementwise, ops
check(build(elementwise(lambda x: ops.add(x, x), ["float32"], N, "parallel")))
"""


def run_with(openmp: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "TE_SCHED_OPENMP": openmp}
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


def test_serial_when_asked() -> None:
    done = run_with("serial")
    assert done.returncode == 0, done.stderr


def test_wrong_openmp_runtime_is_an_error() -> None:
    done = run_with("/no/such/library.so")
    assert "use the OpenMP runtime /no/such/library.so" in done.stderr
