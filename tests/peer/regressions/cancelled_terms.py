"""What both sides of a difference of floats have is left out."""


def steps(tvm):
    te = tvm.te
    A1 = te.placeholder((3, 4, 4), name="A1")
    S2 = te.compute((3, 4, 4), lambda i, j, l: A1[i, j, l] + j.astype('float32'), name="S2")
    S3 = te.compute((3, 4, 4), lambda i, j, l: A1[i, j, l] - S2[i, j, l], name="S3")
    S4 = te.compute((3, 8, 4), lambda i, j, l: S3[i, j // 2, l], name="S4")
    s = te.create_schedule(S4.op)
    s[S4].reorder(s[S4].op.axis[1], s[S4].op.axis[2])
    s[S4].parallel(s[S4].op.axis[0])
    f_1 = s[S3].fuse(s[S3].op.axis[0], s[S3].op.axis[1])
    o_2, i_3 = s[S3].split(f_1, factor=4)
    s[S2].compute_inline()
    yield s, [A1, S4]


def reference(np, A1):
    S2 = A1 + np.arange(A1.shape[1], dtype='float32').reshape(1, -1, 1)
    S3 = A1 - S2
    S4 = np.repeat(S3, 2, 1)
    return [S4]
