"""Walking and rebuilding programs by the fields of their nodes."""

from __future__ import annotations

from typing import Any

from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.visitor import (
    Mapper,
    StatementMapper,
    Visitor,
    children,
    reads_data,
    replace,
    substitute,
    variables_of,
    walk,
)
from tests.lowering.build import loop, read, store, temporary

x, y = Var("x"), Var("y")
A = temporary("A", 8)


class Doubled(Mapper):
    """Replaces each number by twice the number."""

    def visit_IntImm(self, node: IntImm) -> Any:
        return IntImm(node.value * 2, node.dtype)


def kinds(node: Any) -> list[str]:
    return [type(part).__name__ for part in walk(node)]


def test_walk_is_in_program_order_parents_first() -> None:
    assert kinds(store(A, read(A, x), y)) == ["BufferStore", "BufferLoad", "Var", "Var"]
    assert kinds((x + 1) * y) == ["Mul", "Add", "Var", "IntImm", "Var"]


def test_children_are_the_fields_that_are_there() -> None:
    choice = S.IfThenElse(x < 1, loop(y, 4, store(A, 1.0, y)))
    assert list(children(choice)) == [choice.condition, choice.then_case]
    assert list(children(x)) == []


def test_loop_variables_and_buffers_are_no_children() -> None:
    nest = loop(x, 4, store(A, 1.0, 0))
    assert variables_of(IntImm(1), x + y) == {x, y}
    assert not any(part is x or part is A for part in walk(nest))


def test_reads_data() -> None:
    assert reads_data(read(A, x) + 1.0)
    assert not reads_data(x + 1)


def test_the_method_of_the_nearest_class_is_chosen() -> None:
    class Kind(Visitor):
        def visit_BinaryOp(self, node: E.BinaryOp) -> str:
            return "operation"

        def visit_Mul(self, node: E.Mul) -> str:
            return "product"

    assert [Kind.methods[type(e)](Kind(), e) for e in (x + y, x * y)] == ["operation", "product"]
    assert Var not in Kind.methods


def test_replace_keeps_the_other_fields() -> None:
    nest = loop(x, 4, store(A, 1.0, x))
    longer = replace(nest, extent=IntImm(8))
    assert longer.extent.value == 8
    assert (longer.loop_var, longer.body, longer.kind) == (x, nest.body, "serial")


def test_mapper_keeps_what_it_does_not_change() -> None:
    unchanged, changed = store(A, read(A, x), x), store(A, read(A, 3), x)
    both = S.SeqStmt((unchanged, changed))
    mapped = Doubled().visit(both)
    assert mapped.seq[0] is unchanged
    assert mapped.seq[1].value.indices[0].value == 6
    assert mapped.seq[1].indices is changed.indices
    assert Doubled().visit(unchanged) is unchanged


def test_substitute_goes_by_the_variable_and_not_by_its_name() -> None:
    namesake = Var("x")
    found = substitute(E.Add(x, namesake), {x: y})
    assert (found.a, found.b) == (y, namesake)
    e = namesake + 1
    assert substitute(e, {x: y}) is e


def test_replace_gives_the_node_itself_where_nothing_is_another() -> None:
    one = store(A, read(A, x), y)
    assert replace(one, value=one.value, indices=tuple(one.indices)) is one
    assert replace(one, indices=(x,)).indices == (x,)
    cast = x.astype("int64")
    assert replace(cast, dtype="".join(["int", "64"])) is cast
    note = S.AttrStmt(A, "key", IntImm(1), one)
    assert replace(note, node=A, body=one) is note
    assert replace(note) is not note


def test_a_mapper_of_statements_leaves_expressions_alone() -> None:
    class Serial(StatementMapper):
        def visit_For(self, node: S.For) -> S.Stmt:
            return replace(self.generic(node), kind="serial")

        def visit_Var(self, node: Var) -> Any:
            raise AssertionError

    inner = loop(y, 4, store(A, read(A, x), y), kind="unrolled")
    nest = S.IfThenElse(x < 1, S.LetStmt(x, y + 1, inner), S.SeqStmt((inner, store(A, 1.0, x))))
    kinds_of_loops = [part.kind for part in walk(Serial().visit(nest)) if type(part) is S.For]
    assert kinds_of_loops == ["serial", "serial"]
    plain = store(A, 1.0, x)
    assert Serial().visit(plain) is plain


def test_sequence_that_takes_the_place_of_a_statement_is_joined() -> None:
    one, other = store(A, 1.0, x), store(A, 2.0, x)

    class Twice(Mapper):
        def visit_BufferStore(self, node: S.BufferStore) -> Any:
            return S.SeqStmt((node, node)) if node is one else node

    assert Twice().visit(S.SeqStmt((one, other))).seq == (one, one, other)
    unchanged = S.SeqStmt((other, other))
    assert Twice().visit(unchanged) is unchanged
