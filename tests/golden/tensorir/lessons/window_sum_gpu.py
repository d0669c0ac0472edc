"""A window sum on GPU threads with cooperative fetching."""
import numpy as np
import tvm
from tvm.script import tir as T


@tvm.script.ir_module
class MyModuleWindowSum:
    @T.prim_func
    def main(A: T.Buffer((1027,), "float32"), B: T.Buffer((1024,), "float32")) -> None:
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        for i in T.grid(1024):
            with T.block("C"):
                vi = T.axis.remap("S", [i])
                B[vi] = A[vi] + A[vi + 1] + A[vi + 2]


sch = tvm.tir.Schedule(MyModuleWindowSum)
nthread = 128
block_C = sch.get_block("C")
(i,) = sch.get_loops(block=block_C)
i0, i1 = sch.split(i, [None, nthread])
sch.bind(i0, "blockIdx.x")
sch.bind(i1, "threadIdx.x")
print(sch.mod.script())
A_shared = sch.cache_read(block_C, read_buffer_index=0, storage_scope="shared")
sch.compute_at(A_shared, i1)
print(sch.mod.script())
ax = sch.get_loops(A_shared)[-1]
ax0, ax1 = sch.split(ax, [None, nthread])
sch.bind(ax1, "threadIdx.x")
print(sch.mod.script())

if tvm.cuda(0).exist:
    lib = tvm.build(sch.mod, target="cuda")
    assert "__shared__" in lib.imported_modules[0].get_source()
    a = np.random.rand(1027).astype("float32")
    b_nd = tvm.nd.array(np.zeros(1024, "float32"), tvm.cuda(0))
    lib["main"](tvm.nd.array(a, tvm.cuda(0)), b_nd)
    np.testing.assert_allclose(b_nd.numpy(), a[:1024] + a[1:1025] + a[2:1026], rtol=1e-5)
