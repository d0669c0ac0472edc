"""meta_schedule: a given space, then the default one; the best schedule runs."""
import tempfile

import numpy as np
import tvm
from tvm import meta_schedule as ms
from tvm.script import tir as T


@tvm.script.ir_module
class MyModule:
    @T.prim_func
    def main(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128, 128), "float32"), C: T.Buffer((128, 128), "float32")):
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        for i, j, k in T.grid(128, 128, 128):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0.0
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def stochastic_schedule_mm(sch: tvm.tir.Schedule):
    block_C = sch.get_block("C", "main")
    i, j, k = sch.get_loops(block=block_C)
    j_factors = sch.sample_perfect_tile(loop=j, n=2)
    j_0, j_1 = sch.split(loop=j, factors=j_factors)
    sch.reorder(i, j_0, k, j_1)
    sch.decompose_reduction(block_C, k)
    return sch


a_np, b_np = (np.random.rand(128, 128).astype("float32") for _ in range(2))
a_nd, b_nd = tvm.nd.array(a_np), tvm.nd.array(b_np)
target = "llvm --num-cores=1"
spaces = {"given": dict(space=ms.space_generator.ScheduleFn(stochastic_schedule_mm)), "default": {}}
for name, space in spaces.items():
    with tempfile.TemporaryDirectory() as folder:
        database = ms.tune_tir(mod=MyModule, target=target, max_trials_global=8, num_trials_per_iter=4, work_dir=folder, **space)
        sch = ms.tir_integration.compile_tir(database, MyModule, target)
        assert sch is not None, name
        lib = tvm.build(sch.mod, target="llvm")
        c_nd = tvm.nd.empty((128, 128), dtype="float32")
        lib["main"](a_nd, b_nd, c_nd)
        np.testing.assert_allclose(a_np @ b_np, c_nd.numpy(), rtol=1e-5)
        print(name, "tuned")
