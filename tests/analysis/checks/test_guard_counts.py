"""Sizes of temporaries and loops whose products overflow."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.analysis.checks.guard_counts import counted_sizes, guard_counts, is_countable
from te_sched.arith.evaluate import evaluate
from te_sched.errors import CallError
from te_sched.ir import ops
from te_sched.ir.expr import Expr, Var
from te_sched.ir.stmt import AssertStmt
from te_sched.ir.visitor import statements
from tests.analysis.parsed import parsed

N, M, WIDE = Var("n"), Var("m"), Var("w", "int64")


@pytest.mark.parametrize(
    ("extent", "fits", "exceeds"),
    [
        *[(N * N, {N: 46340}, {N: 46341}), (N + M, {N: 2**31 - 2, M: 1}, {N: 2**31 - 1, M: 1})],
        ((N * M + 1) // 2, {N: 2**16, M: 2**15 - 1}, {N: 2**16, M: 2**15}),  # inside of a quotient
    ],
)
def test_sums_and_products_are_compared_with_the_limit_of_their_type(
    extent: Expr, fits: dict[Var, int], exceeds: dict[Var, int]
) -> None:
    condition = is_countable(extent)
    assert condition is not None
    wide = {var: np.int64(0) for var in (N, M)}
    assert evaluate(condition, wide | {var: np.int64(value) for var, value in fits.items()}, {})
    assert not evaluate(condition, wide | {var: np.int64(v) for var, v in exceeds.items()}, {})


def test_what_cannot_overflow_needs_no_condition() -> None:
    for extent in (N, N // M, ops.convert(5), WIDE * WIDE):
        assert is_countable(extent) is None


TEMPORARIES = """
T1 = T.allocate([n, n * n], "int8")
T2 = T.allocate([n], "int8")
T3 = T.allocate([w * w], "int8")
for i in range(w * 2):
    T.evaluate(0)
for j in range(4):
    T.evaluate(0)
"""


def test_allocations_are_asserted_and_the_rest_is_checked_by_the_call() -> None:
    func = parsed(TEMPORARIES, "n: T.int32, w: T.int64")
    asserts = [s for s in statements(guard_counts(func).body) if isinstance(s, AssertStmt)]
    assert ["T1 has n * n elements" in one.message.value for one in asserts] == [True]
    names = {size.what.removeprefix("a term of ") for size in counted_sizes(func)}
    assert names == {"the number of elements of T3", "the number of iterations of i"}
    plain = parsed("T2 = T.allocate([n], 'int8')\nT.evaluate(0)", "n: T.int32")
    assert guard_counts(plain) is plain


@pytest.mark.parametrize("size", [65536, 2**21])  # whose square and cube wrap to 0
def test_temporaries_that_int32_cannot_count_are_refused(size: int) -> None:
    n = te.var("n")
    a = te.placeholder((n,), "int8", name="A")
    b = te.compute((n, n, n), lambda i, j, k: a[i] + a[j] + a[k], name="B")
    c = te.compute((n,), lambda i: b[i, n - 1 - i, 0], name="C")
    module = te_sched.build(te.create_schedule(c.op), [a, c])
    given, found = np.ones(size, "int8"), np.zeros(size, "int8")
    with pytest.raises(CallError, match=r"B has .* elements, which is more than int32 indices"):
        module(given, found)
    module(given[:9], found[:9])
    assert (found[:9] == 3).all()
