"""Quotients inside of a difference are not joined with remainders."""

sizes = {'n1': 2}

def steps(tvm):
    te = tvm.te
    n1 = te.var("n1")
    A2 = te.placeholder((1, n1, n1), name="A2")
    S3 = te.compute((1, n1, n1), lambda i, j, l: A2[i, j, l] + te.const(-1.0, 'float32'), name="S3")
    s = te.create_schedule(S3.op)
    CR_1 = s.cache_read(A2, "shared", [S3])
    f_2 = s[S3].fuse(s[S3].op.axis[0], s[S3].op.axis[1])
    f_3 = s[S3].fuse(f_2, s[S3].op.axis[2])
    o_4, i_5 = s[S3].split(f_3, factor=8)
    s[CR_1].compute_at(s[S3], o_4)
    yield s, [A2, S3]


def reference(np, A2):
    S3 = A2 + np.float32(-1.0)
    return [S3]
