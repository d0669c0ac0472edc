"""Kernels that cannot compute what their schedule says are refused, others are not."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.analysis.kernels.kernel_races import check_kernel_races
from te_sched.errors import BuildError
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.stmt import AttrStmt, BufferStore, For, LetStmt, PrimFunc
from tests.lowering.build import temporary

TX, TY, BX = (te.thread_axis(tag) for tag in ("threadIdx.x", "threadIdx.y", "blockIdx.x"))


def test_adding_to_shared_memory_in_every_thread_is_refused() -> None:
    A = te.placeholder((128,), name="A")
    B = te.compute((128,), lambda i: te.exp(A[i]), name="B")
    C = te.compute((128,), lambda i: B[i] + 0.5, name="C")
    D = te.compute((128,), lambda i: C[i] * 2.0, name="D")
    s = te.create_schedule(D.op)
    outer, inner = s[D].split(D.op.axis[0], factor=64)
    s[D].bind(outer, BX)
    s[D].bind(inner, TX)
    s[B].compute_at(s[D], outer)
    _, within = s[B].split(B.op.axis[0], factor=64)
    s[B].bind(within, TX)
    s[C].set_scope("shared")
    s[C].compute_at(s[D], inner)
    with pytest.raises(BuildError, match=r"update one element of .* at once"):
        te_sched.build(s, [A, D], target="cuda")
    assert te_sched.build(s, [A, D], target="cuda", verify=False)


def test_different_values_in_one_element_are_refused() -> None:
    ib = te_sched.tir.ir_builder.create()
    A = te_sched.tir.decl_buffer((16,), name="A")
    out = ib.buffer_ptr(A)
    tx = te.thread_axis("threadIdx.x")
    ib.scope_attr(tx, "thread_extent", 16)
    shared = ib.allocate("float32", 1, name="S", scope="shared")
    shared[0] = out[tx]
    out[tx] = shared[0]
    func = te_sched.tir.PrimFunc([A.data], ib.get(), {A.data: A}, {"global_symbol": "main"})
    with pytest.raises(BuildError, match="store different values into one element of S"):
        te_sched.build(func, target="cuda")


def rows(reduce_in_kernel: bool) -> tuple[te_sched.Schedule, list[te_sched.te.Tensor]]:
    """Sums of rows whose parts are summed by threads that the result knows nothing of."""
    A = te.placeholder((16, 4, 8), name="A")
    k, m = te.reduce_axis((0, 8), "k"), te.reduce_axis((0, 4), "m")
    B = te.compute((16, 4), lambda i, j: te.sum(A[i, j, k], axis=k), name="B")
    C = te.compute((16,), lambda i: te.sum(B[i, m], axis=m), name="C")
    s = te.create_schedule(C.op)
    s[C].bind(C.op.axis[0], TX)
    if reduce_in_kernel:
        s[B].bind(B.op.reduce_axis[0], TY)
    s[B].compute_at(s[C], C.op.reduce_axis[0])
    return s, [A, C]


def test_adding_to_global_memory_in_every_thread_is_refused() -> None:
    with pytest.raises(BuildError, match=r"update one element of C at once(.|\n)*threadIdx.y = 8"):
        te_sched.build(*rows(True), target="cuda")
    assert te_sched.build(*rows(True), target="cuda", verify=False)
    assert te_sched.build(*rows(False), target="cuda")


def test_two_axes_of_a_stage_on_the_same_threads_are_refused() -> None:
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    for axis in B.op.axis:
        s[B].bind(axis, te.thread_axis("threadIdx.x"))
    with pytest.raises(
        BuildError,
        match=r"both bound to(.|\n)*stage B \(declared at(.|\n)*axis j \(bind at",
    ):
        te_sched.build(s, [A, B], target="cuda")


def test_reducing_along_the_threads_that_a_stage_is_computed_by_is_refused() -> None:
    A = te.placeholder((8, 16), name="A")
    k = te.reduce_axis((0, 8), "k")
    B = te.compute((16,), lambda i: te.sum(A[k, i], axis=k), name="B")
    C = te.compute((16,), lambda i: B[i] * 2.0, name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=8)
    s[C].bind(outer, BX)
    s[C].bind(inner, te.thread_axis("threadIdx.x"))
    s[B].compute_at(s[C], inner)
    s[B].bind(B.op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    with pytest.raises(BuildError, match=r"inside a loop that is bound to threadIdx.x too"):
        te_sched.build(s, [A, C], target="cuda")


def test_threads_for_a_part_that_other_threads_name_are_refused() -> None:
    """What a thread needs is computed before the threads that need it are launched."""
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((4,), lambda i: B[i] * 2.0, name="C")
    s = te.create_schedule(C.op)
    shared = s.cache_read(B, "shared", [C])
    s[C].bind(C.op.axis[0], TX)
    s[shared].compute_at(s[C], C.op.axis[0])
    outer, inner = s[shared].split(shared.op.axis[0], factor=4)
    s[shared].bind(inner, te.thread_axis("threadIdx.x"))
    s[B].compute_at(s[shared], outer)
    _, inner = s[B].split(B.op.axis[0], factor=4)
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    with pytest.raises(BuildError, match=r"would be computed only where they are equal"):
        te_sched.build(s, [A, C], target="cuda")
    found = [one for one in te_sched.analysis.check(s, [A, C]) if one.buffer == "B"]
    assert [one.verdict for one in found] == ["refuted"]


def test_every_thread_gets_a_result_that_is_kept_in_registers() -> None:
    A = te.placeholder((16, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    B = te.compute((16,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((16,), lambda i: B[i] * 2.0, name="C")
    s = te.create_schedule(C.op)
    s[C].bind(C.op.axis[0], TX)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].bind(B.op.reduce_axis[0], TY)
    device = te_sched.emulated_cuda(0)
    values = np.random.default_rng(0).integers(0, 9, (16, 8)).astype("float32")
    a, c = te_sched.nd.array(values, device), te_sched.nd.empty((16,), "float32", device)
    te_sched.build(s, [A, C], target="cuda")(a, c)
    np.testing.assert_array_equal(c.numpy(), values.sum(1) * 2)


def test_a_let_of_a_loop_over_threads_tells_threads_apart() -> None:
    tx, k, place = TX.var, Var("k"), Var("place")
    S = temporary("S", 17, scope="shared")
    one = LetStmt(place, k, BufferStore(S, tx.astype("float32"), (place,)))
    body = AttrStmt(TX, "thread_extent", IntImm(16), For(k, tx, IntImm(1), "serial", one))
    check_kernel_races(PrimFunc((), body, {}))
