"""The next row of a symbolic width: quotient and remainder stay apart."""

sizes = {'n1': 30, 'n2': 32}

def steps(tvm):
    te = tvm.te
    n1 = te.var("n1")
    n2 = te.var("n2")
    A3 = te.placeholder((n1, n2), name="A3", dtype="int32")
    A5 = te.placeholder((5,), name="A5", dtype="int32")
    k4 = te.reduce_axis((0, 5), "k4")
    S6 = te.compute((n1, n2 - 4), lambda i, j: te.sum(A3[i, j + k4] * A5[k4], axis=k4), name="S6")
    S7 = te.compute((n1 - 1, n2 - 4), lambda i, j: S6[i, j] + S6[i + 1, j], name="S7")
    s = te.create_schedule(S7.op)
    f_7 = s[S7].fuse(s[S7].op.axis[0], s[S7].op.axis[1])
    yield s, [A3, A5, S7]


def reference(np, A3, A5):
    S6 = A3[..., 0:A3.shape[-1] - 4] * A5[0] + A3[..., 1:A3.shape[-1] - 3] * A5[1] + A3[..., 2:A3.shape[-1] - 2] * A5[2] + A3[..., 3:A3.shape[-1] - 1] * A5[3] + A3[..., 4:A3.shape[-1] - 0] * A5[4]
    S7 = S6[0:S6.shape[0] - 1] + S6[1:S6.shape[0] - 0]
    return [S7]
