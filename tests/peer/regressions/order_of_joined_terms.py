"""Terms of joined indices come in the order of the rows."""


def steps(tvm):
    te = tvm.te
    A1 = te.placeholder((10, 5), name="A1")
    S2 = te.compute((10, 5), lambda i, j: A1[i, j] * te.const(-1.0, 'float32') + te.const(2.0, 'float32'), name="S2")
    S3 = te.compute((8, 5), lambda i, j: S2[i, j] + S2[i + 2, j], name="S3")
    A4 = te.placeholder((4, 5), name="A4")
    S5 = te.compute((12, 5), lambda i, j: te.if_then_else(i < 8, S3[i, j], A4[i - 8, j]), name="S5")
    A6 = te.placeholder((5,), name="A6")
    S7 = te.compute((12, 5), lambda i, j: S5[i, j] + A6[j], name="S7")
    s = te.create_schedule(S7.op)
    f_1 = s[S7].fuse(s[S7].op.axis[0], s[S7].op.axis[1])
    o_2, i_3 = s[S7].split(f_1, factor=16)
    s[S7].bind(o_2, te.thread_axis("blockIdx.x"))
    s[S7].bind(i_3, te.thread_axis("threadIdx.x"))
    s[S5].compute_at(s[S7], o_2)
    f_4 = s[S5].fuse(s[S5].op.axis[0], s[S5].op.axis[1])
    o_5, i_6 = s[S5].split(f_4, factor=16)
    s[S5].bind(i_6, te.thread_axis("threadIdx.x"))
    s[S3].compute_inline()
    s[S2].compute_at(s[S5], o_5)
    f_7 = s[S2].fuse(s[S2].op.axis[0], s[S2].op.axis[1])
    o_8, i_9 = s[S2].split(f_7, factor=16)
    s[S2].bind(i_9, te.thread_axis("threadIdx.x"))
    s[S2].pragma(i_9, "unroll_explicit", False)
    yield s, [A1, A4, A6, S7]


def reference(np, A1, A4, A6):
    S2 = A1 * np.float32(-1.0) + np.float32(2.0)
    S3 = S2[0:S2.shape[0] - 2] + S2[2:S2.shape[0] - 0]
    S5 = np.concatenate([S3, A4])
    S7 = S5 + A6[None, :]
    return [S7]
