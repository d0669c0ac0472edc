"""All loops, indices and shapes of a function in one dtype."""

from __future__ import annotations

from te_sched import te, tir
from te_sched.ir.expr import Var
from te_sched.ir.index_dtype import with_index_dtype
from te_sched.ir.stmt import For
from te_sched.ir.verify import verify
from te_sched.ir.visitor import walk
from tests.lower.test_index_dtype import gather


def test_indices_are_wide_and_data_is_not() -> None:
    func = with_index_dtype(te.create_prim_func([*gather()]), "int64")
    verify(func, "blocks")
    assert {node.dtype for node in walk(func.body) if type(node) is Var} == {"int64"}
    assert [buffer.dtype for buffer in func.buffer_map.values()] == ["float32", "int32", "float32"]


def test_the_same_dtype_changes_nothing() -> None:
    func = te.create_prim_func([*gather()])
    assert str(with_index_dtype(func, "int32")) == str(func)


def test_loops_of_a_schedule_are_wide() -> None:
    sch = tir.Schedule(te.create_prim_func([*gather()]))
    func = with_index_dtype(sch.mod["main"], "int64")
    loops = [node for node in walk(func.body) if type(node) is For]
    assert {one.extent.dtype for one in loops} == {"int64"}
