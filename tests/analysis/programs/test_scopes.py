"""Where stages are attached, what memory they have, and what must be bound: what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import te_sched
from te_sched import te
from te_sched.analysis import check
from te_sched.errors import TeSchedError

N = 64


def chain() -> Any:
    """C = B * 2, B = A + 1"""
    A = te.placeholder((N,), name="A")
    B = te.compute((N,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((N,), lambda i: B[i] * 2.0, name="C")
    return te.create_schedule(C.op), A, B, C


def bind(s: Any, tensor: Any, factor: int = 16) -> tuple[Any, Any]:
    """A stage over blocks and threads."""
    outer, inner = s[tensor].split(tensor.op.axis[0], factor)
    s[tensor].bind(outer, te.thread_axis("blockIdx.x"))
    s[tensor].bind(inner, te.thread_axis("threadIdx.x"))
    return outer, inner


def between_kernels(scope: str) -> Callable[[], Any]:
    def program() -> Any:
        s, A, B, C = chain()
        bind(s, B)
        bind(s, C)
        s[B].set_scope(scope)
        return s, [A, C]

    return program


def unbound() -> Any:
    s, A, _, C = chain()
    bind(s, C)
    return s, [A, C]


def registers_that_others_read() -> Any:
    A = te.placeholder((N,), name="A")
    B = te.compute((N,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((N,), lambda i: B[(i + 1) % N] * 2.0, name="C")
    s = te.create_schedule(C.op)
    s[C].bind(C.op.axis[0], te.thread_axis("threadIdx.x"))
    _, inner = s[B].split(B.op.axis[0], N)
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    s[B].set_scope("local")
    return s, [A, C]


def registers_outside_of_their_virtual_thread() -> Any:
    s, A, B, C = chain()
    outer, inner = s[C].split(C.op.axis[0], 4)
    s[C].bind(inner, te.thread_axis("vthread"))
    s[B].set_scope("local")
    s[B].compute_at(s[C], outer)
    return s, [A, C]


def as_many_registers_as_their_virtual_thread_says() -> Any:
    n = te.var("n")
    A = te.placeholder((n, 1), name="A")
    B = te.compute((n, 1), lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((n, 1), lambda i, j: A[i, j] + B[i, j], name="C")
    s = te.create_schedule(C.op)
    s.cache_read(A, "local", [B, C])
    _, inner = s[B].split(B.op.axis[0], 4)
    s[B].bind(inner, te.thread_axis("vthread"))
    return s, [A, C]


def shared_memory_of_threads_further_inside() -> Any:
    A = te.placeholder((8, N), name="A")
    C = te.compute((8, N), lambda i, j: A[i, j] * 2.0, name="C")
    s = te.create_schedule(C.op)
    sums = s.cache_write(C, "local")
    i, j = C.op.axis
    s[C].reorder(j, i)
    s[C].bind(i, te.thread_axis("threadIdx.y"))
    s[sums].compute_at(s[C], j)
    rows = s.cache_read(A, "shared", [sums])
    s[rows].compute_at(s[sums], sums.op.axis[0])
    return s, [A, C]


def memory_of_a_block_of_threads_further_inside() -> Any:
    A = te.placeholder((2, 8, N), name="A")
    B = te.compute((2, 8, N), lambda k, i, j: A[k, i, j] * 2.0, name="B")
    C = te.compute((2, 8, N), lambda k, i, j: B[k, i, j] + 1.0, name="C")
    D = te.compute((2, 8, N), lambda k, i, j: C[k, i, j] * 3.0, name="D")
    s = te.create_schedule(D.op)
    k, i, j = D.op.axis
    s[D].reorder(k, j, i)
    s[D].bind(k, te.thread_axis("blockIdx.x"))
    s[D].bind(i, te.thread_axis("threadIdx.y"))
    s[C].set_scope("local")
    s[C].compute_at(s[D], j)
    s[B].compute_at(s[D], k)
    return s, [A, D]


def filled_after_it_is_read() -> Any:
    A, k = te.placeholder((N, N), name="A"), te.reduce_axis((0, N), "k")
    B = te.compute((N, N), lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((N,), lambda i: te.sum(B[i, k], axis=k), name="C")
    s = te.create_schedule(C.op)
    rows = s.cache_read(A, "shared", [B])
    outer, inner = s[C].split(k, factor=2 * N)
    s[C].bind(inner, te.thread_axis("threadIdx.y"))
    s[B].compute_at(s[C], inner)
    s[rows].compute_at(s[C], outer)
    return s, [A, C]


def attached_beside_a_reader() -> Any:
    A = te.placeholder((N,), name="A")
    B = te.compute((N,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((N,), lambda i: B[i] * 2.0, name="C")
    D = te.compute((N,), lambda i: B[i] + C[i], name="D")
    s = te.create_schedule(D.op)
    s[B].compute_at(s[C], C.op.axis[0])
    return s, [A, D]


def attached_below_a_loop_that_reads_it_outside() -> Any:
    s, args = attached_beside_a_reader()
    B, C, D = (stage.op.output(0) for stage in s.stages[1:])
    s[C].compute_at(s[D], D.op.axis[0])
    s[B].compute_at(s[C], C.op.axis[0])
    return s, args


def attached_at_a_fused_axis() -> Any:
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8, 8), lambda i, j: B[i, j] * 2.0, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[C].fuse(*C.op.axis)
    return s, [A, C]


REFUSED = [
    (between_kernels("shared"), "cuda", r'B in scope "shared" is allocated outside of the kernels'),
    (between_kernels("local"), "cuda", r'B in scope "local" is allocated outside of the kernels'),
    (between_kernels("warp"), "cuda", r'B in scope "warp" is allocated outside of the kernels'),
    (unbound, "cuda", r"B is computed outside of the kernels"),
    (registers_that_others_read, "cuda", r'stage B in scope "local"'),
    (registers_outside_of_their_virtual_thread, "llvm", r"B depends on vthread but"),
    (as_many_registers_as_their_virtual_thread_says, "llvm", r"A.local depends on .* but"),
    (
        shared_memory_of_threads_further_inside,
        "cuda",
        r"depends on threadIdx\.y, which is bound inside",
    ),
    (
        memory_of_a_block_of_threads_further_inside,
        "cuda",
        r'stage B in scope "shared" depends on thr',
    ),
    (filled_after_it_is_read, "cuda", r"it reads A\.shared, which is computed further inside"),
    (attached_beside_a_reader, "llvm", r"stage D reads it outside of that loop"),
    (attached_below_a_loop_that_reads_it_outside, "llvm", r"reads it outside of that loop"),
    (attached_at_a_fused_axis, "llvm", r"is attached at axis i of stage C, which is not a loop"),
]


@pytest.mark.parametrize(("program", "target", "message"), REFUSED)
def test_build_rejects(program: Callable[[], Any], target: str, message: str) -> None:
    s, args = program()
    with pytest.raises(TeSchedError) as caught:
        te_sched.build(s, args, target=target)
    text = str(caught.value)
    assert re.search(message, text), text


def test_shared_memory_of_a_block_is_no_finding() -> None:
    s, A, B, C = chain()
    outer, _ = bind(s, C)
    s[B].compute_at(s[C], outer)
    s[B].set_scope("shared")
    _, inner = s[B].split(B.op.axis[0], 16)
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    findings = check(s, [A, C])
    assert {one.verdict for one in findings} == {"proved"}, str(findings)
