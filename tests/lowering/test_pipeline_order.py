"""What the order of the passes shows in programs."""

from __future__ import annotations

import te_sched
from te_sched import te


def test_guards_of_virtual_threads_are_simplified_before_they_are_renormalized() -> None:
    A = te.placeholder((48,), name="A")
    B = te.compute(
        (52,),
        lambda i: te.if_then_else(te.all(i >= 2, i < 50), A[i - 2], te.const(0, "float32")),
        name="B",
    )
    s = te.create_schedule(B.op)
    _, inner = s[B].split(B.op.axis[0], factor=5)
    s[B].bind(inner, te.thread_axis("vthread"))
    text = te_sched.lower(s, [A, B], simple_mode=True).script()
    assert "1 <= i_outer and i_outer < 10" in text


def test_inner_loop_has_the_factor_where_the_parent_may_be_as_long() -> None:
    A = te.placeholder((54, 54), name="A")
    B = te.compute((54, 54), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((54, 54), lambda i, j: B[i, j] * 2.0, name="C")
    s = te.create_schedule(C.op)
    outer, _ = s[C].split(s[C].fuse(*C.op.axis), factor=16)
    s[B].compute_at(s[C], outer)
    s[B].split(B.op.axis[0], factor=2)
    assert "for i_inner in range(2):" in te_sched.lower(s, [A, C], simple_mode=True).script()
