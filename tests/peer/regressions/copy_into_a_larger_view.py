"""A copy of memory onto itself stays where the shapes differ."""

sizes = {'n1': 10}
below = {'I6': 10}

def steps(tvm):
    te = tvm.te
    n1 = te.var("n1")
    A2 = te.placeholder((10, n1), name="A2")
    A4 = te.placeholder((2,), name="A4")
    k3 = te.reduce_axis((0, 2), "k3")
    S5 = te.compute((10, n1 - 1), lambda i, j: te.sum(A2[i, j + k3] * A4[k3], axis=k3), name="S5")
    I6 = te.placeholder((50,), name="I6", dtype="int32")
    S7 = te.compute((50, n1 - 1), lambda i, j: S5[I6[i], j], name="S7")
    S8 = te.compute((10, n1 - 1), lambda i, j: S5[i, j], name="S8")
    A10 = te.placeholder((n1 - 1,), name="A10")
    k9 = te.reduce_axis((0, n1 - 1), "k9")
    S11 = te.compute((10,), lambda i: te.sum(S8[i, k9] * A10[k9], axis=k9), name="S11")
    k12 = te.reduce_axis((1, 10), "k12")
    S13 = te.compute((n1 - 1,), lambda i: te.sum(S8[k12, i], axis=k12), name="S13")
    s = te.create_schedule([S7.op, S11.op, S13.op])
    ko_1, ki_2 = s[S13].split(s[S13].op.reduce_axis[0], factor=4)
    RF_3 = s.rfactor(S13, ki_2, 1)
    s[RF_3].compute_at(s[S13], s[S13].op.axis[0])
    s[RF_3].reorder(s[RF_3].op.axis[1], s[RF_3].op.axis[0])
    o_4, i_5 = s[RF_3].split(s[RF_3].op.axis[0], factor=32)
    f_6 = s[RF_3].fuse(s[RF_3].op.axis[1], o_4)
    o_7, i_8 = s[S8].split(s[S8].op.axis[1], nparts=7)
    o_9, i_10 = s[S8].split(i_8, factor=4)
    yield s, [A2, A4, I6, A10, S7, S11, S13]


def reference(np, A2, A4, I6, A10):
    S5 = A2[..., 0:A2.shape[-1] - 1] * A4[0] + A2[..., 1:A2.shape[-1] - 0] * A4[1]
    S7 = S5[I6]
    S8 = S5.transpose((0, 1))
    S11 = S8 @ A10
    S13 = S8[1:].sum(0, dtype=S8.dtype)
    return [S7, S11, S13]
