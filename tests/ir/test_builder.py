"""Statements built by hand."""

import pytest

from te_sched.errors import DeclarationError
from te_sched.ir import builder, ops
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.buffer import decl_buffer


def test_loops_nest_and_are_named_in_order():
    ib = builder.create()
    names = []
    for _ in range(5):
        with ib.for_range(0, 4) as i:
            names.append(i.name)
    assert names == ["i", "j", "k", "i_0", "i_1"]
    assert len(ib.get().seq) == 5


def test_for_range_kinds_and_extent():
    ib = builder.create()
    with ib.for_range(2, 10, name="q", kind="vectorize") as q:
        ib.emit(q + 1)
    loop = ib.get()
    assert (loop.kind, loop.min.value, loop.extent.value) == ("vectorized", 2, 8)
    with pytest.raises(DeclarationError, match="use one of serial"), ib.for_range(0, 1, kind="x"):
        pass


def test_single_index_of_a_matrix_counts_elements():
    ib = builder.create()
    b = ib.buffer_ptr(decl_buffer((4, 5)))
    b[7] = b[1, 2]
    assert [index.value for index in ib.get().indices] == [1, 2]


def test_store_rejects_another_type():
    ib = builder.create()
    b = ib.buffer_ptr(decl_buffer((4,), name="B"))
    with pytest.raises(DeclarationError, match="of float32"):
        b[0] = 1


def test_let_attributes_and_allocations_enclose_what_follows():
    ib = builder.create()
    ib.emit(0)
    room = ib.allocate("float32", (4,), name="room", scope="shared")
    ib.scope_attr(E.Var("x"), "pragma_y", 1)
    n = ib.let("n", 3)
    room[n] = 1.0
    first, allocation = ib.get().seq
    assert type(first) is S.Evaluate
    assert type(allocation) is S.Allocate
    assert type(allocation.body) is S.AttrStmt
    assert type(allocation.body.body) is S.LetStmt


def test_else_belongs_to_the_if_before():
    ib = builder.create()
    with ib.if_scope(E.Var("n") > 1):
        ib.emit(1)
    with ib.else_scope():
        ib.emit(2)
    assert ib.get().else_case.value.value == 2
    with pytest.raises(DeclarationError, match="else_scope does not follow an if_scope"):
        ib.else_scope()


def test_get_inside_a_scope_is_refused():
    ib = builder.create()
    with pytest.raises(DeclarationError, match="not complete"), ib.while_loop(ops.TRUE):
        ib.get()


def test_nothing_emitted_does_nothing():
    assert type(builder.create().get()) is S.Evaluate


def test_object_of_an_allocation_is_its_buffer():
    ib = builder.create()
    A = ib.allocate("float32", 4, name="A")
    assert A.asobject() is A.buffer
    ib.emit(ops.convert(A.asobject().access_ptr("r")))
    assert "T.tvm_access_ptr" in str(ib.get())
