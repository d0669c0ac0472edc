"""A user's program of tensor expressions under `mypy --strict` and pyright: asserts all types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np

import te_sched
from te_sched import te, tir, topi
from te_sched.ir.expr import Expr, IterVar, Var
from te_sched.runtime import Device, Module, NDArray
from te_sched.schedule import Schedule, Stage
from te_sched.story.story import Story
from te_sched.te import Tensor

N = 64


def declare() -> tuple[Tensor, Tensor, Tensor, IterVar]:
    """A product of matrices, with its inputs and its reduction axis."""
    A = te.placeholder((N, N), name="A")
    B = te.placeholder((N, N), "float32", name="B")
    k = te.reduce_axis((0, N), name="k")
    C = te.compute((N, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return A, B, C, k


def schedule(C: Tensor, k: IterVar) -> Schedule:
    """Tiles, vectors and threads."""
    s = te.create_schedule(C.op)
    i, j = s[C].op.axis
    io, jo, ii, ji = s[C].tile(i, j, 8, 16)
    ko, ki = s[C].split(k, factor=4)
    s[C].reorder(io, jo, ko, ii, ki, ji)
    s[C].vectorize(ji)
    s[C].unroll(ki)
    s[C].parallel(io)
    assert_type(s, Schedule)
    assert_type(s[C], Stage)
    assert_type(io, IterVar)
    assert_type(s[C].split(ko, nparts=2), tuple[IterVar, IterVar])
    return s


def types_of_declarations() -> None:
    """The types of results of te and tir."""
    n: Var = te.var("n")
    A = te.placeholder((n, 4), name="A")
    assert_type(A, Tensor)
    B = te.compute((n, 4), lambda i, j: te.if_then_else(i > 0, A[i, j] + 1, te.exp(A[i, j])))
    assert_type(B, Tensor)
    assert_type(A[0, 0] * 2 + 1, Expr)
    assert_type(te.max_value("float32"), Expr)
    assert_type(te.all(n > 1, n < 9), Expr)
    first, second = te.compute((4,), lambda i: (A[0, i], A[1, i]), name="pair")
    assert first.shape == second.shape
    assert_type(te.thread_axis("threadIdx.x"), IterVar)
    pairs = te.comm_reducer(lambda x, y: x + y, lambda dtype: tir.const(0, dtype), name="add")
    k = te.reduce_axis((0, 4), name="k")
    D = te.compute((n,), lambda i: pairs(A[i, k], axis=k))
    s = te.create_schedule([B.op, D.op])
    assert_type(s.cache_read(A, "local", [D]), Tensor)
    assert_type(topi.nn.relu(A), Tensor)
    assert_type(A + A, Tensor)


def types_of_primitives() -> None:
    """The types of results of all primitives, and of arguments that are not plain."""
    A, _, C, k = declare()
    s = te.create_schedule(C)
    n: Var = te.var("n")
    assert_type(s[C.op], Stage)
    i, j = s[C].op.axis
    outer, inner = s[C].split(i, factor=n + 1)
    assert_type(s[C].split(outer, nparts=np.int64(2)), tuple[IterVar, IterVar])
    assert_type(s[C].tile(inner, j, 4, n), tuple[IterVar, IterVar, IterVar, IterVar])
    assert_type(s[C].fuse(*s[C].leaf_iter_vars[:2]), IterVar)
    assert_type(te.create_schedule(C)[C].tile(*C.op.axis, 8, 8)[0], IterVar)
    s = te.create_schedule([C])
    local = s.cache_write(C, "local")
    assert_type(local, Tensor)
    assert_type(s.cache_write([C], "local"), list[Tensor])
    assert_type(s.cache_read(A, "shared", local), Tensor)
    assert_type(s.create_group(outputs=[C], inputs=A.op), Stage)
    s = te.create_schedule(C)
    partial: Tensor = s.rfactor(C, k, factor_axis=-1)
    s[partial].pragma(partial.op.axis[0], "auto_unroll_max_step", 16)
    s[partial].storage_align(partial.op.axis[0], np.int32(8), 1)
    s[partial].prefetch(A, partial.op.axis[0], 1)
    thread = te.thread_axis("threadIdx.x")
    s[C].set_store_predicate(thread.var.equal(0))
    assert_type(s[C].transform_layout(lambda i, j: [j, te.AXIS_SEPARATOR, i]), list[IterVar])
    assert_type(s.normalize(), Schedule)
    assert_type(s.records(), list[dict[str, Any]])
    assert_type(bool(s.diff(s)), bool)
    assert_type(str(s.diff(s)), str)


def wrong_types() -> list[Callable[[], object]]:
    """Calls that a type checker and te_sched refuse (an unused `ignore` is an error)."""
    A, _, C, k = declare()
    s = te.create_schedule(C)
    i, j = s[C].op.axis
    return [
        lambda: te.create_schedule("C"),  # type: ignore[arg-type]
        lambda: s["C"],  # type: ignore[index]
        lambda: s[C].split(i, factor="four"),  # type: ignore[arg-type]
        lambda: s[C].split(i, factor=4.0),  # type: ignore[arg-type]
        lambda: s[C].split(i, nparts=[4]),  # type: ignore[arg-type]
        lambda: s[C].split("i", factor=4),  # type: ignore[arg-type]
        lambda: s[C].fuse([i, j]),  # type: ignore[arg-type]
        lambda: s[C].reorder((j, i)),  # type: ignore[arg-type]
        lambda: s[C].tile(i, j, "8", 8),  # type: ignore[call-overload]
        lambda: s[C].tile(i, j, 8, 8.0),  # type: ignore[call-overload]
        lambda: s[C].unroll(0),  # type: ignore[arg-type]
        lambda: s[C].vectorize("j"),  # type: ignore[arg-type]
        lambda: s[C].parallel(C),  # type: ignore[arg-type]
        lambda: s[C].bind(i, "threadIdx.x"),  # type: ignore[arg-type]
        lambda: s[C].pragma(i, 3),  # type: ignore[arg-type]
        lambda: s[C].pragma(i, "unroll_explicit", object()),  # type: ignore[arg-type]
        lambda: s[C].prefetch("A", i, 1),  # type: ignore[arg-type]
        lambda: s[C].prefetch(A, i, 0.5),  # type: ignore[arg-type]
        lambda: s[C].tensorize(j, "gemv"),  # type: ignore[arg-type]
        lambda: s[C].env_threads("threadIdx.x"),  # type: ignore[arg-type]
        lambda: s[C].compute_at(C, i),  # type: ignore[arg-type]
        lambda: s[C].set_scope(3),  # type: ignore[arg-type]
        lambda: s[C].storage_align(i, 8.0, 1),  # type: ignore[arg-type]
        lambda: s[C].storage_align(i, 8, "1"),  # type: ignore[arg-type]
        lambda: s[C].set_store_predicate("i == 0"),  # type: ignore[arg-type]
        lambda: s[C].transform_layout([0, 1]),  # type: ignore[arg-type]
        lambda: s.cache_read("A", "local", [C]),  # type: ignore[arg-type]
        lambda: s.cache_read(A, 3, [C]),  # type: ignore[arg-type]
        lambda: s.cache_read(A, "local", "C"),  # type: ignore[arg-type]
        lambda: s.cache_write("C", "local"),  # type: ignore[arg-type]
        lambda: s.rfactor("C", k),  # type: ignore[arg-type]
        lambda: s.rfactor(C, k, 0.5),  # type: ignore[arg-type]
        lambda: s.create_group("C", [A]),  # type: ignore[arg-type]
        lambda: s.create_group([C], "A"),  # type: ignore[arg-type]
        lambda: s.diff("s"),  # type: ignore[arg-type]
    ]


def run(s: Schedule, args: list[Tensor]) -> float:
    """Lower, build, call and time."""
    lowered = te_sched.lower(s, args, simple_mode=True)
    assert_type(lowered, te_sched.IRModule)
    text: str = lowered.astext()
    with te_sched.config(check_accesses=False):
        assert te_sched.lower(s, args).astext()
    story = te_sched.explain(s, args, measure=False)
    assert_type(story, Story)
    module = te_sched.build(s, args, target="llvm", name="product")
    a, b = (np.random.rand(N, N).astype("float32") for _ in range(2))
    c = np.empty((N, N), "float32")
    module(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4)
    device = te_sched.cpu(0)
    assert_type(device, Device)
    array = te_sched.nd.array(a, device)
    assert_type(array, NDArray)
    values: np.ndarray[Any, Any] = array.numpy()
    assert values.shape == array.shape
    result = module.time_evaluator("product", device, number=1)(a, b, c)
    assert_type(result.mean, float)
    assert text
    assert isinstance(module, Module)
    return result.mean


def kernels(C: Tensor, args: list[Tensor]) -> str:
    """The same for a GPU."""
    s = te.create_schedule(C.op)
    block, thread = s[C].split(C.op.axis[0], factor=16)
    s[C].bind(block, te.thread_axis("blockIdx.x"))
    s[C].bind(thread, te.thread_axis("threadIdx.x"))
    module = te_sched.build(s, args, target="cuda")
    source: str = module.imported_modules[0].get_source()
    return source


def refuse(s: Schedule, C: Tensor) -> str:
    """An error has four parts."""
    try:
        s[C].split(C.op.axis[0], factor=0)
    except te_sched.ScheduleError as error:
        return f"{error.fault} {error.why} {error.help} {error.where}"
    return ""


if __name__ == "__main__":
    A, B, C, k = declare()
    types_of_declarations()
    types_of_primitives()
    for call in wrong_types():
        try:
            call()
        except te_sched.TeSchedError:
            continue
        raise AssertionError("a wrong type was taken")
    assert "got 0" in refuse(te.create_schedule(C.op), C)
    assert "__global__" in kernels(C, [A, B, C])
    print(f"{run(schedule(C, k), [A, B, C]) * 1e3:.3f} ms")
