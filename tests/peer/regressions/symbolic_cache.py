"""A region that certainly covers its dimension is the dimension."""

sizes = {'n1': 8}

def steps(tvm):
    te = tvm.te
    n1 = te.var("n1")
    A2 = te.placeholder((n1,), name="A2")
    S5 = te.compute((n1,), lambda i: A2[i] + i.astype('float32'), name="S5")
    S6 = te.compute((n1 - 1,), lambda i: S5[i] + S5[i + 1], name="S6")
    s = te.create_schedule(S6.op)
    CR_2 = s.cache_read(S5, "local", [S6])
    o_3, i_4 = s[S6].split(s[S6].op.axis[0], factor=32)
    s[CR_2].compute_at(s[S6], o_3)
    yield s, [A2, S6]


def reference(np, A2):
    S5 = A2 + np.arange(A2.shape[0], dtype='float32').reshape(-1)
    S6 = S5[0:S5.shape[0] - 1] + S5[1:S5.shape[0] - 0]
    return [S6]
