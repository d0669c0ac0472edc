"""A search space as a function with random decisions, searched by hand."""
import numpy as np
import tvm
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


sch = tvm.tir.Schedule(MyModule)
i, j, k = sch.get_loops(sch.get_block("C", "main"))
factors = sch.sample_perfect_tile(loop=j, n=2)
print(type(factors[0]).__name__, tvm.ir.structural_equal(sch.mod, MyModule))

a_np, b_np = (np.random.rand(128, 128).astype("float32") for _ in range(2))
a_nd, b_nd = tvm.nd.array(a_np), tvm.nd.array(b_np)
seen = set()
best = None
for attempt in range(12):
    sch = stochastic_schedule_mm(tvm.tir.Schedule(MyModule))
    c_nd = tvm.nd.empty((128, 128), dtype="float32")
    lib = tvm.build(sch.mod, target="llvm")
    cost = lib.time_evaluator("main", tvm.cpu())(a_nd, b_nd, c_nd).mean
    lib["main"](a_nd, b_nd, c_nd)
    np.testing.assert_allclose(a_np @ b_np, c_nd.numpy(), rtol=1e-5)
    decision = tuple(int(x) for x in list(sch.trace.decisions.values())[0])
    assert decision[0] * decision[1] == 128 and decision[1] <= 16
    seen.add(decision)
    best = min(best or cost, cost)
    replayed = tvm.tir.Schedule(MyModule)
    sch.trace.apply_to_schedule(replayed, remove_postproc=False)
    tvm.ir.assert_structural_equal(replayed.mod, sch.mod)
    tvm.tir.schedule.Trace.apply_json_to_schedule(sch.trace.as_json(), again := tvm.tir.Schedule(MyModule))
    tvm.ir.assert_structural_equal(again.mod, sch.mod)
assert len(seen) > 1, "every attempt took the same decision"
print(len(sch.trace.insts))
