"""What is cheap is inlined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from te_sched import te, tir
from te_sched.meta_schedule import schedule_rule as rules
from tests.meta_schedule.schedule_rule.spaces import (
    elementwise,
    space,
    steps,
)

INLINE = {
    "into_producer": False,
    "into_consumer": True,
    "inline_const_tensor": True,
    "disallow_if_then_else": True,
    "require_injective": True,
    "require_ordered": True,
    "disallow_op": ["tir.exp"],
}


@pytest.mark.parametrize(
    ("value", "allowing"),
    [
        (lambda A, i, j: A[i, j] * 2.0, {}),
        (lambda A, i, j: A[i, 0] * 2.0, {}),
        (lambda A, i, j: tir.const(1.0, "float32"), {}),
        (lambda A, i, j: te.exp(A[i, j]), {"disallow_op": None}),
        (lambda A, i, j: te.if_then_else(i > 2, A[i, j], 0.0), {"disallow_if_then_else": False}),
        (lambda A, i, j: A[j, i] * 2.0, {"require_ordered": False}),
        (lambda A, i, j: A[i, i], {"require_injective": False}),
        (lambda A, i, j: A[i, 15 - j], {"require_injective": False, "require_ordered": False}),
    ],
)
def test_auto_inline_inlines_what_is_cheap(value: Callable[..., Any], allowing: Any) -> None:
    func = elementwise(value)
    (sch,) = space(func, rules.AutoInline(**(INLINE | allowing)))
    assert steps(sch) == ["compute_inline"]
    if allowing:
        (sch,) = space(func, rules.AutoInline(**INLINE))
        assert steps(sch) == []


def test_auto_inline_has_no_limits_without_reductions() -> None:
    func = elementwise(lambda A, i, j: te.exp(A[j, i]), consumer=False)
    (sch,) = space(func, rules.AutoInline(**INLINE))
    assert steps(sch) == ["compute_inline"]


def test_auto_inline_into_the_producer() -> None:
    rule = rules.AutoInline(**(INLINE | {"into_producer": True, "into_consumer": False}))
    func = elementwise(lambda A, i, j: A[i, j] * 2.0, consumer=False)
    (sch,) = space(func, rule)
    assert steps(sch) == ["reverse_compute_inline"]


def test_inline_constant_scalars() -> None:
    A = te.placeholder((8,), name="A")
    one = te.compute((), lambda: tir.const(3.0, "float32"), name="one")
    func = te.create_prim_func([A, te.compute((8,), lambda i: A[i] + one(), name="B")])
    (sch,) = space(func, rules.InlineConstantScalars())
    assert steps(sch) == ["compute_inline"]
