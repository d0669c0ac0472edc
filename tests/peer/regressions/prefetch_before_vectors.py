"""A vector loop inside does not widen what is prefetched round it."""

below = {'I6': 640}

def steps(tvm):
    te = tvm.te
    A1 = te.placeholder((64, 10), name="A1")
    S2 = te.compute((640,), lambda i: A1[i // 10, i % 10], name="S2")
    I6 = te.placeholder((30,), name="I6", dtype="int32")
    S7 = te.compute((30,), lambda i: S2[I6[i]], name="S7")
    S8 = te.compute((30,), lambda i: te.sigmoid(S7[i]), name="S8")
    s = te.create_schedule(S8.op)
    CW_1 = s.cache_write(S2, "local")
    o_2, i_3 = s[S8].split(s[S8].op.axis[0], factor=64)
    s[S8].bind(o_2, te.thread_axis("blockIdx.x"))
    o_8, i_9 = s[CW_1].split(s[CW_1].op.axis[0], factor=7)
    s[CW_1].vectorize(i_9)
    s[CW_1].prefetch(A1, o_8, 1)
    yield s, [A1, I6, S8]


def reference(np, A1, I6):
    S2 = A1.reshape(-1)
    S7 = S2[I6]
    S8 = 1 / (1 + np.exp(-S7))
    return [S8]
