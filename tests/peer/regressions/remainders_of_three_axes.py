"""Quotients and remainders of three fused axes, joined as far as TVM does."""


def steps(tvm):
    te = tvm.te
    A1 = te.placeholder((10, 5, 3), name="A1", dtype="int32")
    S2 = te.compute((10, 5, 3), lambda i, j, l: A1[i, j, l].astype('float32'), name="S2")
    S3 = te.compute((10, 5, 3), lambda i, j, l: S2[i, j, l] + j.astype('float32'), name="S3")
    S4 = te.compute((10, 2, 3), lambda i, j, l: S3[i, j + 1, l] + S3[i, j + 3, l], name="S4")
    s = te.create_schedule(S4.op)
    f_15 = s[S2].fuse(s[S2].op.axis[0], s[S2].op.axis[1])
    f_16 = s[S2].fuse(f_15, s[S2].op.axis[2])
    o_17, i_18 = s[S2].split(f_16, factor=16)
    s[S2].bind(i_18, te.thread_axis("threadIdx.x"))
    yield s, [A1, S4]


def reference(np, A1):
    S2 = A1.astype('float32')
    S3 = S2 + np.arange(S2.shape[1], dtype='float32').reshape(1, -1, 1)
    S4 = S3[:, 1:S3.shape[1] - 2] + S3[:, 3:S3.shape[1] - 0]
    return [S4]
