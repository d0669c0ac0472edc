"""A quotient and its remainder that stand in one index are joined first."""


def steps(tvm):
    te = tvm.te
    A1 = te.placeholder((10, 10), name="A1")
    A3 = te.placeholder((2,), name="A3")
    k2 = te.reduce_axis((0, 2), "k2")
    S4 = te.compute((10, 9), lambda i, j: te.sum(A1[i, j + k2] * A3[k2], axis=k2), name="S4")
    s = te.create_schedule(S4.op)
    ko_4, ki_5 = s[S4].split(s[S4].op.reduce_axis[0], factor=7)
    f_6 = s[S4].fuse(ko_4, ki_5)
    yield s, [A1, A3, S4]


def reference(np, A1, A3):
    S4 = A1[..., 0:A1.shape[-1] - 1] * A3[0] + A1[..., 1:A1.shape[-1] - 0] * A3[1]
    return [S4]
