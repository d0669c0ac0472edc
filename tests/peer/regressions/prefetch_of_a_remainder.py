"""A remainder is fetched ahead as a set of values."""


def steps(tvm):
    te = tvm.te
    A1 = te.placeholder((50, 20), name="A1")
    S2 = te.compute((50, 20), lambda i, j: te.tanh(A1[i, j]), name="S2")
    s = te.create_schedule(S2.op)
    xo_1, yo_2, xi_3, yi_4 = s[S2].tile(s[S2].op.axis[0], s[S2].op.axis[1], 3, 8)
    f_5 = s[S2].fuse(yo_2, xi_3)
    s[S2].prefetch(A1, f_5, 2)
    yield s, [A1, S2]


def reference(np, A1):
    S2 = np.tanh(A1)
    return [S2]
