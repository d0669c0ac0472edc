"""Traces as programs."""

from __future__ import annotations

from te_sched import te
from tests.schedule.programs import product


def test_text_of_a_trace() -> None:
    p = product()
    n = te.var("n")
    outer, inner = p.s[p.D].split(p.D.op.axis[0], factor=n)
    p.s[p.D].bind(outer, te.thread_axis((0, 8), "threadIdx.x", name="tx"))
    p.s[p.D].set_store_predicate(inner.var.equal(0))
    copy = p.s.cache_read(p.A, "shared", [p.C])
    p.s[copy].compute_at(p.s[p.C], p.k)
    assert str(p.s.trace).splitlines() == [
        "from te_sched import te",
        "",
        "s = te.create_schedule([D.op])",
        "i, j = s[D].op.axis",
        "i_outer, i_inner = s[D].split(i, factor=n)",
        'tx = te.thread_axis((0, 8), "threadIdx.x", name="tx")'.replace('"', "'"),
        "s[D].bind(i_outer, tx)",
        "s[D].set_store_predicate(i_inner.var == te.const(0, 'int32'))",
        "A_shared = s.cache_read(A, 'shared', [s[C].op])".replace("s[C].op", "C"),
        "(k,) = s[C].op.reduce_axis",
        "s[A_shared].compute_at(s[C], k)",
    ]
    assert list(p.s.trace.names()) == ["A", "B", "C", "D", "n"]
