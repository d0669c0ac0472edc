"""The simplify pass: what statements tell about the expressions inside them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from te_sched import IRModule, config, tir
from te_sched.arith.analyzer import Analyzer
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.blocks import DeclBuffer
from te_sched.ir.ops import const
from te_sched.ir.visitor import substitute
from te_sched.lowering.simplify import simplify
from te_sched.script import from_source
from tests.arith.brute import show

i, j = E.Var("i"), E.Var("j")
DATA = E.Var("data", "handle", E.PointerType("int32"))
A = E.Buffer(DATA, "int32", (const(64),), (), const(0), "A")


def run(body: S.Stmt) -> Any:
    return simplify(S.PrimFunc((), body, {})).body


def loop(var: E.Var, extent: int, body: S.Stmt) -> S.For:
    return S.For(var, const(0), const(extent), "serial", body)


def store(index: Any, value: Any = None) -> S.BufferStore:
    return S.BufferStore(A, const(7) if value is None else value, (index,))


def test_loops_give_ranges() -> None:
    found = run(loop(i, 8, loop(j, 4, store((i * 4 + j) // 4))))
    assert show(found.body.body.indices[0]) == "i"


def test_loop_that_runs_has_the_steps_of_its_extent() -> None:
    steps = E.Max(j - 1, const(0))
    guarded = S.IfThenElse(i + 1 < j, store(i))
    found = run(S.For(i, const(0), steps, "serial", guarded))
    assert type(found.body) is S.BufferStore


def test_loop_of_one_iteration_is_its_value() -> None:
    found = run(loop(i, 1, store(i + j)))
    assert type(found) is S.For
    assert show(found.body.indices[0]) == "j"


def test_threads_give_ranges() -> None:
    thread = E.IterVar(None, i, "ThreadIndex", "threadIdx.x")
    found = run(S.AttrStmt(thread, "thread_extent", const(8), store(i % 8)))
    assert found.body.indices[0] is i


def test_branches_that_are_decided_go() -> None:
    stored = store(i)
    proved = E.Call("bool", "tir.likely", (i < 8,))
    assert run(loop(i, 8, S.IfThenElse(proved, stored))).body is stored
    assert type(run(loop(i, 8, S.IfThenElse(i < 0, stored))).body) is S.Evaluate


def test_conditions_hold_in_their_branches() -> None:
    guard = S.IfThenElse(j < 4, store(E.Min(j, const(4))), store(E.Max(j, const(3))))
    found = run(guard)
    assert found.then_case.indices[0] is j
    assert found.else_case.indices[0] is j


def test_let_of_a_constant_is_put_in_place() -> None:
    found = run(S.LetStmt(i, const(3), store(i + j)))
    assert show(found.indices[0]) == "(j + 3)"


def test_store_of_what_is_there_does_nothing() -> None:
    found = run(store(j + 0, E.BufferLoad(A, (j,))))
    assert type(found) is S.Evaluate


def test_simple_program_is_the_same_object() -> None:
    func = S.PrimFunc((), loop(i, 8, store(i * 8 + 3)), {})
    assert simplify(func) is func


def test_parts_that_wrap_around_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    depth, calls = 60, 0
    value: Any = i * i * i * i
    for number in range(depth):
        value = E.Max(value, j + number)
    usual = Analyzer.wraps

    def counted(self: Analyzer, e: E.Expr) -> bool:
        nonlocal calls
        calls += 1
        return usual(self, e)

    monkeypatch.setattr(Analyzer, "wraps", counted)
    with config.scoped(lowering=config.Lowering(to_run=True)):
        found = run(loop(i, 1 << 16, store(i, value)))
    assert type(found.body.value) is E.Max
    assert calls < 10 * depth


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        (E.And(i < 5, i < 10), i < 5),
        (E.And(i < 10, i < 5), i < 5),
        (E.Or(i < 10, i < 5), i < 10),
        (E.Or(i < 5, i < 10), i < 10),
        (E.And(i < j + 10, i < j + 5), i < j + 5),
        (E.And(E.Or(i < 3, j < 2), i < 3), i < 3),
    ],
)
def test_operands_are_simplified_where_the_other_does_not_decide(
    condition: Any, wanted: Any
) -> None:
    settings = config.Lowering(simplify_branches=True)
    func = S.PrimFunc((i, j), S.IfThenElse(condition, store(const(0))), {})
    assert show(simplify(func, settings).body.condition) == show(wanted)
    kept = simplify(func).body.condition
    assert type(kept) is type(condition)


def test_simplified_operands_have_the_same_value() -> None:
    settings = config.Lowering(simplify_branches=True)
    pieces = [i < 3, j < 2, i < j, E.EQ(i, j), i + 1 < j]
    for a, b, c in itertools.product(pieces, repeat=3):
        for whole in (E.And(E.Or(a, b), c), E.Or(E.And(a, b), c), E.Or(E.Not(a), E.And(b, c))):
            func = S.PrimFunc((i, j), S.IfThenElse(whole, store(const(0)), store(const(1))), {})
            new = simplify(func, settings).body
            for x, y in itertools.product(range(-1, 6), repeat=2):
                at = {i: const(x), j: const(y)}
                chosen = new
                if type(new) is S.IfThenElse:
                    held = Analyzer().simplify(substitute(new.condition, at))
                    chosen = new.then_case if held.value else new.else_case
                expected = Analyzer().simplify(substitute(whole, at)).value
                assert chosen.indices[0].value == 1 - expected


def with_buffer(body: S.Stmt, settings: config.Lowering = config.AS_TVM) -> Any:
    return simplify(S.PrimFunc((DATA, j), body, {}), settings).body


def test_conditions_on_written_memory_are_forgotten() -> None:
    small = E.BufferLoad(A, (const(0),)) < 5
    inner = S.IfThenElse(small, store(const(1)))
    func = S.IfThenElse(small, S.SeqStmt((store(const(0), const(9)), inner)))
    assert type(with_buffer(func).then_case.seq[1]) is S.IfThenElse
    kept = S.IfThenElse(small, S.SeqStmt((inner, store(const(0), const(9)))))
    assert type(with_buffer(kept).then_case.seq[0]) is S.BufferStore
    repeated = S.IfThenElse(small, loop(i, 4, S.SeqStmt((inner, store(const(0), const(9))))))
    assert type(with_buffer(repeated).then_case.body.seq[0]) is S.IfThenElse
    call = S.Evaluate(E.Call("int32", "tir.call_extern", (E.StringImm("f"),)))
    called = S.IfThenElse(small, S.SeqStmt((call, inner)))
    assert type(with_buffer(called).then_case.seq[1]) is S.IfThenElse
    steps = S.IfThenElse(small, S.While(j < 3, S.SeqStmt((inner, store(const(0), const(9))))))
    assert type(with_buffer(steps).then_case.body.seq[0]) is S.IfThenElse


def test_lets_decide_conditions() -> None:
    short = E.Var("short", "bool")
    body = S.LetStmt(
        short, i < 3, S.IfThenElse(E.Or(short, i >= 3), store(i, E.Cast("int32", short)))
    )
    found = run(loop(i, 4, body)).body
    assert type(found) is S.LetStmt
    assert type(found.body) is S.BufferStore


def test_unused_lets_go() -> None:
    var = E.Var("x")
    assert type(run(S.LetStmt(var, i * j, store(i)))) is S.BufferStore
    assert type(run(S.LetStmt(var, E.BufferLoad(A, (i,)), store(i)))) is S.LetStmt


def test_lets_of_buffers_stay() -> None:
    size = E.Var("size")
    view = E.Buffer(DATA, "int32", (size,), (), const(0), "view")
    body = DeclBuffer(view, S.BufferStore(view, size, (const(0),)))
    found = with_buffer(S.LetStmt(size, j, body))
    assert type(found) is S.LetStmt
    assert found.body.body.value is j


def test_conditions_become_clauses() -> None:
    a, b, c = (E.Var(name, "bool") for name in "abc")
    body = S.IfThenElse(E.Or(a, E.And(b, c)), store(const(0)))
    found = simplify(S.PrimFunc((a, b, c), body, {}), config.Lowering(conditions_as_clauses=True))
    assert type(found.body.condition) is E.And


def test_first_operand_keeps_indices_that_only_the_second_allows() -> None:
    """(i * 3) % 8 is i * 3 for i < 3, but the element is read for other values too."""
    element = E.BufferLoad(A, ((i * 3) % 8,))
    condition = E.Or(element >= 1, i >= 3)
    settings = config.Lowering(simplify_branches=True)
    func = S.PrimFunc((DATA,), loop(i, 8, S.IfThenElse(condition, store(i))), {})
    assert "% 8" in str(simplify(func, settings).body.body.condition.a)


def test_lets_of_integers_are_their_values() -> None:
    var, number = E.Var("x"), E.Var("y", "float32")
    found = run(loop(i, 4, S.LetStmt(var, i * 2 + j, store(var, var * 2))))
    assert show(found.body.indices[0]) == "((i * 2) + j)"
    kept = S.LetStmt(number, E.Cast("float32", i), store(i, E.Cast("int32", number)))
    assert type(run(loop(i, 4, kept)).body) is S.LetStmt


def test_large_lets_stay() -> None:
    large: Any = i
    for number in range(120):
        large = E.Max(large, E.Call("int32", "tir.shift_right", (j, const(number))))
    var = E.Var("x")
    assert type(run(S.LetStmt(var, large, store(var)))) is S.LetStmt


def test_iterators_of_blocks_have_their_domains() -> None:
    """Those of one value are that value, also in the domains of inner blocks."""
    text = """
@T.prim_func
def main(A: T.Buffer((1, 4, 8), "float32"), B: T.Buffer((1, 4), "float32")):
    for i, j in T.grid(1, 4):
        with T.block("outer"):
            vi, vj = T.axis.remap("SS", [i, j])
            for k in range(8):
                with T.block("inner"):
                    vi_1 = T.axis.spatial((vi, vi + 1), vi)
                    vk = T.axis.reduce(8, k)
                    if vk < 8:
                        B[vi_1, vj] = A[vi_1, vj, vk]
"""
    func = tir.transform.Simplify()(IRModule({"main": from_source(text)}))["main"]
    shown = str(func)
    assert "B[0, vj] = A[0, vj, vk]" in shown
    assert "vi_1 = T.axis.spatial(1, 0)" in shown
    assert "if" not in shown
    assert "T.reads(A[0, vj, 0:8])" in shown
