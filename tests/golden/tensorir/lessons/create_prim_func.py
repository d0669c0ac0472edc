"""Tensor expressions become TensorIR: matmul, ReLU, both fused, with and without the intermediate."""
import numpy as np
import tvm
from tvm import te


def te_matmul(A: te.Tensor, B: te.Tensor) -> te.Tensor:
    assert A.shape[1] == B.shape[0]
    n, m = A.shape[0], B.shape[1]
    k = te.reduce_axis((0, A.shape[1]), name="k")
    return te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="matmul")


def te_relu(A: te.Tensor) -> te.Tensor:
    return te.compute(A.shape, lambda *i: te.max(A(*i), 0), name="relu")


A = te.placeholder((128, 128), name="A", dtype="float32")
B = te.placeholder((128, 128), name="B", dtype="float32")
C = te_matmul(A, B)
D = te_relu(C)
print(te.create_prim_func([A, B, C]).script())
X1 = te.placeholder((10,), name="X1", dtype="float32")
print(te.create_prim_func([X1, te_relu(X1)]).script())
print(te.create_prim_func([A, B, D]).script())
print(te.create_prim_func([A, B, C, D]).script())

k = te.reduce_axis((0, 128), "k")
Y = te.compute((128, 128), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="Y")
Z = te.compute((128, 128), lambda i, j: te.max(Y[i, j], 0), name="C")
func = te.create_prim_func([A, B, Z]).with_attr({"global_symbol": "mm_relu"})
mod = tvm.IRModule({"mm_relu": func})
print(mod.script())
a, b = (np.random.rand(128, 128).astype("float32") for _ in range(2))
out = tvm.nd.empty((128, 128), dtype="float32")
tvm.build(mod, target="llvm")["mm_relu"](tvm.nd.array(a), tvm.nd.array(b), out)
np.testing.assert_allclose(np.maximum(a @ b, 0), out.numpy(), rtol=1e-5)
