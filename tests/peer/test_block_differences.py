"""Schedules whose text differs from TVM 0.19's on purpose: its program is executed and has a fault,
te_sched's has none. A fault that TVM mends makes its row here, and in docs/legality.md, fail.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest

pytest.importorskip("tvm")

import tvm

import te_sched
from te_sched.errors import BuildError, ScheduleError
from tests.peer.block_schedules.campaign import FAILS_INSIDE, plain
from tests.peer.block_schedules.sources import is_right, sized
from tests.peer.block_schedules.steps import namespace
from tests.peer.block_schedules.verdicts import (
    STRIDES,
    UNREADABLE,
    WRONG,
    fault_of,
    fault_of_theirs,
)

UNWRITTEN = "an element is read before it is written"
UNSTATED = "a block does not state that it accesses A"
SIZES = {"n": 8, "m": 6, "k": 2, "p": 4}


class Difference(NamedTuple):
    """A source, steps, the fault of TVM's program, and whether only the lowered texts differ."""

    source: str
    steps: list[str]
    fault: str
    is_lowered: bool = False


DIFFERENCES = {
    "blockize in a part": Difference(
        "softmax",
        ['sch.loop_partition(l("expo")[1], factors=[2, None])', 'sch.blockize(l("expo_j0")[0])'],
        UNWRITTEN,
    ),
    "blockize in a part, sums": Difference(
        "pooling",
        ['sch.loop_partition(l("Y")[2], factors=[2, None])', 'sch.blockize(l("Y_x0")[2])'],
        UNWRITTEN + "|" + WRONG,
    ),
    "blockize in a part of a sum": Difference(
        "row sums",
        [
            'sch.decompose_reduction(b("B"), l("B")[0])',
            'sch.loop_partition(l("B_update")[1], factors=[2, None])',
            'sch.blockize(l("B_update_k1")[0])',
        ],
        "iterator vk_i is 4, outside of its domain",
    ),
    "cache_write in a part": Difference(
        "transposed",
        [
            'sch.loop_partition(l("C")[1], factors=[4, None])',
            'sch.cache_write(b("C_j0"), 0, "global")',
        ],
        UNWRITTEN,
    ),
    "regions of parts": Difference(
        "stencil",
        ['sch.loop_partition(l("B")[1], factors=[2, None])'],
        UNSTATED,
    ),
    "compute_at by the regions of parts": Difference(
        "stencil",
        [
            'sch.loop_partition(l("B")[1], factors=[2, None])',
            'sch.cache_read(b("B_j0"), 0, "global")',
            'sch.compute_at(b("A_global"), l("B_j0")[0])',
        ],
        UNSTATED,
    ),
    "reindex of an update's initial values": Difference(
        "product",
        [
            'sch.decompose_reduction(b("C"), l("C")[0])',
            'sch.reindex(b("C_update"), ("read", 0))',
        ],
        WRONG,
    ),
    "reindex of an update": Difference(
        "product",
        [
            'sch.decompose_reduction(b("C"), l("C")[0])',
            'sch.reindex(b("C_update"), ("write", 0))',
        ],
        UNWRITTEN,
    ),
    "reindex of what is computed in the loops": Difference(
        "dense",
        ['sch.reverse_compute_at(b("Y"), l("D")[1])', 'sch.reindex(b("D"), ("read", 0))'],
        UNWRITTEN,
    ),
    "cache_index of split loops": Difference(
        "two readers",
        [
            'sch.transform_layout(b("C"), ("read", 0), lambda i, j: (i // 4, j, i % 4))',
            'sch.split(l("C")[0], factors=[None, 4])',
            'sch.cache_index(b("C"), "global", 0)',
        ],
        "iterator v0 is 2, outside of its domain",
    ),
    "cache_index of two iterators": Difference(
        "convolution", ['sch.cache_index(b("P"), "global", 1)'], STRIDES
    ),
    "memory of sums": Difference(
        "product",
        [
            'sch.reorder(l("C")[2], l("C")[0], l("C")[1])',
            'sch.cache_write(b("C"), 0, "global")',
            'sch.reverse_compute_at(b("C_global"), l("C")[2])',
        ],
        WRONG,
        is_lowered=True,
    ),
    "groups of axes at the ends": Difference(
        "two readers",
        ['sch.set_axis_separator(b("B"), ("write", 0), [2])'],
        "index .* of B_1 is out of bounds",
        is_lowered=True,
    ),
    "memory of elements that are computed again": Difference(
        "dense",
        [
            'sch.split(l("D")[0], factors=[4, None, 2], preserve_unit_iters=False)',
            'sch.split(l("D")[1], factors=[4, None], disable_predication=True)',
        ],
        WRONG,
        is_lowered=True,
    ),
}


def made(module: Any, source: str, steps: list[str]) -> Any:
    schedule = module.tir.Schedule(module.script.from_source(sized(source, SIZES).text))
    for step in steps:
        eval(step, namespace(module, schedule))
    return schedule.mod


@pytest.mark.parametrize("name", DIFFERENCES)
def test_only_the_program_of_tvm_has_a_fault(name: str) -> None:
    source, steps, fault, is_lowered = DIFFERENCES[name]
    program = sized(source, SIZES)
    ours, theirs = made(te_sched, source, steps), made(tvm, source, steps)
    assert is_right(te_sched, ours, program, "llvm")
    if is_lowered:
        assert plain(ours.script()) == plain(theirs.script())
        ours, theirs = te_sched.lower(ours), tvm.lower(theirs)
    assert plain(ours.script()) != plain(theirs.script())
    assert re.search(fault, fault_of_theirs(theirs.script(), ours, program))


@pytest.mark.parametrize(
    "step",
    [
        'transform_layout(b("C_i1"), ("write", 0), lambda i, j: (i, j))',
        'set_axis_separator(b("C_i1"), ("write", 0), [])',
    ],
)
def test_layouts_of_parts_end_in_an_error_inside_tvm(step: str) -> None:
    steps = ['sch.loop_partition(l("C")[0], factors=[2, None])', f"sch.{step}"]
    assert is_right(te_sched, made(te_sched, "product", steps), sized("product", SIZES), "llvm")
    with pytest.raises(IndexError, match=FAILS_INSIDE):
        made(tvm, "product", steps)


def test_inlining_the_first_of_two_readers_leaves_tvm_without_the_buffer() -> None:
    steps = ['sch.reverse_compute_inline(b("C"))']
    with pytest.raises(ScheduleError, match="D reads B, too"):
        made(te_sched, "two readers", steps)
    theirs = made(tvm, "two readers", steps).script()
    assert UNREADABLE in fault_of(theirs, sized("two readers", SIZES))


BEYOND = {
    "a sum": ("product", 'sch.split(l("C")[1], factors=[None, 4], disable_predication=True)'),
    "what overwrites its source": (
        "dense",
        'sch.split(l("D")[1], factors=[None, 4], disable_predication=True)',
    ),
}


@pytest.mark.parametrize("name", BEYOND)
def test_splits_that_leave_their_domain_are_refused_and_leave_tvms_buffers(name: str) -> None:
    source, step = BEYOND[name]
    program = sized(source, SIZES)
    ours, theirs = made(te_sched, source, [step]), made(tvm, source, [step])
    assert plain(ours.script()) == plain(theirs.script())
    with pytest.raises(BuildError, match="leaves its domain"):
        te_sched.build(ours)
    assert "out of bounds" in fault_of(tvm.lower(theirs).script(), program)


def test_caching_one_condition_ends_in_an_error_inside_tvm() -> None:
    source = "two readers"
    steps = ['sch.pad_einsum(b("D"), [8, 4])', 'sch.cache_index(b("A_pad"), "global", 1)']
    assert is_right(te_sched, made(te_sched, source, steps), sized(source, SIZES), "llvm")
    with pytest.raises(tvm.error.InternalError, match="A SeqStmt of length 1 is prohibited"):
        made(tvm, source, steps)


THREADED = {
    "the first iteration of a loop of threads": (
        "transposed",
        [
            'sch.loop_partition(l("t")[0], factors=[4, None])',
            'sch.bind(l("t_i1")[0], "threadIdx.x")',
        ],
    ),
    "the guard of a sum over threads": (
        "product",
        [
            'sch.bind(l("C")[2], "threadIdx.x")',
            'sch.split(l("C")[0], factors=[16, None], preserve_unit_iters=False)',
        ],
    ),
}


@pytest.mark.parametrize("name", THREADED)
def test_only_the_threads_of_tvm_have_a_fault(name: str) -> None:
    source, steps = THREADED[name]
    program = sized(source, SIZES)
    ours, theirs = made(te_sched, source, steps), made(tvm, source, steps)
    assert plain(ours.script()) == plain(theirs.script())
    lowered = te_sched.lower(ours), tvm.lower(theirs).script()
    assert fault_of(lowered[1], program)
    assert not fault_of(lowered[0], program)
