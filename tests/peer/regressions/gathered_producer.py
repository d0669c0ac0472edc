"""The region of a gathered producer is its whole dimension."""

sizes = {'n1': 18, 'n2': 10, 'n5': 16}
below = {'I6': 18}

def steps(tvm):
    te = tvm.te
    n1 = te.var("n1")
    n2 = te.var("n2")
    n5 = te.var("n5")
    A3 = te.placeholder((n1, n2), name="A3", dtype="float16")
    S4 = te.compute((n1, n2), lambda i, j: A3[i, j].astype('float32'), name="S4")
    I6 = te.placeholder((n5,), name="I6", dtype="int32")
    S7 = te.compute((n5, n2), lambda i, j: S4[I6[i], j], name="S7")
    A8 = te.placeholder((n5,), name="A8")
    S9 = te.compute((n5, n2), lambda i, j: S7[i, j] + A8[i], name="S9")
    s = te.create_schedule(S9.op)
    s[S7].compute_at(s[S9], s[S9].op.axis[0])
    s[S4].compute_at(s[S9], s[S9].op.axis[0])
    yield s, [A3, I6, A8, S9]


def reference(np, A3, I6, A8):
    S4 = A3.astype('float32')
    S7 = S4[I6]
    S9 = S7 + A8[:, None]
    return [S9]
