"""Sets of expressions that read memory."""

from __future__ import annotations

from te_sched import te
from te_sched.arith.int_set import IntervalSet, eval_set, is_everything
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import BufferLoad, Var


def test_element_of_a_tensor_may_be_any_number() -> None:
    i, places = Var("i"), te.placeholder((8,), "int32", name="places")
    assert is_everything(eval_set(places(i), {i: IntervalSet(i, i)}))


def test_element_of_a_buffer_has_no_name_where_its_place_has_another() -> None:
    i, j = Var("i"), Var("j")
    load = BufferLoad(decl_buffer((8,), "int32", "places"), (i,))
    assert is_everything(eval_set(load, {i: IntervalSet(j, j)}))
    assert eval_set(load, {}).min is load
