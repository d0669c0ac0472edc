"""Guards of fetches ahead are simplified before split patterns are renormalized."""


def steps(tvm):
    te = tvm.te
    S6 = te.placeholder((1, 18), name="S6", dtype="int32")
    S7 = te.compute((1, 18), lambda i, j: (S6[i, j] >> 1) & 7, name="S7")
    s = te.create_schedule(S7.op)
    CR_1 = s.cache_read(S6, "shared", [S7])
    o_3, i_4 = s[S7].split(s[S7].op.axis[1], factor=16)
    s[CR_1].compute_at(s[S7], i_4)
    s[CR_1].double_buffer()
    yield s, [S6, S7]


def reference(np, S6):
    S7 = (S6 >> 1) & np.int32(7)
    return [S7]
