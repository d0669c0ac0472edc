"""What blocks read of a cache in front of their kernel is the whole of it."""


def steps(tvm):
    te = tvm.te
    A1 = te.placeholder((1, 10, 5), name="A1")
    S2 = te.compute((1, 10, 5), lambda i, j, l: te.sqrt(te.abs(A1[i, j, l])), name="S2")
    S3 = te.compute((1, 10, 5), lambda i, j, l: S2[i, j, l] + A1[i, j, l], name="S3")
    S4 = te.compute((1, 10, 3), lambda i, j, l: S3[i, j, l] + S3[i, j, l + 1] + S3[i, j, l + 2], name="S4")
    s = te.create_schedule(S4.op)
    CR_1 = s.cache_read(A1, "shared", [S2, S3])
    f_2 = s[S4].fuse(s[S4].op.axis[0], s[S4].op.axis[1])
    f_3 = s[S4].fuse(f_2, s[S4].op.axis[2])
    o_4, i_5 = s[S4].split(f_3, factor=16)
    s[S4].bind(o_4, te.thread_axis("blockIdx.x"))
    s[S3].compute_at(s[S4], i_5)
    yield s, [A1, S4]


def reference(np, A1):
    S3 = np.sqrt(np.abs(A1)) + A1
    return [S3[..., :-2] + S3[..., 1:-1] + S3[..., 2:]]
