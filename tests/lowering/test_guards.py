"""The iterations of a loop in which its guards are decided."""

from __future__ import annotations

from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM
from te_sched.ir.expr import Call, IntImm, Range
from te_sched.ir.stmt import IfThenElse, Stmt
from te_sched.lowering.guards import Cut, find_cut, is_guarded, is_hint, is_mark, values
from tests.arith.brute import show
from tests.lowering.build import EFFECT, attribute, loop, read, temporary, var

i, j, n = var("i"), var("j"), var("n")


def likely(condition: Any) -> Call:
    return Call("bool", "tir.likely", (condition,))


def cut_of(body: Stmt, extent: int = 13, is_hinted: bool = False) -> Cut | None:
    analyzer, whole = Analyzer(), Range(IntImm(0), IntImm(extent))
    analyzer.bind(i, whole)
    return find_cut(i, whole, body, is_hinted, {}, analyzer)


def ends(cut: Cut | None) -> tuple[str, str, list[bool]] | None:
    return None if cut is None else (show(cut.begin), show(cut.end), list(cut.known.values()))


def test_guard_holds_for_all_values_of_inner_loops() -> None:
    body = loop(j, 8, IfThenElse(likely(i * 8 + j < 100), EFFECT))
    assert ends(cut_of(body)) == ("0", "12", [True])


def test_guards_hold_where_all_do() -> None:
    both = IfThenElse(likely(i < 9), IfThenElse(likely(i >= 2), EFFECT))
    assert ends(cut_of(both)) == ("2", "9", [True, True])


def test_comparisons_are_guards_under_a_hint_alone() -> None:
    body = IfThenElse(i < 5, EFFECT)
    assert cut_of(body) is None
    assert ends(cut_of(body, is_hinted=True)) == ("0", "5", [True])


def test_memory_and_lets_decide_nothing() -> None:
    data = temporary("data", 8, dtype="int32")
    assert cut_of(IfThenElse(likely(i < read(data, 0)), EFFECT)) is None
    assert cut_of(IfThenElse(likely(i % 3 < 2), EFFECT)) is None


def test_all_iterations() -> None:
    whole = cut_of(IfThenElse(likely(i < 20), EFFECT))
    assert whole is not None
    assert whole.is_whole
    assert whole.is_fixed
    part = cut_of(IfThenElse(likely(i < 5), EFFECT))
    assert part is not None
    assert not part.is_whole
    assert show(part.stop) == "13"
    assert show(part.has(i)) == "(i < 5)"


def test_end_may_be_symbolic() -> None:
    cut = cut_of(IfThenElse(likely(i < n), EFFECT))
    assert cut is not None
    assert not cut.is_fixed


def test_marks_and_hints() -> None:
    assert is_mark(likely(i < 1))
    assert not is_mark(i < 1)
    assert is_hint(attribute(i, "pragma_loop_partition_hint", 1, EFFECT))
    assert not is_hint(attribute(i, "pragma_unroll", 1, EFFECT))


def test_values_of_a_range() -> None:
    low, high = values(Range(n, IntImm(4)))
    assert low is n
    assert show(Analyzer().simplify(high)) == "(n + 3)"


def test_comparisons_that_bound_the_variable_guard_it() -> None:
    def guards(condition: Any) -> bool:
        return is_guarded(i, loop(j, 4, IfThenElse(condition, EFFECT)), {}, AS_TVM)

    assert guards(i // 2 + j < 3)
    assert not guards(i % 3 < 1)
    assert not guards(j < 3)
    assert not guards(read(temporary("A", 8), i) < i)
