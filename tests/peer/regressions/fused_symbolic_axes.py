"""Quotient and remainder by a symbolic extent are joined."""

sizes = {'n1': 5}

def steps(tvm):
    te = tvm.te
    n1 = te.var("n1")
    A2 = te.placeholder((16, n1), name="A2", dtype="int32")
    S3 = te.placeholder((16, n1), name="S3", dtype="int32")
    S4 = te.compute((16, n1), lambda i, j: (S3[i, j] >> 1) & 7, name="S4")
    S9 = te.compute((16, n1), lambda i, j: S4[i, j] - A2[i, j], name="S9")
    s = te.create_schedule(S9.op)
    f_11 = s[S4].fuse(s[S4].op.axis[0], s[S4].op.axis[1])
    yield s, [A2, S3, S9]


def reference(np, A2, S3):
    S4 = (S3 >> 1) & np.int32(7)
    S9 = S4 - A2
    return [S9]
