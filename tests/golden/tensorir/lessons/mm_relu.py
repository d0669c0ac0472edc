"""TensorIR: a matrix product and ReLU, written in TVMScript, transformed, traced, run."""
import numpy as np
import tvm
from tvm.script import tir as T


@tvm.script.ir_module
class MyModule:
    @T.prim_func
    def mm_relu(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128, 128), "float32"), C: T.Buffer((128, 128), "float32")):
        T.func_attr({"global_symbol": "mm_relu", "tir.noalias": True})
        Y = T.alloc_buffer((128, 128), dtype="float32")
        for i, j, k in T.grid(128, 128, 128):
            with T.block("Y"):
                vi = T.axis.spatial(128, i)
                vj = T.axis.spatial(128, j)
                vk = T.axis.reduce(128, k)
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(128, 128):
            with T.block("C"):
                vi = T.axis.spatial(128, i)
                vj = T.axis.spatial(128, j)
                C[vi, vj] = T.max(Y[vi, vj], T.float32(0))


print(type(MyModule).__name__, type(MyModule["mm_relu"]).__name__)
print(MyModule.script())
sch = tvm.tir.Schedule(MyModule)
block_Y = sch.get_block("Y", func_name="mm_relu")
i, j, k = sch.get_loops(block_Y)
j0, j1 = sch.split(j, factors=[None, 4])
print(sch.mod.script())
sch.reorder(j0, k, j1)
print(sch.mod.script())
block_C = sch.get_block("C", "mm_relu")
sch.reverse_compute_at(block_C, j0)
print(sch.mod.script())
sch.decompose_reduction(block_Y, k)
print(sch.mod.script())
print(sch.trace)

a_np = np.random.rand(128, 128).astype("float32")
b_np = np.random.rand(128, 128).astype("float32")
want = np.maximum(a_np @ b_np, 0)
a_nd, b_nd = tvm.nd.array(a_np), tvm.nd.array(b_np)
for mod in (MyModule, sch.mod):
    c_nd = tvm.nd.empty((128, 128), dtype="float32")
    lib = tvm.build(mod, target="llvm")
    lib["mm_relu"](a_nd, b_nd, c_nd)
    np.testing.assert_allclose(want, c_nd.numpy(), rtol=1e-5)
    assert lib.time_evaluator("mm_relu", tvm.cpu())(a_nd, b_nd, c_nd).mean > 0
