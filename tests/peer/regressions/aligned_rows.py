"""The alignment of a temporary counts elements without the gaps of storage_align."""


def steps(tvm):
    te = tvm.te
    A1 = te.placeholder((12, 1, 3), name="A1")
    k2 = te.reduce_axis((0, 1), "k2")
    S3 = te.compute((12, 3), lambda i, j: te.min(A1[i, k2, j], axis=k2), name="S3")
    S4 = te.compute((14, 5), lambda i, j: te.if_then_else(te.all(i >= 1, i < 13, j >= 1, j < 4), S3[i - 1, j - 1], te.const(0, 'float32')), name="S4")
    A5 = te.placeholder((5,), name="A5")
    S6 = te.compute((14, 5), lambda i, j: S4[i, j] - A5[j], name="S6")
    s = te.create_schedule(S6.op)
    s[S4].compute_at(s[S6], s[S6].op.axis[1])
    s[S3].compute_at(s[S6], s[S6].op.axis[1])
    s[S3].storage_align(s[S3].op.axis[0], 32, 8)
    yield s, [A1, A5, S6]


def reference(np, A1, A5):
    S3 = A1.min(1)
    S4 = np.pad(S3, 1)
    S6 = S4 - A5[None, :]
    return [S6]
