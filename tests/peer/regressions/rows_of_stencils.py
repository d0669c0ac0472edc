"""Positions in the next row, whose quotient and remainder are simplified apart."""

below = {'I3': 6}

def steps(tvm):
    te = tvm.te
    A1 = te.placeholder((8, 2, 3), name="A1")
    S2 = te.compute((6, 2, 3), lambda i, j, l: A1[i, j, l] + A1[i + 1, j, l] + A1[i + 2, j, l], name="S2")
    I3 = te.placeholder((18,), name="I3", dtype="int32")
    S4 = te.compute((18, 2, 3), lambda i, j, l: S2[I3[i], j, l], name="S4")
    A5 = te.placeholder((18, 2, 3), name="A5")
    S6 = te.compute((18, 2, 3), lambda i, j, l: S4[i, j, l] - A5[i, j, l], name="S6")
    s = te.create_schedule(S6.op)
    f_1 = s[S6].fuse(s[S6].op.axis[0], s[S6].op.axis[1])
    f_2 = s[S6].fuse(f_1, s[S6].op.axis[2])
    o_3, i_4 = s[S6].split(f_2, factor=16)
    s[S6].bind(o_3, te.thread_axis("blockIdx.x"))
    s[S6].bind(i_4, te.thread_axis("threadIdx.x"))
    s[S4].compute_inline()
    s[S2].compute_at(s[S6], o_3)
    f_5 = s[S2].fuse(s[S2].op.axis[0], s[S2].op.axis[1])
    f_6 = s[S2].fuse(f_5, s[S2].op.axis[2])
    o_7, i_8 = s[S2].split(f_6, factor=16)
    s[S2].bind(i_8, te.thread_axis("threadIdx.x"))
    yield s, [A1, I3, A5, S6]


def reference(np, A1, I3, A5):
    S2 = A1[0:A1.shape[0] - 2] + A1[1:A1.shape[0] - 1] + A1[2:A1.shape[0] - 0]
    S4 = S2[I3]
    S6 = S4 - A5
    return [S6]
