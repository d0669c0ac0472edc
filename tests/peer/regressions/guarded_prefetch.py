"""A guard on a split axis bounds what a prefetch may fetch."""

sizes = {'n1': 50}

def steps(tvm):
    te = tvm.te
    n1 = te.var("n1")
    A2 = te.placeholder((n1, 8), name="A2", dtype="float16")
    S3 = te.compute((n1, 8), lambda i, j: A2[i, j] + te.const(1.5, 'float16'), name="S3")
    s = te.create_schedule(S3.op)
    o_2, i_3 = s[S3].split(s[S3].op.axis[0], factor=3)
    o_4, i_5 = s[S3].split(o_2, factor=8)
    s[S3].reorder(s[S3].op.axis[1], o_4)
    s[S3].prefetch(A2, i_3, 2)
    yield s, [A2, S3]


def reference(np, A2):
    S3 = A2 + np.float16(1.5)
    return [S3]
