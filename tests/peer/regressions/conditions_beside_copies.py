"""Conditions are not hoisted out of a loop with copies for virtual threads that have no data."""

sizes = {"n": 5}


def steps(tvm):
    te = tvm.te
    n = te.var("n")
    A1 = te.placeholder((n, 7, 8), name="A1")
    k = te.reduce_axis((0, 7), "k")
    S2 = te.compute((n, 8), lambda i, j: te.min(A1[i, k, j], axis=k), name="S2")
    S3 = te.compute(
        (n + 2, 8),
        lambda i, j: te.if_then_else(te.all(i >= 1, i < n + 1), S2[i - 1, j], te.const(0.0)),
        name="S3",
    )
    s = te.create_schedule(S3.op)
    s[S2].compute_at(s[S3], s[S3].op.axis[1])
    _, inner = s[S2].split(s[S2].op.axis[1], factor=2)
    s[S2].bind(inner, te.thread_axis("vthread"))
    yield s, [A1, S3]


def reference(np, A1):
    return [np.pad(A1.min(1), ((1, 1), (0, 0)))]
