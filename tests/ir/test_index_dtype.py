"""All loops, indices and shapes of a function in one dtype."""

from __future__ import annotations

from te_sched import te, tir
from te_sched.ir.expr import Var
from te_sched.ir.index_dtype import with_index_dtype
from te_sched.ir.stmt import For
from te_sched.ir.verify import verify
from te_sched.ir.visitor import walk
from tests.tir.passes.test_force_narrow_indices import gather


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


def _in_int64(*tensors: te.Tensor) -> str:
    return str(te.create_prim_func(list(tensors), index_dtype_override="int64"))


def test_constants_of_conditions_have_the_dtype_of_indices() -> None:
    A = te.placeholder((4,), "int32", name="A")
    B = te.compute((4,), lambda i: te.select(A[i] > 0, A[i] + 1, A[i]), name="B")
    assert 'T.Select(T.int64(0) < T.Cast("int64", A[v_i]), A[v_i] + 1, A[v_i])' in _in_int64(A, B)


def test_a_block_without_loops_keeps_its_iterator() -> None:
    A = te.placeholder((), "float32", name="A")
    B = te.compute((), lambda: A() + 1.0, name="B")
    assert "vi = T.axis.spatial(1, T.int64(0))" in _in_int64(A, B)
