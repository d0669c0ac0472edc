"""Splits that promise to need no guard, where they do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.errors import BuildError, CallError, ScheduleError

LONGER = 100  # elements of A: what is beyond the axis can be read


def sums(length: Any, target: str, **lengths: int) -> Any:
    """B[i] = the sum of A[i, k] over k < length, which is split without a guard."""
    A = te.placeholder((2, LONGER), name="A")
    k = te.reduce_axis((0, length), "k")
    B = te.compute((2,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].split(k, disable_predication=True, **lengths)
    if target == "cuda":
        s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    sizes = [length] if not isinstance(length, int) else []
    return te_sched.build(s, [A, B, *sizes], target)


@pytest.mark.parametrize("target", ["llvm", "cuda"])
@pytest.mark.parametrize("lengths", [{"factor": 4}, {"nparts": 4}])
def test_what_goes_beyond_the_axis_is_refused(target: str, lengths: dict[str, int]) -> None:
    with pytest.raises(
        BuildError, match=r"(?s)axis k of stage B .* = 12 iterations, expected 10\n.*help"
    ):
        sums(10, target, **lengths)


@pytest.mark.parametrize("target", ["llvm", "cuda"])
@pytest.mark.parametrize("lengths", [{"factor": 4}, {"nparts": 4}])
def test_a_call_says_whether_a_promise_holds(target: str, lengths: dict[str, int]) -> None:
    function = sums(te.var("n"), target, **lengths)
    device = te_sched.emulated_cuda(0) if target == "cuda" else te_sched.cpu(0)
    a = np.random.default_rng(0).random((2, LONGER), "float32")
    given, result = te_sched.nd.array(a, device), te_sched.nd.empty((2,), "float32", device)
    for size in (0, 4, 12):
        function(given, result, size)
        np.testing.assert_allclose(result.numpy(), a[:, :size].sum(1), 1e-5)
    with pytest.raises(CallError, match=r"(?s)axis k of B is n = 10.*promises.*at least 12"):
        function(given, result, 10)


def test_a_promise_that_is_kept_is_believed() -> None:
    a, b = np.random.default_rng(0).random((2, LONGER), "float32"), np.zeros(2, "float32")
    sums(12, "llvm", factor=4)(a, b)
    np.testing.assert_allclose(b, a[:, :12].sum(1), 1e-5)


def test_a_promise_that_depends_on_data_is_refused() -> None:
    A, m = te.placeholder((4, 8), name="A"), te.placeholder((4,), "int32", name="m")

    def row(i: Any) -> Any:
        k = te.reduce_axis((0, m[i]), "k")
        return te.sum(A[i, k], axis=k)

    B = te.compute((4,), row, name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.reduce_axis[0], factor=4, disable_predication=True)
    with pytest.raises(BuildError, match=r"axis k of stage B .*known only inside the loops"):
        te_sched.build(s, [A, m, B])


@pytest.mark.parametrize("length", [10, te.var("n")])
def test_partial_sums_of_what_goes_beyond_are_refused(length: Any) -> None:
    A = te.placeholder((LONGER,), name="A")
    k = te.reduce_axis((0, length), "k")
    B = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="B")
    s = te.create_schedule(B.op)
    _, inner = s[B].split(k, factor=4, disable_predication=True)
    with pytest.raises(
        ScheduleError, match=r"rfactor to stage B: its axis k is split without a guard"
    ):
        s.rfactor(B, inner)


def test_a_copy_in_the_order_of_loops_that_go_beyond_is_refused() -> None:
    A = te.placeholder((10,), name="A")
    B = te.compute((10,), lambda i: A[i] * 2.0, name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], factor=4, disable_predication=True)
    with pytest.raises(ScheduleError, match=r"cache_write(.|\n)*axis i is split without a guard"):
        s.cache_write(B, "local")


def test_findings_name_a_broken_promise() -> None:
    A, k = te.placeholder((LONGER,), name="A"), te.reduce_axis((0, 10), "k")
    B = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].split(k, factor=4, disable_predication=True)
    refuted = te_sched.analysis.check(s, [A, B]).refuted
    assert "without a guard" in str(refuted[0])
