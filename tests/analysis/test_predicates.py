"""Store predicates that drop parts of results are refused; others are not."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.errors import BuildError

P = SimpleNamespace


def program() -> P:
    """C[i] = the sum of A[i, k] over k, as D."""
    A = te.placeholder((4, 18), name="A")
    k = te.reduce_axis((0, 18), "k")
    C = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="C")
    D = te.compute((4,), lambda i: C[i] + 0.0, name="D")
    s = te.create_schedule(D.op)
    outer, inner = s[C].split(k, factor=4)
    return P(A=A, C=C, D=D, s=s, i=C.op.axis[0], outer=outer, inner=inner)


def build(p: P, predicate: Callable[[P], Any], stage: str = "C") -> Any:
    p.s[getattr(p, stage)].set_store_predicate(predicate(p))
    return te_sched.build(p.s, [p.A, p.D])


@pytest.mark.parametrize(
    "predicate",
    [
        lambda p: p.inner.var < 2,
        lambda p: p.outer.var.equal(0),
        lambda p: te.any(p.inner.var > 0, p.i.var > 0),
        lambda p: p.outer.var * 4 + p.inner.var < 17,
    ],
)
def test_predicate_that_drops_terms_is_refused(predicate: Callable[[P], Any]) -> None:
    with pytest.raises(BuildError, match=r"(?s)which add to the result, it drops some.*cure"):
        build(program(), predicate)


@pytest.mark.parametrize("stage", ["C", "D"])
def test_predicate_that_never_holds_is_refused(stage: str) -> None:
    with pytest.raises(BuildError, match="nothing is stored"):
        build(program(), lambda p: te.const(False), stage)


@pytest.mark.parametrize(
    "predicate",
    [
        lambda p: p.inner.var < 4,
        lambda p: p.outer.var * 4 + p.inner.var < 18,
        lambda p: te.const(True),
    ],
)
def test_predicate_that_drops_nothing_is_right(predicate: Callable[[P], Any]) -> None:
    a, d = np.random.default_rng(0).random((4, 18), "float32"), np.zeros(4, "float32")
    build(program(), predicate)(a, d)
    np.testing.assert_allclose(d, a.sum(1), 1e-5)


def test_output_of_a_reduction_that_is_not_stored_is_refused() -> None:
    A, k = te.placeholder((4, 4), name="A"), te.reduce_axis((0, 4), "k")
    C = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="C")
    s = te.create_schedule(C.op)
    s[C].set_store_predicate(C.op.axis[0].var < 1)
    with pytest.raises(BuildError, match="drops some"):
        te_sched.build(s, [A, C])


@pytest.mark.parametrize(("least", "is_refused"), [(2, True), (1000, False)])
def test_symbolic_extents_are_taken_to_be_of_some_size(least: int, is_refused: bool) -> None:
    n = te.var("n")
    A, k = te.placeholder((n, n), name="A"), te.reduce_axis((0, n), "k")
    C = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="C")
    s = te.create_schedule(C.op)
    s[C].set_store_predicate(k.var < least)
    if is_refused:
        with pytest.raises(BuildError, match="drops some"):
            te_sched.build(s, [A, C])
    else:
        te_sched.build(s, [A, C])


def test_predicate_of_threads_is_theirs() -> None:
    A, k = te.placeholder((64,), name="A"), te.reduce_axis((0, 64), "k")
    C = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="C")
    s = te.create_schedule(C.op)
    thread = te.thread_axis("threadIdx.x")
    _, inner = s[C].split(C.op.reduce_axis[0], factor=16)
    s[C].bind(s[C].op.axis[0], te.thread_axis("blockIdx.x"))
    s[C].bind(inner, thread)
    s[C].set_store_predicate(thread.var.equal(0))
    te_sched.build(s, [A, C], "cuda")
