"""The conversion of a ramp to another integer type is a ramp."""


def steps(tvm):
    te = tvm.te
    S4 = te.placeholder((32,), name="S4", dtype="int64")
    S5 = te.compute((32,), lambda i: S4[i] + i.astype("int64"), name="S5")
    s = te.create_schedule(S5.op)
    s[S5].vectorize(s[S5].op.axis[0])
    yield s, [S4, S5]


def reference(np, S4):
    S5 = S4 + np.arange(S4.shape[0], dtype="int64").reshape(-1)
    return [S5]
