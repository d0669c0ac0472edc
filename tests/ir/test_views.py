"""Views of buffers, and views of these."""

from __future__ import annotations

from te_sched.ir.expr import Buffer, Call, IntImm, Var
from te_sched.ir.stmt import AttrStmt
from te_sched.ir.views import View, Views
from tests.lowering.build import NOTHING, temporary

A, rows, part = temporary("A", 16, 16), temporary("R", 4, 16), temporary("P", 8)
x = Var("x")


def declared(view: Buffer, of: Buffer, *numbers: int) -> AttrStmt:
    region = Call("handle", "tir.tvm_tuple", tuple(map(IntImm, numbers)))
    return AttrStmt((view, of), "buffer_bind_scope", region, NOTHING)


def test_indices_of_a_view_count_from_its_beginning() -> None:
    view = View(A.data, (IntImm(4), IntImm(8)), (IntImm(1), IntImm(8)))
    assert [str(one) for one in view.outside((x, IntImm(2)))] == ["4 + x", "10"]
    assert [str(one) for one in view.outside((x,))] == ["4", "8 + x"]  # the row is left out


def test_a_view_of_a_view_is_one_of_memory() -> None:
    views = Views()
    views.bind(declared(rows, A, 4, 4, 0, 16))
    views.bind(declared(part, rows, 1, 1, 8, 8))
    assert views.base(part.data) is views.base(rows.data) is A.data
    assert [str(one) for one in views[part.data].outside((x,))] == ["5", "8 + x"]
    assert [one.value for one in views[part.data].extents if isinstance(one, IntImm)] == [1, 8]


def test_memory_is_its_own_base() -> None:
    assert Views().base(A.data) is A.data
