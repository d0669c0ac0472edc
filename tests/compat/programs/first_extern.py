"""First generation: extern stages with a statement, a Python function and numpy's BLAS."""

import numpy as np
import tvm
from tvm.contrib import cblas

n, l, m = 9, 6, 5
A = tvm.placeholder((n, l), name="A")
B = tvm.placeholder((l, m), name="B")
bias = tvm.var("bias", dtype="float32")
C = cblas.matmul(A, B)
D = tvm.compute(C.shape, lambda i, j: C[i, j] + bias, name="D")


def doubled(ins, outs):
    ib = tvm.ir_builder.create()
    source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
    with ib.for_range(0, n, name="i") as i:
        with ib.for_range(0, m, name="j") as j:
            with ib.if_scope(tvm.any(i > 2, j.equal(0))):
                result[i * m + j] = source[i * m + j] * 2.0
            with ib.else_scope():
                result[i * m + j] = -1.0
    return ib.get()


E = tvm.extern((n, m), [D], doubled, name="E", dtype="float32")


@tvm.register_func("compat.first_extern.negate")
def negate(x, y):
    tvm.nd.array(-x.asnumpy()).copyto(y)


F = tvm.extern(
    E.shape,
    [E],
    lambda ins, outs: tvm.call_packed("compat.first_extern.negate", ins[0], outs[0]),
    name="F",
)
G = tvm.compute(F.shape, lambda i, j: tvm.call_pure_extern("float32", "fabsf", F[i, j]))
s = tvm.create_schedule(G.op)
f = tvm.build(s, [A, B, bias, G], "llvm")
a, b = (np.random.uniform(size=shape).astype("float32") for shape in ((n, l), (l, m)))
g = tvm.nd.array(np.zeros((n, m), "float32"))
f(tvm.nd.array(a), tvm.nd.array(b), 3.0, g)
rows, columns = np.ogrid[:n, :m]
expected = np.where((rows > 2) | (columns == 0), 2 * (a @ b + 3), 1)
np.testing.assert_allclose(g.asnumpy(), expected, rtol=1e-5)
assert tvm.get_global_func("tvm.contrib.cblas.matmul", allow_missing=True)
assert tvm.get_global_func("compat.first_extern.nothing", True) is None
