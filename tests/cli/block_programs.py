"""Programs with functions of blocks and their schedules."""

import json

PRODUCT = """
import tvm
from tvm.script import ir as I
from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def product(A: T.Buffer((64, 64)), B: T.Buffer((64, 64)), C: T.Buffer((64, 64))):
        for i, j, k in T.grid(64, 64, 64):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

"""


SCHEDULED = (
    PRODUCT
    + """
sch = tvm.tir.Schedule(Module)
i, j, k = sch.get_loops(sch.get_block("C"))
sch.reorder(i, k, j)
sch.parallel(i)
other = sch.copy()
tvm.lower(sch.mod, simple_mode=False)
built = tvm.build(tvm.build(Module, target="llvm") and sch.mod, target="llvm")
"""
)


def data(done):
    return json.loads(done.stdout)


CALLS = """
import tvm
from tvm.script import ir as I
from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def double(A: T.Buffer((8,)), B: T.Buffer((8,))):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * 2.0

    @T.prim_func
    def main(A: T.Buffer((8,)), C: T.Buffer((8,))):
        Module.double(A.data, C.data)

"""
