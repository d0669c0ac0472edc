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
    i, j = C.op.axis[0], D.op.axis[0]
    return P(A=A, C=C, D=D, s=s, i=i, j=j, outer=outer, inner=inner)


def build(p: P, predicate: Callable[[P], Any], stage: str = "C") -> Any:
    p.s[getattr(p, stage)].set_store_predicate(predicate(p))
    return te_sched.build(p.s, [p.A, p.D])


@pytest.mark.parametrize(
    "predicate",
    [
        lambda p: p.inner.var < 2,
        lambda p: p.outer.var.equal(0),
        lambda p: te.any(p.inner.var > 0, p.i.var.equal(3)),
        lambda p: p.outer.var * 4 + p.inner.var < 17,
    ],
)
def test_predicate_that_drops_terms_is_refused(predicate: Callable[[P], Any]) -> None:
    with pytest.raises(
        BuildError, match=r"(?s)leaves out some of the iterations that add to C\[.*\].*help"
    ):
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


@pytest.mark.parametrize("stage", ["C", "D"])
def test_elements_that_are_left_out_are_named(stage: str) -> None:
    axis = "i" if stage == "C" else "j"
    with pytest.raises(BuildError, match=rf"leaves out {stage}\[1\], which is needed"):
        build(program(), lambda p: getattr(p, axis).var < 1, stage)


def test_predicate_that_asks_for_data_is_refused() -> None:
    with pytest.raises(BuildError, match="it is not known which elements it leaves out"):
        build(program(), lambda p: p.A[p.j, 0] > 0, "D")


def test_predicate_of_a_loop_that_is_over_is_refused() -> None:
    A, k = te.placeholder((2, 64), name="A"), te.reduce_axis((0, 64), "k")
    C = te.compute((2,), lambda i: te.sum(A[i, k], axis=k), name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(k, factor=16)
    s[C].bind(outer, te.thread_axis("threadIdx.x"))
    s[C].set_store_predicate(inner.var < 1)
    with (
        te_sched.config.scoped(verify_passes=False),
        pytest.raises(BuildError, match=r"variable k\.inner, which has no value"),
    ):
        te_sched.build(s, [A, C], "cuda")


def test_stage_of_several_outputs_is_judged() -> None:
    A = te.placeholder((8,), name="A")
    C, _ = te.compute((8,), lambda i: (A[i] + 1.0, A[i] * 2.0), name="CD")
    s = te.create_schedule(C.op)
    s[C].set_store_predicate(C.op.axis[0].var < 4)
    with pytest.raises(BuildError, match=r"leaves out CD\[4\]"):
        te_sched.build(s, [A, C])


@pytest.mark.parametrize(("stride", "is_refused"), [(2, False), (1, True)])
def test_what_nobody_reads_may_be_left_out(stride: int, is_refused: bool) -> None:
    A = te.placeholder((8,), name="A")
    C = te.compute((8,), lambda i: A[i] + 1.0, name="C")
    D = te.compute((4,), lambda i: C[i * stride], name="D")
    s = te.create_schedule(D.op)
    s[C].set_store_predicate(te.floormod(C.op.axis[0].var, 2).equal(0))
    if is_refused:
        with pytest.raises(BuildError, match=r"leaves out C\[1\]"):
            te_sched.build(s, [A, D])
        return
    a, d = np.arange(8, dtype="float32"), np.zeros(4, "float32")
    te_sched.build(s, [A, D])(a, d)
    np.testing.assert_array_equal(d, a[::2] + 1)


@pytest.mark.parametrize(
    ("predicate", "is_refused"),
    [
        (lambda k, n: k < 2, True),
        (lambda k, n: k < 1000, True),
        (lambda k, n: k < n, False),
        (lambda k, n: k + n > 0, False),
    ],
)
def test_predicates_must_hold_for_sizes_beyond_their_numbers(
    predicate: Callable[[Any, Any], Any], is_refused: bool
) -> None:
    n = te.size_var("n")
    A, k = te.placeholder((n, n), name="A"), te.reduce_axis((0, n), "k")
    C = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="C")
    s = te.create_schedule(C.op)
    s[C].set_store_predicate(predicate(k.var, n))
    if is_refused:
        with pytest.raises(BuildError, match="leaves out some"):
            te_sched.build(s, [A, C])
    else:
        te_sched.build(s, [A, C])


@pytest.mark.parametrize(("scope", "is_refused"), [("shared", False), ("local", True)])
def test_one_thread_may_store_what_all_have_in_common(scope: str, is_refused: bool) -> None:
    A = te.placeholder((4, 8), name="A")
    C = te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="C")
    s = te.create_schedule(C.op)
    B = s.cache_read(A, scope, [C])
    thread = te.thread_axis("threadIdx.x")
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    s[C].bind(C.op.axis[1], thread)
    s[B].compute_at(s[C], C.op.axis[0 if scope == "shared" else 1])
    s[B].set_store_predicate(thread.var.equal(0))
    if is_refused:
        with pytest.raises(BuildError, match=r"leaves out A\.local"):
            te_sched.build(s, [A, C], "cuda")
    else:
        te_sched.build(s, [A, C], "cuda")


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


@pytest.mark.parametrize("stored", ["by some threads", "by all threads"])
def test_registers_of_what_threads_reduce_are_of_each_thread(stored: str) -> None:
    A = te.placeholder((2, 2), name="A", dtype="int32")
    k, m = te.reduce_axis((0, 2), "k"), te.reduce_axis((0, 2), "m")
    B = te.compute((2,), lambda i: te.max(A[i, k], axis=k), name="B")
    S = te.compute((2,), lambda i: te.sum(A[i, m] - B[i], axis=m), name="S")
    C = te.compute((2, 2), lambda i, j: S[i] - B[i], name="C")
    s = te.create_schedule(C.op)
    s[C].bind(C.op.axis[0], te.thread_axis("threadIdx.y"))
    x = s[S].op.reduce_axis[0]
    s[S].bind(x, te.thread_axis("threadIdx.x"))
    s[S].compute_at(s[C], C.op.axis[0])
    s[S].set_scope("shared")
    s[B].bind(k, te.thread_axis("threadIdx.x"))
    s[B].compute_at(s[C], C.op.axis[0])
    if stored == "by some threads":
        s[B].set_store_predicate(k.var < 1)
        with pytest.raises(BuildError, match=r"leaves out B\[:\]"):
            te_sched.build(s, [A, C], target="cuda")
        return
    s[B].set_store_predicate(k.var < 2)
    device = te_sched.emulated_cuda(0)
    a = np.array([[1, 2], [3, 5]], "int32")
    arrays = [te_sched.nd.array(one, device) for one in (a, np.zeros((2, 2), "int32"))]
    te_sched.build(s, [A, C], target="cuda")(*arrays)
    most = a.max(1)
    np.testing.assert_array_equal(arrays[1].numpy()[:, 0], (a - most[:, None]).sum(1) - most)


@pytest.mark.parametrize(
    "predicate", [lambda outer: outer < 4, lambda outer: te.floordiv(outer, 4) < 4]
)
def test_predicate_that_drops_what_large_sizes_alone_have_is_refused(predicate: Any) -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
    s = te.create_schedule(B.op)
    outer, _ = s[B].split(B.op.axis[0], factor=5)
    s[B].set_store_predicate(predicate(outer.var))
    with pytest.raises(BuildError, match=r"leaves out B\[.*\] \(n = "):
        te_sched.build(s, [A, B])


def test_predicate_that_sizes_keep_is_right() -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
    s = te.create_schedule(B.op)
    _, inner = s[B].split(B.op.axis[0], factor=5)
    s[B].set_store_predicate(inner.var < 5)
    a, b = np.random.default_rng(0).random(33, "float32"), np.zeros(33, "float32")
    te_sched.build(s, [A, B])(a, b)
    np.testing.assert_array_equal(b, a * 2)
