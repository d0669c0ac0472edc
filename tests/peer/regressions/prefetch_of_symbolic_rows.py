"""The columns of a symbolic remainder are fetched from both sides of zero."""

sizes = {'n1': 8, 'n2': 2}

def steps(tvm):
    te = tvm.te
    n1 = te.var("n1")
    n2 = te.var("n2")
    A3 = te.placeholder((n1, n2, 12), name="A3", dtype="int8")
    S4 = te.compute((n1, n2, 24), lambda i, j, l: A3[i, j, l // 2], name="S4")
    s = te.create_schedule(S4.op)
    CR_1 = s.cache_read(A3, "shared", [S4])
    f_12 = s[S4].fuse(s[S4].op.axis[0], s[S4].op.axis[1])
    f_13 = s[S4].fuse(f_12, s[S4].op.axis[2])
    o_14, i_15 = s[S4].split(f_13, factor=64)
    s[S4].bind(i_15, te.thread_axis("threadIdx.x"))
    f_16 = s[CR_1].fuse(s[CR_1].op.axis[0], s[CR_1].op.axis[1])
    f_17 = s[CR_1].fuse(f_16, s[CR_1].op.axis[2])
    s[CR_1].prefetch(A3, f_17, 1)
    yield s, [A3, S4]


def reference(np, A3):
    S4 = np.repeat(A3, 2, 2)
    return [S4]
