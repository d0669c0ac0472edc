"""An index split into quotient and remainder is joined in positions."""


def steps(tvm):
    te = tvm.te
    A1 = te.placeholder((50, 48), name="A1", dtype="uint8")
    S2 = te.compute((2400,), lambda i: A1[i // 48, i % 48], name="S2")
    S3 = te.compute((2402,), lambda i: te.if_then_else(te.all(i >= 1, i < 2401), S2[i - 1], te.const(0, 'uint8')), name="S3")
    s = te.create_schedule(S3.op)
    s[S2].compute_inline()
    yield s, [A1, S3]


def reference(np, A1):
    S2 = A1.reshape(-1)
    S3 = np.pad(S2, 1)
    return [S3]
