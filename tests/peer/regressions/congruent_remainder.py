"""The remainder that belongs to a quotient may be of a congruent index."""


def steps(tvm):
    te = tvm.te
    A1 = te.placeholder((10, 7, 1), name="A1")
    S2 = te.compute((10, 7, 1), lambda i, j, l: te.sqrt(te.abs(A1[i, j, l])), name="S2")
    T3a, T3b = te.compute((10, 7, 1), lambda i, j, l: (S2[i, j, l] + te.const(3.0, 'float32'), S2[i, j, l] * S2[i, j, l]), name="T3")
    T4a, T4b = te.compute((10, 7, 1), lambda i, j, l: (A1[i, j, l] + te.const(2.0, 'float32'), A1[i, j, l] * A1[i, j, l]), name="T4")
    T5a, T5b = te.compute((10, 7, 1), lambda i, j, l: (T4a[i, j, l] + te.const(0.5, 'float32'), T4a[i, j, l] * T4a[i, j, l]), name="T5")
    s = te.create_schedule([T3a.op, T5a.op])
    CR_1 = s.cache_read(S2, "local", [T3a])
    f_2 = s[T5a].fuse(s[T5a].op.axis[0], s[T5a].op.axis[1])
    f_3 = s[T5a].fuse(f_2, s[T5a].op.axis[2])
    o_4, i_5 = s[T5a].split(f_3, factor=32)
    s[T5a].bind(o_4, te.thread_axis("blockIdx.x"))
    s[T5a].bind(i_5, te.thread_axis("threadIdx.x"))
    s[T4a].compute_at(s[T5a], o_4)
    f_6 = s[T4a].fuse(s[T4a].op.axis[0], s[T4a].op.axis[1])
    f_7 = s[T4a].fuse(f_6, s[T4a].op.axis[2])
    f_8 = s[T3a].fuse(s[T3a].op.axis[0], s[T3a].op.axis[1])
    f_9 = s[T3a].fuse(f_8, s[T3a].op.axis[2])
    o_10, i_11 = s[T3a].split(f_9, factor=32)
    s[T3a].bind(o_10, te.thread_axis("blockIdx.x"))
    s[T3a].bind(i_11, te.thread_axis("threadIdx.x"))
    s[CR_1].compute_at(s[T3a], i_11)
    o_12, i_13 = s[CR_1].split(s[CR_1].op.axis[1], factor=2)
    o_14, i_15 = s[CR_1].split(s[CR_1].op.axis[2], factor=8)
    s[CR_1].reorder(o_14, s[CR_1].op.axis[0])
    s[CR_1].vectorize(i_15)
    s[CR_1].storage_align(s[CR_1].op.axis[2], 32, 8)
    s[S2].compute_inline()
    yield s, [A1, T3a, T3b, T5a, T5b]


def reference(np, A1):
    S2 = np.sqrt(np.abs(A1))
    T3a = S2 + np.float32(3.0)
    T3b = S2 * S2
    T4a = A1 + np.float32(2.0)
    T4b = A1 * A1
    T5a = T4a + np.float32(0.5)
    T5b = T4a * T4a
    return [T3a, T3b, T5a, T5b]
