"""What is known at a place of a program, and the conditions of its accesses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from te_sched.analysis.checks.access_context import (
    AccessContext,
    guard_of,
    is_index_operator,
)
from te_sched.ir.expr import Add, Div, Expr, IntImm, Mod, Mul, Var
from te_sched.ir.occurrences import Occurrence, occurrences_of
from te_sched.ir.stmt import BufferStore, PrimFunc, SeqStmt, Stmt
from te_sched.ir.visitor import PART_FIELDS
from te_sched.wording import by_name
from tests.analysis.parsed import parsed


def stores(context: AccessContext, node: Stmt) -> Iterator[BufferStore]:
    """The stores of a statement; the context is that of the store while it is used."""
    if isinstance(node, BufferStore):
        context.stage = node.buffer.name
        yield node
    if isinstance(node, SeqStmt):
        for part in node.seq:
            yield from stores(context, part)
        return
    for name in PART_FIELDS[type(node)]:
        if getattr(node, name) is not None:
            with context.inside(node, name):
                yield from stores(context, getattr(node, name))


def needed(func: PrimFunc) -> list[str]:
    """The conditions of the accesses to the argument, as texts."""
    context = AccessContext(func)
    data = next(iter(func.buffer_map.values())).data
    return [
        f"{need.low} <= {need.at} < {context.analyzer.simplify(need.low + need.extent)}"
        + (" repeats" if need.repeats else "")
        for store in stores(context, func.body)
        for occurrence in occurrences_of(store)
        if occurrence.data is data
        for need in context.needs(occurrence)
    ]


MATCHED = 'n = T.int32()\ns = T.int32()\nA = T.match_buffer(a, (n, 4), "int8", {})\n'
POINTERS = "a: T.handle, x: T.int32"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (MATCHED.format("") + "A[x, 3] = T.int8(1)", ["0 <= x < n", "0 <= 3 < 4"]),
        # A vector that goes on into the next row, and one with strides.
        (
            MATCHED.format("") + "A[x, 0:8] = T.Broadcast(T.int8(1), 8)",
            ["0 <= T.Ramp(x * 4, 1, 8) < n * 4"],
        ),
        (
            MATCHED.format("strides=(s, 1)") + "A[x, 2:10] = T.Broadcast(T.int8(1), 8)",
            ["0 <= T.Ramp(x * A_s0 + 2, 1, 8) < (n - 1) * A_s0 + 4"],
        ),
        (
            MATCHED.format("strides=(s, 1)") + "A[x, 0:4] = T.Broadcast(T.int8(1), 4)",
            ["0 <= x < n", "0 <= T.Ramp(0, 1, 4) < 4"],
        ),
        # A view of larger elements has fewer of them.
        (
            MATCHED.format("") + 'B = T.Buffer((8,), "int32", data=A.data)\nB[x] = 1',
            ["0 <= x < n"],
        ),
    ],
)
def test_conditions_of_indices(body: str, expected: list[str]) -> None:
    assert needed(parsed(body, POINTERS)) == expected


def test_dimensions_of_one_element_repeat_where_they_are_read() -> None:
    body = MATCHED.format('buffer_type="auto"') + "for i in range(8):\n    A[i, 0] = A[i, x + 0]"
    reads = ["0 <= i < n repeats", "0 <= x < 4 repeats"]
    assert needed(parsed(body, POINTERS)) == [*reads, "0 <= i < n", "0 <= 0 < 4"]


def test_pointers_of_others_and_whole_buffers_have_no_conditions() -> None:
    context = AccessContext(parsed("T.evaluate(0)"))
    data = next(iter(context.memory))
    outside = Occurrence(Var("p", "handle"), None, (), True, False, (), IntImm(4))
    whole = Occurrence(data, None, (), True, True, ())
    part = Occurrence(data, None, (IntImm(9),), True, False, (), IntImm(8))
    assert [[*context.needs(occurrence)] for occurrence in (outside, whole)] == [[], []]
    (need,) = context.needs(part)
    assert (need.at, need.extent) == (part.indices[0], need.extent)
    assert int(need.extent) == 16  # type: ignore[call-overload]


BOUND = """
for i in range(4):
    with T.LetStmt(i * 2) as v:
        with T.LetStmt(I[i] & 7) as u:
            C[v] = A[u]
"""


def test_lets_and_loops_are_known_inside() -> None:
    func = parsed(BOUND)
    context = AccessContext(func)
    for store in stores(context, func.body):
        index, data = store.indices[0], store.value.indices[0]
        assert context.analyzer.const_bounds(index) == (0, 6)
        assert context.analyzer.const_bounds(data) == (0, 7)  # as far as its value tells
        assert context.analyzer.data.of(data)
        assert not context.analyzer.data.of(index)
        assert [loop.var.name for loop in context.scope.loops] == ["i"]
    assert context.scope.loops == ()


def test_conditions_hold_inside_of_a_scope() -> None:
    func = parsed("n = T.int32()\nB = T.match_buffer(a, (n,), 'int32')\nB[0] = B[x]", POINTERS)
    context = AccessContext(func)
    x, data, n = func.params[1], Var("data"), next(iter(func.buffer_map.values())).shape[0]
    context.analyzer.data.add(data)
    assert context.analyzer.can_prove(n >= 0)  # an extent
    for value in (x, data):
        with context.assuming(value < 5):
            assert context.analyzer.can_prove(value < 6)
        assert not context.analyzer.can_prove(value < 6)
    for value, is_known in ((x, True), (data, False)):
        with context.assuming(value + 1 < 5):  # the sum may wrap around: data is 2**31 - 1
            assert context.analyzer.can_prove(value < 5) == is_known


def test_sites_name_the_stage_and_how_to_guard() -> None:
    func = parsed("C[0] = A[I[0]]")
    context = AccessContext(func)
    for store in stores(context, func.body):
        read = next(one for one in occurrences_of(store) if one.data.name == "A")
        site = context.site("bounds", read, by_name, index="I[0]")
        assert (site["buffer"], site["does"], site["stage"]) == ("A", "read", "C")
        assert (site["index"], site["guard"]) == ("I[0]", guard_of("A", read))
        assert site["where"] == by_name("C").text
        assert "A" in site["guard"]


@pytest.mark.parametrize(("kind", "is_one"), [(Add, True), (Mul, True), (Div, False), (Mod, False)])
def test_operators_of_indices(kind: type[Expr], is_one: bool) -> None:
    assert is_index_operator(kind(Var("x"), Var("y"))) == is_one
    assert not is_index_operator(Var("x"))


def test_loops_that_run_have_an_iteration() -> None:
    """The last row exists where a loop over tiles of rows has an iteration."""
    body = (
        "n = T.int32()\nA = T.match_buffer(a, (n,))\nfor i in range((n + 3) // 4):\n    A[i] = 1.0"
    )
    context = AccessContext(func := parsed(body, POINTERS))
    size = func.buffer_map[func.params[0]].shape[0]
    known = [context.analyzer.can_prove(size >= 1) for _ in stores(context, func.body)]
    assert known == [True]
    assert not context.analyzer.can_prove(size >= 1)
