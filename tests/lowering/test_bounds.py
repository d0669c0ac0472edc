"""The range of every axis, from what consumers read."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import te
from te_sched.arith.analyzer import Analyzer
from te_sched.ir.expr import Range
from te_sched.ir.storage_scopes import thread_level
from te_sched.lowering.bounds import attach_path, infer_bound
from tests.arith.brute import show
from tests.schedule.programs import chain, product


def bounds(schedule: Any, tensor: Any) -> list[tuple[str, str]]:
    """(min, extent) of the axes of a tensor's stage."""
    ranges = infer_bound(schedule.normalize())
    return [_shown(ranges[axis]) for axis in tensor.op.axis]


def _shown(bound: Range) -> tuple[str, str]:
    analyzer = Analyzer()
    return show(analyzer.simplify(bound.min)), show(analyzer.simplify(bound.extent))


def test_stage_at_the_root_is_computed_as_a_whole() -> None:
    p = chain()
    assert bounds(p.s, p.B) == [("0", "16"), ("0", "8")]


def test_stage_in_a_loop_is_computed_for_one_iteration() -> None:
    p = chain()
    p.s[p.B].compute_at(p.s[p.C], p.C.op.axis[0])
    assert bounds(p.s, p.B) == [("i", "1"), ("0", "8")]


def test_stage_in_a_tile_is_computed_for_the_tile() -> None:
    p = chain()
    outer, _ = p.s[p.C].split(p.C.op.axis[1], factor=4)
    p.s[p.B].compute_at(p.s[p.C], outer)
    assert bounds(p.s, p.B) == [("i", "1"), ("(j.outer * 4)", "4")]


@pytest.mark.parametrize(("shift", "expected"), [(0, ("0", "5")), (2, ("0", "7"))])
def test_readers_at_several_places_need_what_is_between(shift: int, expected: Any) -> None:
    A = te.placeholder((16,), name="A")
    B = te.compute((16,), lambda i: A[i] + 1, name="B")
    C = te.compute((4,), lambda i: B[i] + B[i + 1 + shift], name="C")
    assert bounds(te.create_schedule(C.op), B) == [expected]


def test_reduction_axes_are_needed_as_a_whole() -> None:
    p = product()
    p.s[p.C].compute_at(p.s[p.D], p.D.op.axis[1])
    assert infer_bound(p.s.normalize())[p.k].extent.value == 32
    assert bounds(p.s, p.C) == [("i", "1"), ("j", "1")]


def test_threads_get_the_range_of_their_axes() -> None:
    p = chain()
    outer, inner = p.s[p.D].split(p.D.op.axis[0], factor=4)
    thread = te.thread_axis("threadIdx.x")
    p.s[p.D].bind(inner, thread)
    ranges = infer_bound(p.s.normalize())
    assert _shown(ranges[outer]) == _shown(ranges[thread]) == ("0", "4")


def test_attach_path_is_innermost_first() -> None:
    p = chain()
    p.s[p.C].compute_at(p.s[p.D], p.D.op.axis[0])
    p.s[p.B].compute_at(p.s[p.C], p.C.op.axis[1])
    assert attach_path(p.s[p.B]) == [p.C.op.axis[1], p.C.op.axis[0], p.D.op.axis[0]]
    assert attach_path(p.s[p.D]) == []


def test_blocks_are_outside_of_threads() -> None:
    assert [*map(thread_level, ("blockIdx.x", "threadIdx.y", "vthread"))] == [0, 1, 1]


@pytest.mark.parametrize("dtype", ["uint32", "uint64", "int64"])
def test_ranges_have_the_type_of_their_axis(dtype: str) -> None:
    rows, A = te.placeholder((3,), "int32", name="rows"), te.placeholder((48,), name="A")
    B = te.compute((48,), lambda i: A[i] * 2.0, name="B")
    limits = te.const(1, dtype), te.const(17, dtype)
    C = te.compute((3,), lambda i: B[te.max(te.min(rows[i].astype(dtype), limits[1]), limits[0])])
    ranges = infer_bound(te.create_schedule(C.op).normalize())
    (bound,) = [ranges[axis] for axis in B.op.axis]
    assert _shown(bound) == ("1", "17")
    assert (bound.min.dtype, bound.extent.dtype) == ("int32", "int32")
