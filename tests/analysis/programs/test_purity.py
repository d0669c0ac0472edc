"""Functions that write their own memory only, and call pure functions only."""

from __future__ import annotations

import pytest

from te_sched.analysis.programs.purity import impurity
from te_sched.script import from_source

PURE = (
    "B = T.alloc_buffer((4,))\n    with T.block('b'):\n        B[0] = A[0]",
    "T.evaluate(T.exp(A[0]))",
    "C = T.decl_buffer((4,), 'float32')\n    C[0] = A[0]",
)
IMPURE = (
    ("A[0] = T.float32(1)", "it writes to A, which it does not allocate"),
    ("T.evaluate(T.call_extern('int32', 'f', A[0]))", "may have side effects"),
)


@pytest.mark.parametrize(("body", "why"), [*((one, "") for one in PURE), *IMPURE])
def test_the_reason_why_a_function_is_not_pure(body: str, why: str) -> None:
    func = from_source(f"@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    {body}\n")
    assert why in (impurity(func) or "")
    assert (impurity(func) is None) == (not why)
