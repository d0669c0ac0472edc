"""A stage of two results, of which only the second is read."""


def steps(tvm):
    te = tvm.te
    A1 = te.placeholder((5, 5, 1), name="A1", dtype="int64")
    T2a, T2b = te.compute((5, 5, 1), lambda i, j, l: (A1[i, j, l] + te.const(2, 'int64'), A1[i, j, l] * A1[i, j, l]), name="T2")
    k3 = te.reduce_axis((0, 5), "k3")
    S4 = te.compute((5, 1), lambda i, j: te.sum(T2b[i, k3, j], axis=k3), name="S4")
    s = te.create_schedule(S4.op)
    ko_1, ki_2 = s[S4].split(s[S4].op.reduce_axis[0], factor=32)
    RF_3 = s.rfactor(S4, ko_1, 0)
    s[T2a].compute_at(s[RF_3], s[RF_3].op.reduce_axis[0])
    yield s, [A1, S4]


def reference(np, A1):
    T2a = A1 + np.int64(2)
    T2b = A1 * A1
    S4 = T2b.sum(1, dtype=T2b.dtype)
    return [S4]
