"""Programs to transform."""

import te_sched
from te_sched import te, tir


def schedule(kind="vectorize", extent=4):
    a = te.placeholder((extent,), name="a")
    b = te.compute((extent,), lambda i: a[i] * 2.0, name="b")
    s = te.create_schedule(b.op)
    if kind:
        getattr(s[b], kind)(b.op.axis[0])
    return s, [a, b]


def functions(**attrs):
    """A module of one function."""
    func = tir.PrimFunc((), tir.Evaluate(0), {})
    return te_sched.IRModule({"f": func.with_attr(attrs) if attrs else func})
