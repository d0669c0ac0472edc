"""n is never more than the multiple above it."""

sizes = {'n2': 100, 'n5': 7}

def steps(tvm):
    te = tvm.te
    n2 = te.var("n2")
    n5 = te.var("n5")
    A6 = te.placeholder((n2, n5), name="A6")
    S9 = te.compute((n2, n5), lambda i, j: A6[i, j].astype('float64'), name="S9")
    k10 = te.reduce_axis((0, n5), "k10")
    S11 = te.compute((n2,), lambda i: te.sum(S9[i, k10], axis=k10), name="S11")
    A12 = te.placeholder((n2,), name="A12", dtype="float64")
    S13 = te.compute((n2, n5), lambda i, j: S9[i, j] + A12[i], name="S13")
    s = te.create_schedule([S11.op, S13.op])
    CR_1 = s.cache_read(S9, "shared", [S11])
    ko_2, ki_3 = s[S11].split(s[S11].op.reduce_axis[0], nparts=3)
    s[CR_1].compute_at(s[S11], ki_3)
    yield s, [A6, A12, S11, S13]


def reference(np, A6, A12):
    S9 = A6.astype('float64')
    S11 = S9.sum(1, dtype=S9.dtype)
    S13 = S9 + A12[:, None]
    return [S11, S13]
