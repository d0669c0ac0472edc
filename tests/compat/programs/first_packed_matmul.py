"""First generation: / of integers rounds to zero, a float that is a whole number is an extent,
dtypes are names of tvm.
"""

import numpy as np
import tvm

N, bn = 64, 16
assert (tvm.int32, tvm.float32, tvm.handle) == ("int32", "float32", "handle")
k = tvm.reduce_axis((0, N), "k")
A = tvm.placeholder((N, N), name="A")
B = tvm.placeholder((N, N), name="B", dtype=tvm.float32)
packed = tvm.compute((N / bn, N, bn), lambda x, y, z: B[y, x * bn + z], name="packed")
C = tvm.compute(
    (N, N), lambda x, y: tvm.sum(A[x, k] * packed[y / bn, k, y % bn], axis=k), name="C"
)
s = tvm.create_schedule(C.op)
s[packed].vectorize(s[packed].op.axis[2])
product = tvm.build(s, [A, B, C], "llvm")
a, b = (np.random.rand(N, N).astype(tvm.float32) for _ in range(2))
c = tvm.nd.array(np.zeros((N, N), "float32"))
product(tvm.nd.array(a), tvm.nd.array(b), c)
np.testing.assert_allclose(c.asnumpy(), a @ b, rtol=1e-4)
negative = tvm.compute((5,), lambda i: (i - 4) / 2, name="negative")
halves = tvm.nd.array(np.zeros(5, "int32"))
tvm.build(tvm.create_schedule(negative.op), [negative], "llvm")(halves)
assert halves.asnumpy().tolist() == [-2, -1, -1, 0, 0]
