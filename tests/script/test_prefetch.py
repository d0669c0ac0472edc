"""The text of a prefetch that is lowered is read back."""

from __future__ import annotations

import te_sched
from te_sched import te
from te_sched.ir.structural import structural_equal
from te_sched.script import from_source


def test_a_lowered_prefetch_is_read_back() -> None:
    A = te.placeholder((32, 32), "float32", name="A")
    B = te.compute((32, 32), lambda i, j: A[i, j] + 1, name="B")
    schedule = te.create_schedule(B.op)
    schedule[B].prefetch(A, B.op.axis[0], 1)
    module = te_sched.lower(schedule, [A, B], simple_mode=True)
    text = module.script()
    assert "T.prefetch(T.address_of(" in text
    assert structural_equal(from_source(text), module)
