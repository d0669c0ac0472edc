"""TVM before a pass, our pass, TVM after it: storage, prefetches, threads, conditions, no-ops.

Over the corpus, and over programs with what the corpus has little of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

tvm = pytest.importorskip("tvm")

from te_sched.ir.stmt import PrimFunc  # noqa: E402
from te_sched.ir.structural import structural_difference  # noqa: E402
from te_sched.lowering.flatten_storage import flatten_storage  # noqa: E402
from te_sched.lowering.hoist_conditions import hoist_conditions  # noqa: E402
from te_sched.lowering.inject_double_buffer import inject_double_buffer  # noqa: E402
from te_sched.lowering.inject_prefetch import inject_prefetch  # noqa: E402
from te_sched.lowering.inject_virtual_threads import inject_virtual_threads  # noqa: E402
from te_sched.lowering.narrow_index_types import narrow_index_types  # noqa: E402
from te_sched.lowering.remove_no_op import remove_no_op  # noqa: E402
from te_sched.lowering.simplify import simplify  # noqa: E402
from tests.golden.corpus import Program  # noqa: E402
from tests.peer.bridge import Bridge, Recording, corpus_passes, passes_of, tvm_passes_of  # noqa: E402
from tests.sampling import programs_for_peers  # noqa: E402

te = tvm.te

# TVM's first and last pass that one of ours stands for.
OURS: dict[str, tuple[str, str, Callable[[PrimFunc], PrimFunc]]] = {
    "flatten_storage": ("TextureFlatten", "StorageFlatten", flatten_storage),
    "narrow_index_types": ("NarrowDataType", "NarrowDataType", narrow_index_types),
    "inject_virtual_threads": (
        "InjectVirtualThread",
        "InjectVirtualThread",
        inject_virtual_threads,
    ),
    "inject_double_buffer": ("InjectDoubleBuffer", "InjectDoubleBuffer", inject_double_buffer),
    "hoist_conditions": (
        "InsertHoistIfThenElse",
        "HoistIfThenElse",
        lambda func: remove_no_op(simplify(hoist_conditions(func))),
    ),
    "remove_no_op": ("RemoveNoOp", "RemoveNoOp", remove_no_op),
}
# All of TVM's passes before VectorizeLoop that do something to a program.
EARLY = {"InjectPrefetch", "TextureFlatten", "StorageFlatten", "Simplify", "NarrowDataType"}


def differences(recorded: Recording) -> Iterator[tuple[str, str]]:
    """Passes that give something else than TVM's, and where."""
    bridge = Bridge()
    at = {name[4:]: (before, after) for name, before, after in reversed(recorded)}
    for name, (first, last, run) in OURS.items():
        found = structural_difference(
            run(bridge.convert(at[first][0]["main"])), bridge.convert(at[last][1]["main"])
        )
        if found is not None:
            yield name, found
    for name, before, after in recorded:
        if name == "tir.VectorizeLoop":
            break
        if name[4:] not in EARLY and not tvm.ir.structural_equal(before, after):
            yield name, "changes the program"


@pytest.mark.parametrize("program", programs_for_peers(), ids=lambda program: program.name)
def test_passes_are_tvms_on_the_corpus(program: Program) -> None:
    if program.name == "17_prefetch":
        pytest.skip("its prefetches are laid out by another pass: test_prefetch below")
    for recorded in corpus_passes(program):
        assert list(differences(recorded)) == []


def assert_is_tvms(schedule: Any, args: list[Any]) -> None:
    assert list(differences(tvm_passes_of(schedule, args))) == []


def staged(shape: tuple[Any, ...], dtype: str = "float32") -> Any:
    """A -> B -> C, elementwise: the schedule, its arguments, B and C."""
    A = te.placeholder(shape, name="A", dtype=dtype)
    B = te.compute(shape, lambda *axes: A(*axes) + A(*axes), name="B")
    C = te.compute(shape, lambda *axes: B(*axes) * B(*axes), name="C")
    return te.create_schedule(C.op), [A, C], B, C


@pytest.mark.parametrize("dims", [(0,), (1,), (2,), (0, 1)])
@pytest.mark.parametrize("attached", [False, True])
def test_storage_align_is_tvms(dims: tuple[int, ...], attached: bool) -> None:
    s, args, B, C = staged((6, 7, 9))
    for dim in dims:
        s[B].storage_align(B.op.axis[dim], 16, 3)
    if attached:
        s[B].compute_at(s[C], C.op.axis[0])
    assert_is_tvms(s, args)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64"])
@pytest.mark.parametrize("extent", [1, 3, 8, 40])
def test_alignment_of_temporaries_is_tvms(dtype: str, extent: int) -> None:
    s, args, B, C = staged((20, extent), dtype)
    s[B].compute_at(s[C], C.op.axis[0])
    assert_is_tvms(s, args)


def test_symbolic_shapes_are_tvms() -> None:
    s, args, B, C = staged((te.var("n"), te.var("m")))
    s[B].compute_at(s[C], s[C].split(C.op.axis[0], 7)[0])
    assert_is_tvms(s, args)


def test_truth_values_are_tvms() -> None:
    A = te.placeholder((8, 6), name="A", dtype="bool")
    B = te.compute((8, 6), lambda i, j: tvm.tir.Not(A[i, j]), name="B")
    C = te.compute((8, 6), lambda i, j: te.if_then_else(B[i, j], 1.0, 0.0), name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    assert_is_tvms(s, [A, C])


@pytest.mark.parametrize("tag", ["vthread", "cthread", "vthread.x"])
@pytest.mark.parametrize("count", [2, 16, 64])
@pytest.mark.parametrize("level", [0, 1])
def test_virtual_threads_are_tvms(tag: str, count: int, level: int) -> None:
    s, args, B, C = staged((64, 32))
    axes = s[C].split(C.op.axis[0], nparts=count)
    s[C].bind(axes[0], te.thread_axis(tag))
    s[B].compute_at(s[C], axes[level])
    assert_is_tvms(s, args)


@pytest.mark.parametrize("factor", [4, 7, 60])
def test_double_buffers_are_tvms(factor: int) -> None:
    s, args, B, C = staged((64, 32))
    s[B].set_scope("local")
    s[B].compute_at(s[C], s[C].split(C.op.axis[0], factor)[0])
    s[B].double_buffer()
    assert_is_tvms(s, args)


@pytest.mark.parametrize("scope", ["shared", "local"])
@pytest.mark.parametrize("double", [False, True])
def test_shared_tiles_are_tvms(scope: str, double: bool) -> None:
    k = te.reduce_axis((0, 32), name="k")
    A, W = te.placeholder((64, 32), name="A"), te.placeholder((32, 64), name="W")
    C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * W[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    tile, local = s.cache_read(A, scope, [C]), s.cache_write(C, "local")
    block, inner = s[C].split(C.op.axis[0], nparts=4)
    virtual, inner = s[C].split(inner, nparts=2)
    thread, _ = s[C].split(C.op.axis[1], 4)
    s[C].reorder(block, virtual, thread, inner)
    for axis, tag in ((block, "blockIdx.x"), (virtual, "vthread"), (thread, "threadIdx.x")):
        s[C].bind(axis, te.thread_axis(tag))
    s[local].compute_at(s[C], thread)
    outer, step = s[local].split(s[local].op.reduce_axis[0], 8)
    s[local].reorder(outer, step, *s[local].op.axis)
    s[tile].compute_at(s[local], outer)
    if double:
        s[tile].double_buffer()
    assert_is_tvms(s, [A, W, C])


@pytest.mark.parametrize("factor", [7, 30])
def test_wide_indices_are_tvms(factor: int) -> None:
    s, args, B, C = staged((tvm.tir.IntImm("int64", 64), tvm.tir.IntImm("int64", 30)))
    outer, inner = s[C].split(s[C].fuse(*C.op.axis), factor)
    s[C].bind(inner, te.thread_axis("threadIdx.x"))
    s[B].compute_at(s[C], outer)
    assert_is_tvms(s, args)


@pytest.mark.parametrize("shape", [(40,), (16, 3), (3, 3, 3), (2, 16, 2), (64, 64), (2, 2, 2, 2)])
def test_prefetch_is_tvms(shape: tuple[int, ...]) -> None:
    """TVM 0.19 moves a region of one element twice as far: half the way here."""
    funcs = []
    for distance in (1, 2):
        A = te.placeholder(shape, name="A")
        B = te.compute(shape, lambda *axes: A(*axes) * 2, name="B")  # noqa: B023
        s = te.create_schedule(B.op)
        s[B].prefetch(A, B.op.axis[0], distance)
        funcs.append({name: pair for name, *pair in reversed(passes_of(tvm_passes_of(s, [A, B])))})
    ours = flatten_storage(inject_prefetch(funcs[1]["tir.InjectPrefetch"][0]))
    theirs = funcs[0]["tir.StorageFlatten"][1]
    assert structural_difference(ours, theirs) is None
