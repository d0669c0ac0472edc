"""An axis of at most as many elements as the factor keeps the factor."""


def steps(tvm):
    te = tvm.te
    S3 = te.placeholder((50, 50), name="S3", dtype="int32")
    S4 = te.compute((50, 50), lambda i, j: S3[i, j].astype('int64'), name="S4")
    S5 = te.compute((54, 54), lambda i, j: te.if_then_else(te.all(i >= 2, i < 52, j >= 2, j < 52), S4[i - 2, j - 2], te.const(0, 'int64')), name="S5")
    S6 = te.compute((54, 54), lambda i, j: S5[i, j] % te.const(5, 'int64'), name="S6")
    s = te.create_schedule(S6.op)
    f_1 = s[S6].fuse(s[S6].op.axis[0], s[S6].op.axis[1])
    o_2, i_3 = s[S6].split(f_1, factor=16)
    s[S5].compute_inline()
    s[S4].compute_at(s[S6], o_2)
    o_4, i_5 = s[S4].split(s[S4].op.axis[0], factor=2)
    yield s, [S3, S6]


def reference(np, S3):
    S4 = S3.astype('int64')
    S5 = np.pad(S4, 2)
    S6 = S5 % np.int64(5)
    return [S6]
