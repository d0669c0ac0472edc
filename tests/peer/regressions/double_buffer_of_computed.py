"""Fetching ahead what the iteration computes is refused."""


def steps(tvm):
    te = tvm.te
    S2 = te.placeholder((97, 100), name="S2", dtype="float16")
    A3 = te.placeholder((97, 100), name="A3", dtype="float16")
    S4 = te.compute((97, 100), lambda i, j: te.max(S2[i, j], A3[i, j]), name="S4")
    S5 = te.compute((99, 102), lambda i, j: te.if_then_else(te.all(i >= 1, i < 98, j >= 1, j < 101), S4[i - 1, j - 1], te.const(0, 'float16')), name="S5")
    A6 = te.placeholder((99,), name="A6", dtype="float16")
    S7 = te.compute((99, 102), lambda i, j: S5[i, j] * A6[i], name="S7")
    s = te.create_schedule(S7.op)
    s[S5].compute_at(s[S7], s[S7].op.axis[0])
    s[S5].double_buffer()
    s[S4].compute_at(s[S7], s[S7].op.axis[0])
    yield s, [S2, A3, A6, S7]


def reference(np, S2, A3, A6):
    S4 = np.maximum(S2, A3)
    S5 = np.pad(S4, 1)
    S7 = S5 * A6[:, None]
    return [S7]
