"""Shadow memory: which memory needs it, and what it holds."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched.analysis.checks.shadows import (
    Survey,
    allocated,
    at_least_zero,
    clock_of,
    load,
    store,
)
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.stmt import BufferStore, SeqStmt
from tests.analysis.parsed import parsed
from tests.codegen.programs import buffer, build, function

PARALLEL = "for i in T.parallel(16):\n    {}"
NESTED = "for i in T.parallel(4):\n    for j in T.vectorized(4):\n        C[i * 4 + j] = A[0]"
PRIVATE = (
    "for i in T.parallel(16):\n    B = T.decl_buffer((1,), 'float32')\n"
    "    B[0] = A[i]\n    C[i] = B[0]"
)


@pytest.mark.parametrize(
    ("body", "written", "shared", "deepest"),
    [
        (PARALLEL.format("C[i] = A[i]"), "C", {("C", 0)}, 1),
        ("for i in range(16):\n    C[i] = A[i]", "C", set(), 0),
        (NESTED, "C", {("C", 0), ("C", 1)}, 2),
        (PRIVATE, "BC", {("C", 0)}, 1),  # each iteration has a B of its own
        (PARALLEL.format("T.evaluate(A[i])"), "", set(), 1),
    ],
)
def test_memory_that_concurrent_iterations_share(
    body: str, written: str, shared: set[tuple[str, int]], deepest: int
) -> None:
    survey = Survey(parsed(body))
    assert {data.name for data in survey.written} == {*written}
    assert {(data.name, depth) for data, depth in survey.shared} == shared
    assert survey.deepest == deepest


def test_shadows_have_what_is_asked_for() -> None:
    survey = Survey(parsed(NESTED))
    data = next(data for data, depth in survey.shared if depth == 1)
    shadow = survey.shadow_of(data, "C", IntImm(16), with_written=True)
    assert [(one.name, one.dtype) for one in shadow.buffers()] == [
        ("C.written", "uint8"),
        *[(f"C.{kind}", "int64") for kind in ("writer", "reader", "other")] * 2,
    ]
    assert sorted(shadow.traces) == [0, 1]
    other = survey.shadow_of(Var("x", "handle"), "X", IntImm(16), with_written=False)
    assert not [*other.buffers()]
    assert [int(clock_of(depth).shape[0]) for depth in (0, 1, 3)] == [1, 1, 3]


@pytest.mark.parametrize("initial", [0, -1])
def test_shadows_are_filled(initial: int) -> None:
    survey, out, zero = Survey(parsed(NESTED)), buffer("out", [2], "int64"), IntImm(0)
    shadow = survey.shadow_of(next(iter(survey.written)), "C", at_least_zero(IntImm(4)), False)
    first, second = shadow.traces[0].writer, shadow.traces[1].writer
    body = SeqStmt(
        (
            store(first, IntImm(3), load(first, IntImm(3)) + 5),
            BufferStore(out, load(first, IntImm(3)), (zero,)),
            BufferStore(out, load(second, IntImm(2)), (IntImm(1),)),
        )
    )
    result = np.zeros(2, "int64")
    build(function([out], allocated([first, second], body, initial)))(result)
    np.testing.assert_array_equal(result, [initial + 5, initial])
