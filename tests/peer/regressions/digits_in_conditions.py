"""A common factor is divided out of a condition with the digit that is left."""


def steps(tvm):
    te = tvm.te
    A1 = te.placeholder((20, 30), name="A1", dtype="float16")
    A3 = te.placeholder((5,), name="A3", dtype="float16")
    k2 = te.reduce_axis((0, 5), "k2")
    S4 = te.compute((20, 26), lambda i, j: te.sum(A1[i, j + k2] * A3[k2], axis=k2), name="S4")
    s = te.create_schedule(S4.op)
    ko_2, ki_3 = s[S4].split(s[S4].op.reduce_axis[0], factor=2)
    RF_4 = s.rfactor(S4, ko_2, 2)
    o_9, i_10 = s[S4].split(s[S4].op.axis[0], factor=4)
    o_11, i_12 = s[S4].split(s[S4].op.axis[1], factor=8)
    s[S4].bind(o_9, te.thread_axis("blockIdx.y"))
    s[S4].bind(o_11, te.thread_axis("blockIdx.x"))
    s[RF_4].compute_at(s[S4], o_9)
    f_13 = s[RF_4].fuse(s[RF_4].op.axis[0], s[RF_4].op.axis[1])
    f_14 = s[RF_4].fuse(f_13, s[RF_4].op.axis[2])
    o_15, i_16 = s[RF_4].split(f_14, factor=8)
    yield s, [A1, A3, S4]


def reference(np, A1, A3):
    S4 = A1[..., 0:A1.shape[-1] - 4] * A3[0] + A1[..., 1:A1.shape[-1] - 3] * A3[1] + A1[..., 2:A1.shape[-1] - 2] * A3[2] + A1[..., 3:A1.shape[-1] - 1] * A3[3] + A1[..., 4:A1.shape[-1] - 0] * A3[4]
    return [S4]
