"""rfactor."""

from __future__ import annotations

from te_sched import te
from te_sched.ir.expr import Reduce
from tests.schedule.programs import leaves, product, stages


def test_rfactor_makes_two_steps() -> None:
    p = product()
    _, inner = p.s[p.C].split(p.k, factor=5)
    first = p.s.rfactor(p.C, inner)
    assert stages(p.s) == "A, B, C.rf, C.repl, D"
    assert leaves(p.s[first]) == "k.inner, i, j, k.outer"
    assert leaves(p.s[p.C]) == "ax0, ax1, k.inner.v"
    (body,) = p.s[first].op.body
    assert isinstance(body, Reduce)
    assert str(body.condition) == "T.likely(k_inner + k_outer * 5 < 32)"
    last = p.s.rfactor(p.C, p.s[p.C].op.reduce_axis[0], factor_axis=-1)
    assert leaves(p.s[last]) == "ax0, ax1, k.inner.v"
    assert not p.s[last].op.reduce_axis


def test_rfactor_forgets_what_was_decided_about_loops_that_are_gone() -> None:
    p = product()
    p.s[p.C].bind(p.k, te.thread_axis("threadIdx.x"))
    p.s[p.C].split(p.C.op.axis[0], 4)
    p.s.rfactor(p.C, p.k)
    assert not p.s[p.C].iter_var_attrs
    assert not p.s[p.C].relations


def test_rfactor_of_a_tuple() -> None:
    A = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    both = te.comm_reducer(
        lambda x, y: (x[0] + y[0], x[1] * y[1]),
        lambda p, q: (te.const(0, p), te.const(1, q)),
    )
    S, T = te.compute((4,), lambda i: both((A[i, k], A[i, k]), axis=k), name="S")
    s = te.create_schedule([S, T])
    first, second = s.rfactor(T, s[S].split(k, 2)[0])
    assert [one.name for one in (first, second)] == ["S.rf.v0", "S.rf.v1"]
    assert s[S].op.num_outputs == 2
