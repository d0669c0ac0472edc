"""Threads compute with 32 bits what fits, data too."""


def steps(tvm):
    te = tvm.te
    S3 = te.placeholder((7,), name="S3", dtype="uint8")
    S4 = te.compute((7,), lambda i: S3[i].astype('int64'), name="S4")
    s = te.create_schedule(S4.op)
    o_2, i_3 = s[S4].split(s[S4].op.axis[0], factor=16)
    s[S4].bind(o_2, te.thread_axis("blockIdx.x"))
    yield s, [S3, S4]


def reference(np, S3):
    S4 = S3.astype('int64')
    return [S4]
