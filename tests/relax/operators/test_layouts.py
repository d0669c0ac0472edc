"""Orders of dimensions that operators tell `ConvertLayout`."""

from __future__ import annotations

from te_sched import relax
from te_sched.relax.operators.layouts import (
    ALONG_AXIS,
    OF_BROADCAST,
    axes_in_order,
    layout_in_order,
    order_of,
    renumbered,
)

NHWC = (0, 2, 3, 1)


def _tensor(*shape: int) -> relax.Var:
    return relax.Var("x", relax.TensorStructInfo(shape, "float32"))


def test_the_order_as_written_is_none() -> None:
    assert order_of([0, 1, 2]) is None
    assert order_of([0, 2, 1]) == (0, 2, 1)


def test_dimensions_that_are_left_are_counted_anew() -> None:
    assert renumbered([0, 3, 1]) == (0, 2, 1)
    assert renumbered([1, 2, 3]) is None


def test_letters_and_axes_follow_an_order() -> None:
    call = relax.op.sum(_tensor(1, 2, 3, 4), axis=[1, -1])
    assert layout_in_order(NHWC, "NCHW") == "NHWC"
    assert axes_in_order(call, "axis", NHWC) == [3, 2]


def test_a_number_has_no_order_in_a_broadcast() -> None:
    call = relax.op.add(_tensor(1, 2, 3, 4), _tensor())
    assert OF_BROADCAST.follow is not None
    plan = OF_BROADCAST.follow(call, [NHWC, None])
    assert plan is not None
    assert (plan.inputs, plan.output) == ({0: NHWC}, NHWC)


def test_an_axis_is_where_the_order_has_it() -> None:
    call = relax.op.nn.softmax(_tensor(1, 2, 3, 4), axis=1)
    assert ALONG_AXIS.follow is not None
    plan = ALONG_AXIS.follow(call, [NHWC])
    assert plan is not None
    assert plan.attrs == {"axis": 3}
