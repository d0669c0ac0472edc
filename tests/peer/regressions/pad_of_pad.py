"""A constant moves to the other side of a comparison before a < b + 1 becomes a <= b."""

sizes = {"n1": 50}


def steps(tvm):
    te = tvm.te
    n1 = te.var("n1")
    A2 = te.placeholder((n1,), name="A2", dtype="int32")
    S3 = te.compute(
        (n1 + 2,),
        lambda i: te.if_then_else(te.all(i >= 1, i < n1 + 1), A2[i - 1], te.const(0, "int32")),
        name="S3",
    )
    S6 = te.compute(
        (n1 + 4,),
        lambda i: te.if_then_else(te.all(i >= 1, i < n1 + 3), S3[i - 1], te.const(0, "int32")),
        name="S6",
    )
    s = te.create_schedule(S6.op)
    o_1, _ = s[S6].split(s[S6].op.axis[0], factor=3)
    s[S3].compute_at(s[S6], o_1)
    yield s, [A2, S6]


def reference(np, A2):
    return [np.pad(A2, 2)]
