"""The region that a reshape reads, where quotient and remainder no longer fit."""


def steps(tvm):
    te = tvm.te
    A1 = te.placeholder((35,), name="A1")
    S2 = te.compute((35,), lambda i: A1[i] + te.const(1.5, 'float32'), name="S2")
    S3 = te.compute((7, 5), lambda i, j: S2[i * 5 + j], name="S3")
    s = te.create_schedule(S3.op)
    o_1, i_2 = s[S3].split(s[S3].fuse(s[S3].op.axis[0], s[S3].op.axis[1]), factor=16)
    s[S2].compute_at(s[S3], i_2)
    yield s, [A1, S3]


def reference(np, A1):
    return [(A1 + np.float32(1.5)).reshape(-1, 5)]
