"""The region at one place of a fused axis, united with a whole one."""


def steps(tvm):
    te = tvm.te
    S3 = te.placeholder((50, 100), name="S3")
    S4 = te.compute((50, 100), lambda i, j: te.sigmoid(S3[i, j]), name="S4")
    T5a, T5b = te.compute((50, 100), lambda i, j: (S4[i, j] + te.const(-1.0, 'float32'), S4[i, j] * S4[i, j]), name="T5")
    S6 = te.compute((50, 100), lambda i, j: T5b[i, j] - S4[i, j], name="S6")
    s = te.create_schedule(S6.op)
    f_1 = s[S6].fuse(s[S6].op.axis[0], s[S6].op.axis[1])
    s[T5a].compute_at(s[S6], f_1)
    s[S4].compute_at(s[S6], f_1)
    yield s, [S3, S6]


def reference(np, S3):
    S4 = 1 / (1 + np.exp(-S3))
    T5a = S4 + np.float32(-1.0)
    T5b = S4 * S4
    S6 = T5b - S4
    return [S6]
