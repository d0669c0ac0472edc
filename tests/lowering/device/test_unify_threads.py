"""One variable for each thread axis, at the top of a kernel."""

from __future__ import annotations

import pytest

from te_sched.errors import BuildError
from te_sched.ir.expr import Var
from te_sched.ir.kernel import thread_axes
from te_sched.ir.stmt import PrimFunc, Stmt
from te_sched.lowering.device.unify_threads import unify_threads
from tests.lowering.build import allocate, block, function, loop, read, store, temporary, thread

A, B = temporary("A", 64), temporary("B", 64)
S = temporary("S", 16, scope="shared")
bx, t1, t2 = Var("bx"), Var("t1"), Var("t2")


def kernel(first: Stmt, second: Stmt) -> PrimFunc:
    return unify_threads(
        function(thread("blockIdx.x", 4, bx, allocate(S, block(first, second))), A, B)
    )


COPY = thread("threadIdx.x", 16, t1, store(S, read(A, bx * 16 + t1), t1))
BACK = thread("threadIdx.x", 16, t2, store(B, read(S, t2), bx * 16 + t2))


def test_stages_share_the_threads() -> None:
    axes, body = thread_axes(kernel(COPY, BACK))
    assert [axis.tag for axis in axes] == ["blockIdx.x", "threadIdx.x"]
    text = str(body)
    assert "S_1[threadIdx_x] = A[blockIdx_x * 16 + threadIdx_x]" in text
    assert "B[blockIdx_x * 16 + threadIdx_x] = S_1[threadIdx_x]" in text


def test_blocks_come_first() -> None:
    inside_out = thread("threadIdx.y", 2, t1, thread("blockIdx.x", 4, bx, store(A, 1.0, bx + t1)))
    axes, _ = thread_axes(unify_threads(function(inside_out, A)))
    assert [axis.tag for axis in axes] == ["blockIdx.x", "threadIdx.y"]


def test_each_launch_of_a_host_is_a_kernel() -> None:
    x = Var("x")
    func = function(loop(x, 3, block(COPY, BACK)), A, B)
    assert str(unify_threads(func)).count("threadIdx.x") == 2
    host = function(loop(x, 3, store(A, 1.0, x)), A)
    assert unify_threads(host) is host


def test_threads_that_disagree_are_refused() -> None:
    longer = thread("threadIdx.x", 32, t2, store(B, 1.0, t2))
    with pytest.raises(BuildError, match="axes of 16 and of 32 iterations"):
        kernel(COPY, longer)


def test_threads_in_their_own_threads_are_refused() -> None:
    inner = thread("threadIdx.x", 16, t2, store(B, read(A, t1), t2))
    with pytest.raises(BuildError, match=r"a thread has one threadIdx\.x"):
        unify_threads(function(thread("threadIdx.x", 16, t1, inner), A, B))


def test_results_of_the_threads_around_are_no_input_of_the_same_threads() -> None:
    local, copy = temporary("L", 1, scope="local"), temporary("M", 1, scope="local")
    first = store(local, read(A, t1), 0)
    inner = thread("threadIdx.x", 16, t2, store(B, read(copy, 0), t2))
    body = block(first, store(copy, read(local, 0), 0), inner)
    with pytest.raises(BuildError, match=r"a thread has one threadIdx\.x"):
        unify_threads(function(thread("threadIdx.x", 16, t1, body), A, B))
    fetch = thread("threadIdx.x", 16, t2, store(S, read(A, t2), t2))  # by all threads for all
    body = allocate(S, block(first, fetch, store(B, read(S, t1) + read(local, 0), t1)))
    text = str(unify_threads(function(thread("threadIdx.x", 16, t1, body), A, B)))
    assert "S_1[threadIdx_x] = A[threadIdx_x]" in text
