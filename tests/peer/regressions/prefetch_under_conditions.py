"""What is read where a fixed variable is bounded cannot be prefetched."""


def steps(tvm):
    te = tvm.te
    A1 = te.placeholder((16, 3), name="A1", dtype="int64")
    A2 = te.placeholder((7, 3), name="A2", dtype="int64")
    S3 = te.compute((23, 3), lambda i, j: te.if_then_else(i < 16, A1[i, j], A2[i - 16, j]), name="S3")
    s = te.create_schedule(S3.op)
    o_1, i_2 = s[S3].split(s[S3].op.axis[1], nparts=2)
    s[S3].prefetch(A1, o_1, 2)
    yield s, [A1, A2, S3]


def reference(np, A1, A2):
    S3 = np.concatenate([A1, A2])
    return [S3]
