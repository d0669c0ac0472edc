"""(x % 2 + 1) // 2 is x % 2."""


def steps(tvm):
    te = tvm.te
    A1 = te.placeholder((33,), name="A1", dtype="float16")
    T2a, T2b = te.compute((33,), lambda i: (A1[i] + te.const(1.5, 'float16'), A1[i] * A1[i]), name="T2")
    S3 = te.compute((32,), lambda i: T2b[i] + T2b[i + 1], name="S3")
    S4 = te.compute((64,), lambda i: S3[i // 2], name="S4")
    S5 = te.compute((63,), lambda i: S4[i] + S4[i + 1], name="S5")
    s = te.create_schedule(S5.op)
    s[S4].compute_inline()
    s[S3].compute_at(s[S5], s[S5].op.axis[0])
    o_1, i_2 = s[S3].split(s[S3].op.axis[0], nparts=5)
    s[T2a].compute_at(s[S3], o_1)
    o_3, i_4 = s[T2a].split(s[T2a].op.axis[0], factor=2)
    s[T2a].vectorize(i_4)
    yield s, [A1, S5]


def reference(np, A1):
    T2a = A1 + np.float16(1.5)
    T2b = A1 * A1
    S3 = T2b[0:T2b.shape[0] - 1] + T2b[1:T2b.shape[0] - 0]
    S4 = np.repeat(S3, 2, 0)
    S5 = S4[0:S4.shape[0] - 1] + S4[1:S4.shape[0] - 0]
    return [S5]
