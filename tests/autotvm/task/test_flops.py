"""Counts of arithmetic operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from te_sched import te, tir
from te_sched.autotvm.task.flops import FlopCalculationError, compute_flop

A = te.placeholder((4, 4), name="A")
I = te.placeholder((4, 4), name="I", dtype="int32")  # noqa: E741
k = te.reduce_axis((0, 4), name="k")


def flops(of: Callable[..., Any]) -> float:
    return compute_flop(te.create_schedule(te.compute((4, 4), of, name="C").op)) / 16


@pytest.mark.parametrize(
    ("of", "count"),
    [
        (lambda i, j: A[i, j] * 2.0 + 1.0, 2),
        (lambda i, j: I[i, (j + 1) % 4] + 1, 1),
        (lambda i, j: te.exp(A[i, j] - 1.0), 1),
        (lambda i, j: tir.Select(A[i, j] > 0, A[i, j] + 1.0, A[i, j]), 1),
        (lambda i, j: te.if_then_else(A[i, j] > 0, A[i, j] + 1.0, 0.0), 2),
        (lambda i, j: tir.Not(A[i, j] > 0), 2),
        (lambda i, j: te.sum(A[i, k].astype("float64") * A[k, j], axis=k), 8),
        (lambda i, j: te.max(A[i, k], axis=k), 4),
    ],
)
def test_operations_of_an_element(of: Callable[..., Any], count: int) -> None:
    assert flops(of) == count


def test_all_stages_count_whatever_their_schedule() -> None:
    B = te.compute((4, 4), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((4, 4), lambda i, j: te.sum(B[i, k], axis=k), name="C")
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    s.rfactor(C, s[C].split(s[C].op.reduce_axis[0], 2)[1])
    assert compute_flop(s) == 16 + 64


def test_programs_that_cannot_be_counted_are_refused() -> None:
    n = te.var("n")
    E = te.extern((4,), [A], lambda ins, outs: tir.call_packed("f", ins[0], outs[0]), name="E")
    P = te.placeholder((n,), name="P")
    two, _ = te.compute((4,), lambda i: (A[i, 0] + 1.0, A[i, 1] + 1.0), name="T")
    reasons = {
        "it has no arithmetic": te.compute((4,), lambda i: A[i, 0]),
        "it is not te.compute": E,
        "the length of an axis is not constant": te.compute((n,), lambda i: P[i] + 1.0),
        "it has several outputs": two,
    }
    for why, tensor in reasons.items():
        with pytest.raises(FlopCalculationError, match=why):
            compute_flop(te.create_schedule(tensor.op))
