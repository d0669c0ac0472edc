"""What is in force at each place of a program."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.ir import stmt as S
from te_sched.ir.calls import call_intrin
from te_sched.ir.expr import IntImm, IterVar, Not, PointerType, Range, Var
from te_sched.ir.ops import TRUE
from te_sched.ir.scopes import Scope, loop_of, scope_of, scoped
from te_sched.ir.visitor import FIELD_ROLES, PART_FIELDS, parts_of
from tests.lowering.build import loop, store, temporary

x, y, n = Var("x"), Var("y"), Var("n")
A, B = temporary("A", 8), temporary("B", 8)


def thread(var: Var, tag: str, extent: int, body: S.Stmt, key: str = "thread_extent") -> S.Stmt:
    axis = IterVar(Range(IntImm(0), IntImm(extent)), var, "ThreadIndex", tag)
    return S.AttrStmt(axis, key, IntImm(extent), body)


def stores(root: S.Stmt, scope: Scope | None = None) -> list[Scope]:
    """The scopes of the stores of a statement, in program order."""
    return [where for node, where in scoped(root, scope) if type(node) is S.BufferStore]


def test_statements_come_in_program_order_with_the_loops_round_them() -> None:
    first, second = store(A, 1.0, x), store(B, 2.0, 0)
    root = loop(x, 4, S.SeqStmt((loop(y, 2, first), second)))
    met = [(node, [one.var for one in scope.loops]) for node, scope in scoped(root)]
    outer = [(root, []), (root.body, [x]), (root.body.seq[0], [x])]
    assert met == [*outer, (first, [x, y]), (second, [x])]


def test_order_numbers_statements_and_branches() -> None:
    choice = S.IfThenElse(n < 1, store(A, 1.0, 0), store(A, 2.0, 0))
    nest = loop(x, 4, S.SeqStmt((store(B, 1.0, x), choice)))
    before, then, other = [scope.order for scope in stores(nest)]
    (outer,) = stores(nest)[0].loops
    assert [type(part).__name__ for part in before] == ["Loop", "int"]
    assert [part for part in then if type(part) is int] == [1]
    assert [part for part in other if type(part) is int] == [1, 1]
    assert outer.range.extent is nest.extent


def test_branches_are_under_the_condition_and_its_negation() -> None:
    condition = n < 1
    then, other = stores(S.IfThenElse(condition, store(A, 1.0, 0), store(A, 2.0, 0)))
    assert then.conditions == (condition,)
    (negated,) = other.conditions
    assert type(negated) is Not
    assert negated.a is condition


def test_an_assertion_holds_below_it_and_a_while_leaves_open_how_often() -> None:
    condition = n < 1
    (claimed,) = stores(S.AssertStmt(condition, IntImm(0), store(A, 1.0, 0)))
    assert claimed.conditions == (condition,)
    (repeated,) = stores(S.While(condition, store(A, 1.0, 0)))
    assert not repeated.is_sure
    assert repeated.conditions == ()


def test_lets_memory_and_views_are_known_below_what_defines_them() -> None:
    scratch = Var("scratch", "handle", PointerType("float32", ""))
    view = temporary("view", 4)
    region = call_intrin("handle", "tir.tvm_tuple", 2, 4)
    inner = S.AttrStmt((view, A), "buffer_bind_scope", region, store(view, 1.0, 0))
    root = S.LetStmt(y, n + 1, S.Allocate(scratch, "float32", (y,), TRUE, loop(x, 4, inner)))
    known: dict[str, Any] = {}
    for node, scope in scoped(root):
        defined = scope.defined
        known[type(node).__name__] = (y in defined.values, scratch in defined.memory)
    assert known["LetStmt"] == (False, False)
    assert known["Allocate"] == (True, False)
    assert known["For"] == (True, True)
    (last,) = stores(root)
    assert last.defined.views.base(view.data) is A.data
    assert last.defined.memory[scratch].loops == ()


def test_arguments_are_memory_that_is_realized_by_nobody_else() -> None:
    func = S.PrimFunc((A.data,), S.Evaluate(IntImm(0)), {A.data: A}, {})
    bounds = (Range(IntImm(2), IntImm(3)),)
    root = S.BufferRealize(A, bounds, TRUE, S.BufferRealize(B, bounds, TRUE, store(B, 1.0, 2)))
    (scope,) = stores(root, scope_of(func))
    memory = scope.defined.memory
    assert memory[A.data].is_argument
    assert memory[A.data].region[0][1] is A.shape[0]
    assert memory[B.data].region == ((bounds[0].min, bounds[0].extent),)


@pytest.mark.parametrize(
    ("tag", "key", "kind"),
    [
        ("blockIdx.x", "thread_extent", "block"),
        ("threadIdx.y", "thread_extent", "thread"),
        ("vthread", "virtual_thread", "virtual"),
    ],
)
def test_axes_of_threads_are_loops(tag: str, key: str, kind: str) -> None:
    found = loop_of(thread(x, tag, 4, store(A, 1.0, x), key))
    assert found is not None
    assert (found.kind, found.name, found.is_launched) == (kind, tag, kind != "virtual")


def test_other_statements_are_no_loops() -> None:
    assert loop_of(S.AttrStmt(x, "pragma_unroll", IntImm(1), store(A, 1.0, 0))) is None
    assert loop_of(store(A, 1.0, 0)) is None


def test_an_axis_that_is_launched_again_inside_is_in_force_once() -> None:
    (scope,) = stores(thread(x, "threadIdx.x", 4, thread(x, "threadIdx.x", 4, store(A, 1.0, x))))
    assert [one.var for one in scope.loops] == [x]


@pytest.mark.parametrize(
    ("scope", "owners"), [("shared", ["blockIdx.x"]), ("local", ["blockIdx.x", "threadIdx.x"])]
)
def test_threads_have_memory_of_their_block_in_common(scope: str, owners: list[str]) -> None:
    data = Var("M", "handle", PointerType("float32", scope))
    inner = S.Allocate(data, "float32", (IntImm(4),), TRUE, store(A, 1.0, 0))
    (place,) = stores(thread(x, "blockIdx.x", 2, thread(y, "threadIdx.x", 4, inner)))
    memory = place.defined.memory[data]
    assert [one.tag for one in memory.loops] == owners
    assert memory.is_in_kernel


def test_the_body_of_an_extern_operation_is_told() -> None:
    (scope,) = stores(S.AttrStmt(IntImm(0), "extern_scope", IntImm(0), store(A, 1.0, 0)))
    assert scope.extern is not None
    assert stores(store(A, 1.0, 0))[0].extern is None


@pytest.mark.parametrize("kind", [kind for kind in FIELD_ROLES if issubclass(kind, S.Stmt)])
def test_statements_in_statements_are_their_parts(kind: type) -> None:
    types = {name: str(kind.__dataclass_fields__[name].type) for name in FIELD_ROLES[kind]}
    assert [name for name, text in types.items() if "Stmt" in text or text == "Block"] == [
        *PART_FIELDS[kind]
    ]


def test_parts_of_a_statement_are_those_that_are_there() -> None:
    one, other = store(A, 1.0, 0), store(B, 1.0, 0)
    assert parts_of(S.IfThenElse(n < 1, one)) == [one]
    assert parts_of(S.IfThenElse(n < 1, one, other)) == [one, other]
    assert parts_of(S.SeqStmt((one, other))) == [one, other]
    assert parts_of(one) == []


def test_a_long_chain_of_statements_takes_no_recursion() -> None:
    root: S.Stmt = store(A, 1.0, 0)
    for _ in range(5000):
        root = S.AttrStmt(IntImm(0), "pragma_nothing", IntImm(0), root)
    assert len(stores(root)) == 1
