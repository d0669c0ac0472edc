"""A quotient leaves the sum it stands in when it is joined with its remainder."""


def steps(tvm):
    te = tvm.te
    A1 = te.placeholder((7, 50), name="A1", dtype="int32")
    S2 = te.compute((7, 50), lambda i, j: A1[i, j] + te.const(2, 'int32'), name="S2")
    S3 = te.compute((7, 50), lambda i, j: S2[i, j] + A1[i, j], name="S3")
    s = te.create_schedule(S3.op)
    o_1, i_2 = s[S3].split(s[S3].op.axis[0], factor=3)
    f_3 = s[S3].fuse(i_2, s[S3].op.axis[1])
    s[S3].reorder(f_3, o_1)
    s[S2].compute_at(s[S3], f_3)
    xo_4, yo_5, xi_6, yi_7 = s[S2].tile(s[S2].op.axis[0], s[S2].op.axis[1], 3, 8)
    s[S2].unroll(xi_6)
    yield s, [A1, S3]


def reference(np, A1):
    S2 = A1 + np.int32(2)
    S3 = S2 + A1
    return [S3]
