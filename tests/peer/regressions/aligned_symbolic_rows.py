"""Each product of an index and a stride is simplified by itself."""

sizes = {"n1": 5}


def steps(tvm):
    te = tvm.te
    n1 = te.var("n1")
    A1 = te.placeholder((4, 3, n1), name="A1")
    S2 = te.compute((4, 3, n1), lambda *i: A1(*i) + te.const(0.5, "float32"), name="S2")
    S3 = te.compute((4, 3, n1), lambda *i: S2(*i) * A1(*i), name="S3")
    s = te.create_schedule(S3.op)
    s[S2].storage_align(s[S2].op.axis[2], 8, 0)
    yield s, [A1, S3]


def reference(np, A1):
    return [(A1 + np.float32(0.5)) * A1]
