"""Looking at statements and copying them."""

from __future__ import annotations

from typing import Any

from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.visitor import children, statements
from te_sched.lowering.statements import (
    fresh_copy,
    has_attribute,
    is_nothing,
    keeps_memory,
    nodes_of,
    rebuilt,
    repeated,
    sequence,
    stores_and_calls,
)
from tests.lowering.build import (
    EFFECT,
    NOTHING,
    allocate,
    attribute,
    loop,
    read,
    store,
    temporary,
    var,
)

i, j = var("i"), var("j")
A, B = temporary("A", 8), temporary("B", 8)


def test_statements_are_in_program_order() -> None:
    choice = S.IfThenElse(i < 1, store(A, 1.0, i), store(A, 2.0, i))
    nest = loop(i, 4, choice, EFFECT)
    found = [type(node).__name__ for node in statements(nest)]
    assert found == ["For", "SeqStmt", "IfThenElse", "BufferStore", "BufferStore", "Evaluate"]
    assert stores_and_calls(nest) == 3


def test_attribute_is_found_below_loops() -> None:
    nest = loop(i, 4, attribute(j, "mark", 1, EFFECT))
    assert has_attribute(nest, "mark")
    assert not has_attribute(nest, "other")


def test_nodes_of_some_classes() -> None:
    nest = loop(i, 4, store(A, read(B, i) + read(B, 0), i))
    assert len(nodes_of(nest, frozenset({type(read(B, i))}))) == 2
    assert nodes_of(nest, frozenset({Var})).count(i) == 2


def test_sequences_are_joined() -> None:
    a, b, c = store(A, 1.0, 0), store(A, 2.0, 0), EFFECT
    joined = sequence([S.SeqStmt((a, b)), None, c])
    assert isinstance(joined, S.SeqStmt)
    assert joined.seq == (a, b, c)
    assert sequence([None, a]) is a
    assert is_nothing(sequence([]))
    assert is_nothing(NOTHING)
    assert not is_nothing(EFFECT)


def test_store_that_keeps_memory() -> None:
    assert keeps_memory(store(A, read(A, i + 1), i + 1))
    assert not keeps_memory(store(A, read(A, i + 1), i))
    assert not keeps_memory(store(A, read(B, i), i))


def test_copy_defines_variables_of_its_own() -> None:
    nest = loop(i, 4, allocate(A, store(A, read(B, i + j), i)))
    copy = fresh_copy(nest, {j: IntImm(3)})
    old, new = ([*statements(one)] for one in (nest, copy))
    assert new[0].loop_var is not i
    assert new[0].loop_var.name == "i"
    assert new[1].buffer_var is not old[1].buffer_var
    assert new[2].buffer.data is new[1].buffer_var
    assert new[2].indices == (new[0].loop_var,)
    assert new[2].value.buffer is B
    assert {j, i}.isdisjoint(nodes_of(copy, frozenset({Var})))


def test_rebuilt_maps_what_is_evaluated_before_what_is_inside() -> None:
    branch = S.IfThenElse(i < 3, store(A, 1.0, i), store(A, 2.0, i))
    nest = loop(i, 8, branch)
    seen: list[object] = []

    def noted(node: Any) -> Any:
        seen.append(node)
        return node

    assert rebuilt(nest, noted, noted) is nest
    assert rebuilt(branch, noted, noted) is branch
    assert seen == [nest.min, nest.extent, branch, *children(branch)]
    longer = rebuilt(nest, lambda e: ops.add(e, 1), noted)
    assert isinstance(longer, S.For)
    assert isinstance(longer.extent, IntImm)
    assert longer.extent.value == 9


def test_statements_that_occur_again() -> None:
    twice = store(A, 1.0, i)
    body = S.SeqStmt((twice, loop(i, 4, twice), store(A, 2.0, i)))
    assert repeated(body) == {twice}
