"""A loop of max(n - 1, 0) steps that runs has n - 1 steps."""

sizes = {'n1': 48}

def steps(tvm):
    te = tvm.te
    n1 = te.var("n1")
    S3 = te.placeholder((n1, 8), name="S3")
    C4_s = te.placeholder((n1, 8), name="C4_s", dtype="float32")
    C4_i = te.compute((1, 8), lambda _, j: S3[0, j], name="C4_i")
    C4_u = te.compute((n1, 8), lambda t, j: C4_s[t - 1, j] + S3[t, j], name="C4_u")
    C4 = te.scan(C4_i, C4_u, C4_s, inputs=[S3], name="C4")
    C5_s = te.placeholder((n1, 8), name="C5_s", dtype="float32")
    C5_i = te.compute((1, 8), lambda _, j: C4[0, j], name="C5_i")
    C5_u = te.compute((n1, 8), lambda t, j: C5_s[t - 1, j] + C4[t, j], name="C5_u")
    C5 = te.scan(C5_i, C5_u, C5_s, inputs=[C4], name="C5")
    s = te.create_schedule(C5.op)
    yield s, [S3, C5]


def reference(np, S3):
    C4 = np.cumsum(S3, axis=0, dtype=S3.dtype)
    C5 = np.cumsum(C4, axis=0, dtype=C4.dtype)
    return [C5]
