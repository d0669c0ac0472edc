"""Walking and rebuilding: which fields are reached, and what stays one object."""

from __future__ import annotations

import pytest

from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import Expr, IntImm, Range, Var
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import Mapper, ReferenceMapper, children, substitute, walk

N, M = Var("n"), Var("m")
FOUR = IntImm(4)
TRUE = IntImm(1, "bool")
A = decl_buffer((N, ops.mul(N, 2)), "float32", "A", strides=(ops.mul(N, 2), 1), elem_offset=N)
K = E.IterVar(Range(IntImm(0), N), Var("k"), "CommReduce")
LEFT, RIGHT = Var("x"), Var("y")
SUM = E.CommReducer((LEFT,), (RIGHT,), (ops.add(LEFT, RIGHT),), (N,))
NOTHING = S.Evaluate(IntImm(0))


def load(buffer: E.Buffer = A) -> E.BufferLoad:
    return E.BufferLoad(buffer, (IntImm(0), IntImm(1)))


def test_children_are_in_program_order():
    store = S.BufferStore(A, load(), (N, M))
    assert list(children(store)) == [store.value, N, M]
    assert [type(node).__name__ for node in walk(S.While(TRUE, NOTHING))] == [
        *("While", "IntImm", "Evaluate", "IntImm")
    ]


def test_substitute_reaches_shape_strides_and_offset_of_a_buffer():
    buffer = substitute(load(), {N: FOUR}).buffer
    assert structural_equal(buffer.shape, (FOUR, E.Mul(FOUR, IntImm(2))))
    assert structural_equal(buffer.strides, (E.Mul(FOUR, IntImm(2)), IntImm(1)))
    assert buffer.elem_offset is FOUR


def test_substitute_makes_one_buffer_for_all_uses():
    store = S.BufferStore(A, ops.add(load(), load()), (IntImm(0), IntImm(1)))
    realize = S.BufferRealize(A, (Range(IntImm(0), N),) * 2, TRUE, S.AttrStmt(A, "key", N, store))
    new = substitute(realize, {N: FOUR})
    value = new.body.body.value
    used = {id(one) for one in (new.buffer, new.body.node, value.a.buffer, value.b.buffer)}
    assert used == {id(new.body.body.buffer)}
    assert new.buffer is not A


def test_substitute_replaces_the_pointer_of_a_buffer_by_a_variable_alone():
    other = Var("B", "handle")
    assert substitute(load(), {A.data: other}).buffer.data is other
    assert substitute(load(), {A.data: E.StringImm("B")}).buffer is A


def test_substitute_reaches_domains_and_identities_of_reductions():
    reduce = E.Reduce(SUM, (load(),), (), (K,), TRUE, 0)
    new = substitute(reduce, {N: FOUR})
    assert new.axis[0].dom.extent is FOUR
    assert new.axis[0].var is K.var
    assert new.combiner.identity == (FOUR,)
    assert substitute(reduce, {M: FOUR}) is reduce


@pytest.mark.parametrize(
    ("value", "new"),
    [(N, FOUR), ([N], [FOUR]), ((N, "x"), (FOUR, "x")), ({"key": N}, {"key": FOUR})],
)
def test_substitute_reaches_annotations(value, new):
    loop = S.For(M, IntImm(0), FOUR, "serial", NOTHING, annotations={"note": value})
    found = substitute(loop, {N: FOUR}).annotations["note"]
    assert structural_equal(found, new)
    assert substitute(loop, {M: FOUR}) is loop


def test_substitute_reaches_buffers_of_a_function():
    param = Var("A", "handle")
    func = S.PrimFunc((param, N), S.Evaluate(load()), {param: A})
    new = substitute(func, {N: FOUR})
    assert new.buffer_map[param].shape[0] is FOUR
    assert new.body.value.buffer is new.buffer_map[param]
    assert new.params == (param, N)


def test_mapper_uses_the_method_of_the_nearest_class():
    class Named(Mapper):
        def visit_Expr(self, node: Expr) -> Expr:
            return FOUR

        def visit_BinaryOp(self, node: E.BinaryOp) -> Expr:
            return self.generic(node)

    add, compare = ops.add(N, M), ops.less(N, M)
    assert Named().visit(add).a is FOUR
    assert Named().visit(compare) is FOUR
    assert Named().visit(NOTHING).value is FOUR


def test_mapper_defines_after_what_is_outside_of_the_scope():
    class Renamed(ReferenceMapper):
        def define(self, var: Var) -> Var:
            self.new = Var("j")
            return self.new

        def visit_Var(self, node: Var) -> Expr:
            return self.new if hasattr(self, "new") else node

    new = Renamed().visit(S.For(M, IntImm(0), M, "serial", S.Evaluate(M)))
    assert new.extent is M
    assert new.body.value is new.loop_var
