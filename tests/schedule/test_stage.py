"""A stage as text: its loops and what was decided about them."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import te
from te_sched.errors import ScheduleError
from te_sched.schedule.stage import Stage
from tests.lowering.test_tensorize import called, intrinsic
from tests.lowering.test_tensorize import product as tensor_product
from tests.schedule.programs import chain, scan


def test_loops_have_their_marks() -> None:
    p = chain()
    stage, (i, j) = p.s[p.C], p.C.op.axis
    outer, inner = stage.split(j, 4)
    stage.bind(outer, te.thread_axis("threadIdx.x"))
    stage.unroll(inner)
    stage.pragma(i, "auto_unroll_max_step", 4)
    assert repr(stage) == (
        "C(i <pragma auto_unroll_max_step>, j.outer <threadIdx.x>, j.inner <unroll>)"
    )


def test_where_a_stage_is_computed_and_kept() -> None:
    p = chain()
    p.s[p.C].compute_at(p.s[p.D], p.D.op.axis[0])
    p.s[p.C].set_scope("shared")
    p.s[p.C].double_buffer()
    p.s[p.B].compute_inline()
    assert repr(p.s[p.C]) == "C(i, j), at D.i, in shared, double buffered"
    assert repr(p.s[p.B]) == "B(i, j), inline"


def test_groups_have_no_loops() -> None:
    (group,) = scan().s.groups
    assert repr(group) == "group(), scan update"


def test_intrinsics_are_named() -> None:
    s, (*_, C) = tensor_product(intrinsic(lambda i, o: (called(i, o),) * 3), 12, 4)
    assert "<" in repr(s[C])
    assert s[C].same_as(s[C])
    assert not s[C].same_as(s.stages[0])


@pytest.mark.parametrize(
    ("find", "message"),
    [
        (
            lambda s, B: s.split,
            r"'Schedule' object has no attribute 'split'(.|\n)*use s\[tensor\]\.split",
        ),
        (
            lambda s, B: s[B].rfactor,
            r"'Stage' object .* 'rfactor'(.|\n)*use s\.rfactor",
        ),
        (lambda s, B: s[B].axis, r"no attribute 'axis'(.|\n)*use s\[tensor\]\.op\.axis"),
        (lambda s, B: s[B].paralel, r"no attribute 'paralel'(.|\n)*\(did you mean 'parallel'\?\)"),
        (
            lambda s, B: B.split,
            r"'Tensor' object .* 'split'(.|\n)*use s\[tensor\]\.split",
        ),
        (lambda s, B: B.cache_write, r"'Tensor' .* 'cache_write'(.|\n)*use s\.cache_write\Z"),
        (lambda s, B: B.op.reorder, r"'ComputeOp' .* 'reorder'(.|\n)*use s\[tensor\]\.reorder\Z"),
        (
            lambda s, B: B.shap,
            r"'Tensor' object .* 'shap'(.|\n)*\(did you mean 'shape'\?",
        ),
        (
            lambda s, B: te.Tensor.__new__(te.Tensor).op,
            r"no attribute 'op'(?!(.|\n)*use s)",
        ),
        (
            lambda s, B: s.cash_read,
            r"no attribute 'cash_read'(.|\n)*\(did you mean 'cache_read'",
        ),
        (lambda s, B: s._repr_png_, r"no attribute '_repr_png_'\Z"),
        (lambda s, B: Stage.__new__(Stage).op, r"Stage' object has no attribute 'op'"),
    ],
)
def test_unknown_attribute_says_what_has_it(find: Any, message: str) -> None:
    B = te.compute((8,), lambda i: i, name="B")
    with pytest.raises(AttributeError, match=message):
        find(te.create_schedule(B), B)


def test_stages_of_the_same_name_are_told_apart_by_their_lines() -> None:
    B = te.compute((8,), lambda i: i)
    C = te.compute((8,), lambda i: B[i] + 1)
    s = te.create_schedule(C)
    match = rf"an axis of stage compute declared at {B.op.place}, not of stage compute"
    with pytest.raises(ScheduleError, match=match):
        s[C].parallel(B.op.axis[0])
