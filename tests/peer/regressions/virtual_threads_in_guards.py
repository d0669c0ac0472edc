"""Guards are simplified after virtual threads, before conditions are hoisted."""


def steps(tvm):
    te = tvm.te
    S3 = te.placeholder((48,), name="S3")
    S4 = te.compute((52,), lambda i: te.if_then_else(te.all(i >= 2, i < 50), S3[i - 2], te.const(0, 'float32')), name="S4")
    s = te.create_schedule(S4.op)
    o_7, i_8 = s[S4].split(s[S4].op.axis[0], factor=5)
    s[S4].bind(i_8, te.thread_axis("vthread"))
    yield s, [S3, S4]


def reference(np, S3):
    S4 = np.pad(S3, 2)
    return [S4]
