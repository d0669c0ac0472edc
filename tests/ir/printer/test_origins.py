"""Lines of programs know their statements."""

from __future__ import annotations

from te_sched.ir import stmt as S
from te_sched.ir.expr import Var
from te_sched.ir.printer import script
from te_sched.ir.printer.origins import lines_of_statements, mark_lines, origin_of, script_lines
from tests.lowering.build import function, loop, store, temporary

A, x = temporary("A", 8), Var("x")
STORE = store(A, 1.0, x)
LOOP = loop(x, 8, STORE)
MODULE = S.IRModule({"main": function(LOOP, A)})


def test_lines_are_those_of_the_text() -> None:
    assert "\n".join(script_lines(MODULE)).rstrip() == script(MODULE).rstrip()


def test_lines_know_the_innermost_statement() -> None:
    found = {line.strip(): origin_of(line) for line in script_lines(MODULE)}
    assert found["for x in range(8):"] is LOOP
    assert found["A[x] = T.float32(1)"] is STORE
    assert origin_of("plain text") is None


def test_each_statement_has_one_first_line() -> None:
    lines = script_lines(MODULE)
    numbers = {id(node): number for node, number in lines_of_statements(lines)}
    assert lines[numbers[id(LOOP)] - 1].strip().startswith("for x")
    assert numbers[id(STORE)] == numbers[id(LOOP)] + 1


def test_what_is_marked_stays_marked() -> None:
    lines = ["head", "inner"]
    mark_lines(lines, 1, STORE)
    mark_lines(lines, 0, LOOP)
    assert [origin_of(line) for line in lines] == [LOOP, STORE]
