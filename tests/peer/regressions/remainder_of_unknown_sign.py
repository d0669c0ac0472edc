"""A remainder by an extent of unknown sign is only known to be smaller than its magnitude."""

sizes = {'n1': 7}

def steps(tvm):
    te = tvm.te
    n1 = te.var("n1")
    A2 = te.placeholder((5, n1), name="A2", dtype="int32")
    S3 = te.compute((7, n1 + 2), lambda i, j: te.if_then_else(te.all(i >= 1, i < 6, j >= 1, j < n1 + 1), A2[i - 1, j - 1], te.const(0, 'int32')), name="S3")
    S4 = te.compute((7, n1 + 2), lambda i, j: S3[i, j] + te.const(5, 'int32'), name="S4")
    S5 = te.compute((7, n1 + 2), lambda i, j: te.max(S4[i, j], te.const(-1, 'int32')), name="S5")
    s = te.create_schedule(S5.op)
    f_1 = s[S5].fuse(s[S5].op.axis[0], s[S5].op.axis[1])
    s[S4].compute_at(s[S5], f_1)
    yield s, [A2, S5]


def reference(np, A2):
    S3 = np.pad(A2, 1)
    S4 = S3 + np.int32(5)
    S5 = np.maximum(S4, np.int32(-1))
    return [S5]
