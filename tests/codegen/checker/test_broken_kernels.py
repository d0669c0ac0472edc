"""Good kernels, and what is found when they are broken."""

import numpy as np
import pytest

from te_sched.codegen.checker import ViolationKind, check_program
from tests.codegen.checker import kernels as k

WW, RW = ViolationKind.WRITE_WRITE_RACE, ViolationKind.READ_WRITE_RACE
OUT, UNWRITTEN = ViolationKind.OUT_OF_BOUNDS, ViolationKind.UNINITIALIZED_READ
DIVERGENCE, SHUFFLE = ViolationKind.BARRIER_DIVERGENCE, ViolationKind.SHUFFLE


@pytest.mark.parametrize("good", k.GOOD, ids=lambda one: one.__name__)
def test_good_kernels_have_no_findings(good):
    module, arguments, expected = good()
    report = check_program(module, arguments)
    assert report.ok, str(report)
    np.testing.assert_array_equal(arguments[-1], expected)


@pytest.mark.parametrize("good", k.GOOD, ids=lambda one: one.__name__)
def test_batches_do_not_matter(good):
    module, arguments, expected = good()
    assert check_program(module, arguments, max_lanes=1).ok
    np.testing.assert_array_equal(arguments[-1], expected)


# kernel, how it is broken, kind and buffer of what is found, and the two threads (x) where they
# are certain: (thread, other thread)
BROKEN = {
    "no barrier after writes": (k.reverse, k.without_barrier(0), RW, "s_shared", (0, 63)),
    "no barrier before next writes": (k.reverse, k.without_barrier(1), RW, "s_shared", (0, 63)),
    "barrier for half of the threads": (
        k.reverse,
        k.barrier_only_where(lambda v: v.tx < 32),
        DIVERGENCE,
        "",
        (0, 32),
    ),
    "barrier in some iterations of some threads": (
        k.reverse,
        k.barrier_only_where(lambda v: v.k < v.tx, 1),
        DIVERGENCE,
        "",
        (1, 0),
    ),
    "two threads write one element": (
        k.reverse,
        k.stored_at("s_shared", lambda v: v.tx // 2),
        WW,
        "s_shared",
        (0, 1),
    ),
    "write wraps around": (
        k.reverse,
        k.stored_at("s_shared", lambda v: (v.tx + 1) % 63),
        WW,
        "s_shared",
        None,
    ),
    "reversed one too far": (
        k.reverse,
        k.loaded_at("s_shared", lambda v: 64 - v.tx),
        OUT,
        "s_shared",
        (0,),
    ),
    "negative index": (
        k.reverse,
        k.loaded_at("s_shared", lambda v: 62 - v.tx),
        OUT,
        "s_shared",
        (63,),
    ),
    "too little shared memory": (k.reverse, k.with_room("s_shared", 60), OUT, "s_shared", (60,)),
    "block forgotten in an output's index": (
        k.reverse,
        k.stored_at("C", lambda v: v.k * 64 + v.tx),
        WW,
        "C",
        (0, 0),
    ),
    "input read one too far": (
        k.reverse,
        k.loaded_at("A", lambda v: v.bx * 256 + v.k * 64 + v.tx + 1),
        OUT,
        "A",
        (63,),
    ),
    "shared memory never written": (
        k.reverse,
        k.without_store("s_shared"),
        UNWRITTEN,
        "s_shared",
        (0,),
    ),
    "last element not written": (
        k.reverse,
        k.store_only_where("s_shared", lambda v: v.tx < 63),
        UNWRITTEN,
        "s_shared",
        (0,),
    ),
    "one iteration too many": (k.reverse, k.with_iterations("k", 5), OUT, "A", (0,)),
    "no barrier in a transposition": (k.transpose, k.without_barrier(), RW, "s_shared", None),
    "rows overlap": (
        k.transpose,
        k.stored_at("s_shared", lambda v: v.ty * 7 + v.tx),
        WW,
        "s_shared",
        None,
    ),
    "swapped indices with padding": (
        k.transpose,
        k.stored_at("s_shared", lambda v: v.tx * 9 + v.ty),
        OUT,
        "s_shared",
        None,
    ),
    "outputs overlap": (
        k.transpose,
        k.stored_at("C", lambda v: v.bx * 64 + v.tx * 8 + v.tx),
        WW,
        "C",
        None,
    ),
    "blocks overlap": (
        k.transpose,
        k.stored_at("C", lambda v: v.bx * 56 + v.ty * 8 + v.tx),
        WW,
        "C",
        None,
    ),
    "predicate off by one": (
        k.guarded,
        k.with_condition(lambda v: v.bx * 64 + v.tx < 101),
        OUT,
        "C",
        (36,),
    ),
    "predicate always true": (
        k.guarded,
        k.with_condition(lambda v: v.tx >= 0),
        OUT,
        "A",
        (36,),
    ),
    "halo not loaded": (
        k.stencil,
        k.without_store("s_shared", 2),
        UNWRITTEN,
        "s_shared",
        (63,),
    ),
    "halo by nobody": (
        k.stencil,
        k.with_condition(lambda v: v.tx < 0),
        UNWRITTEN,
        "s_shared",
        (0,),
    ),
    "halo by two threads over another's element": (
        k.stencil,
        k.stored_at("s_shared", lambda v: 2, 1),
        WW,
        "s_shared",
        (0, 1),
    ),
    "stencil without barrier": (k.stencil, k.without_barrier(), RW, "s_shared", None),
    "too small halo": (k.stencil, k.with_room("s_shared", 65), OUT, "s_shared", (63,)),
    "tree without barriers between steps": (
        k.tree,
        k.without_barrier(1),
        RW,
        "s_shared",
        None,
    ),
    "tree predicate off by one": (
        k.tree,
        k.with_condition(lambda v: v.tx <= k.E.IntImm(32) >> v.step),
        OUT,
        "s_shared",
        (32,),
    ),
    "tree barrier for the active alone": (
        k.tree,
        k.barrier_only_where(lambda v: v.tx < 32, 1),
        DIVERGENCE,
        "",
        (0, 32),
    ),
    "all blocks write one sum": (k.tree, k.stored_at("C", lambda v: 0), WW, "C", (0, 0)),
    "shuffle from a lane that is none": (
        k.shuffles,
        k.with_argument("tir.tvm_warp_shuffle", 2, lambda v: 32),
        SHUFFLE,
        "",
        (0,),
    ),
    "shuffle from lanes that do not take part": (
        k.shuffles,
        k.store_only_where("v_local", lambda v: v.tx < 16, 1),
        SHUFFLE,
        "",
        (0,),
    ),
    "register not initialized": (
        k.shuffles,
        k.without_store("v_local"),
        UNWRITTEN,
        "v_local",
        (0,),
    ),
    "wrong half of a double buffer": (
        k.double_buffer,
        k.stored_at("s_shared", lambda v: v.k % 2 * 64 + v.tx, 1),
        RW,
        "s_shared",
        None,
    ),
    "wrong half is read": (
        k.double_buffer,
        k.loaded_at("s_shared", lambda v: (v.k + 1) % 2 * 64 + (63 - v.tx)),
        RW,
        "s_shared",
        None,
    ),
    "double buffer without barrier": (
        k.double_buffer,
        k.without_barrier(),
        RW,
        "s_shared",
        None,
    ),
    "first half never loaded": (
        k.double_buffer,
        k.without_store("s_shared"),
        UNWRITTEN,
        "s_shared",
        None,
    ),
    "sum not initialized": (k.dots, k.without_store("C_local"), UNWRITTEN, "C_local", (0,)),
    "vector beyond the end": (
        k.dots,
        k.loaded_at(
            "A", lambda v: k.E.Ramp((v.bx * 32 + v.tx) * 8 + v.k * 2 + 1, k.E.IntImm(1), 2)
        ),
        OUT,
        "A",
        (31,),
    ),
    "register out of bounds": (k.dots, k.with_room("C_local", 1), OUT, "C_local", (0,)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_finds(name):
    good, mutate, kind, buffer, threads = BROKEN[name]
    module, arguments, _ = good()
    report = check_program(mutate(module), arguments)
    found = [one for one in report.findings if (one.kind, one.buffer) == (kind, buffer)]
    assert found, str(report)
    first = found[0]
    assert first.kernel == "main_kernel"
    assert first.stage == buffer.removesuffix("_shared").removesuffix("_local")
    assert first.count >= 1
    assert str(first).startswith(str(kind))
    if kind in (WW, RW, DIVERGENCE):
        assert first.other not in (None, first.thread)
    if threads is not None:
        pair = [one.thread[0] for one in (first.thread, first.other) if one is not None]
        assert tuple(pair) == threads or (kind in (WW, RW) and tuple(pair[::-1]) == threads)
