"""Vectors that are no power of two lie next to each other in memory, without padding."""


def steps(tvm):
    te = tvm.te
    A1 = te.placeholder((64, 3), name="A1")
    S2 = te.compute((64, 3), lambda i, j: A1[i, j] * A1[i, j], name="S2")
    S3 = te.compute((64, 3), lambda i, j: S2[63 - i, j] + A1[i, j], name="S3")
    s = te.create_schedule(S3.op)
    s[S2].vectorize(s[S2].op.axis[1])
    s[S3].vectorize(s[S3].op.axis[1])
    yield s, [A1, S3]


def reference(np, A1):
    S2 = A1 * A1
    S3 = S2[::-1] + A1
    return [S3]
