"""An extent n - 1 - 2 of a parameter says that n is at least 3."""

sizes = {'n1': 9}


def steps(tvm):
    te = tvm.te
    n1 = te.var("n1")
    A2 = te.placeholder((n1,), name="A2", dtype="int32")
    S3 = te.compute((n1 - 3,), lambda i: A2[i + 1] + A2[i + 3], name="S3")
    S4 = te.compute((n1 - 3 - 2,), lambda i: S3[i] + S3[i + 2], name="S4")
    s = te.create_schedule(S4.op)
    o_1, i_2 = s[S4].split(s[S4].op.axis[0], nparts=4)
    o_3, i_4 = s[S4].split(o_1, factor=2)
    s[S3].compute_at(s[S4], i_4)
    yield s, [A2, S4]


def reference(np, A2):
    S3 = A2[1:-2] + A2[3:]
    return [S3[:-2] + S3[2:]]
