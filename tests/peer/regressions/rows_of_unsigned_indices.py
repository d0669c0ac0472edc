"""The region that unsigned and 64-bit indices read has the type of the axes."""


def steps(tvm):
    te = tvm.te
    A1 = te.placeholder((16, 48), name="A1")
    I2 = te.placeholder((5,), name="I2", dtype="int32")
    S3 = te.compute((48, 48), lambda i, j: A1[i // 3, j], name="S3")
    S4 = te.compute((48, 48), lambda i, j: S3[i, j] + S3[47 - i, j], name="S4")

    def row(i, dtype):
        value = te.max(I2[i].astype(dtype), (i * 5).astype(dtype))
        return te.max(te.min(value, te.const(17, dtype)), te.const(0, dtype))

    S5 = te.compute((5, 48), lambda i, j: S3[row(i, "uint32"), j], name="S5")
    S6 = te.compute((5, 48), lambda i, j: S4[row(i, "int64"), j], name="S6")
    s = te.create_schedule([S5.op, S6.op])
    s[S4].compute_at(s[S6], s[S6].op.axis[0])
    yield s, [A1, I2, S5, S6]


below = {"I2": 48}


def reference(np, A1, I2):
    rows = np.minimum(np.maximum(I2, np.arange(5) * 5), 17)
    S3 = A1[np.arange(48) // 3]
    S4 = S3 + S3[::-1]
    return [S3[rows], S4[rows]]
