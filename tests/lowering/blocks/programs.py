"""Programs of blocks, and their bodies after passes."""

from __future__ import annotations

import te_sched
from te_sched.ir.stmt import IRModule
from te_sched.script import from_source

MATMUL = """
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), D: T.Buffer((8, 8))):
    C = T.alloc_buffer((8, 8))
    for i, j, k in T.grid(8, 8, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(8, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))
"""
ROWS = """
@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    C = T.alloc_buffer((8, 16))
    for i in range(8):
        for j in range(16):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + T.float32(1)
        for j in range(16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[vi, vj] * T.float32(2)
"""
THREADS = """
@T.prim_func
def main(A: T.Buffer((8, 128), "float32"), B: T.Buffer((8, 128), "float32")):
    S = T.alloc_buffer((8, 128), scope="shared")
    for i in T.thread_binding(8, thread="blockIdx.x"):
        for k in range(4):
            for j in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("S"):
                    vi = T.axis.spatial(8, i)
                    vj = T.axis.spatial(128, k * 32 + j)
                    S[vi, vj] = A[vi, vj]
            for j in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("B"):
                    vi = T.axis.spatial(8, i)
                    vj = T.axis.spatial(128, k * 32 + j)
                    B[vi, vj] = S[vi, vj] + T.float32(1)
"""
VIEW = """
@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj * 4:vj * 4 + 4])
            T.writes(B[vi, vj * 4:vj * 4 + 4])
            V = T.match_buffer(A[vi, vj * 4:vj * 4 + 4], (4,), offset_factor=1)
            W = T.match_buffer(
                B[vi, vj * 4:vj * 4 + 4], (1, 4), strides=("s", "t"), offset_factor=1
            )
            for x in range(4):
                W[0, x] = V[3 - x] + T.Cast("float32", V.elem_offset + W.strides[0])
"""
GUARDED = """
@T.prim_func
def main(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    for i_0, i_1 in T.grid(3, 4):
        with T.block("B"):
            v = T.axis.spatial(10, i_0 * 4 + i_1)
            T.where(i_0 * 4 + i_1 < 10)
            B[v] = A[v] + T.float32(1)
"""


def after(source: str, name: str) -> str:
    """The body of the function after a pass, verified."""
    with te_sched.config(verify_passes=True):
        module = te_sched.lower(module_of(source), stop_after=name)
    lines = module["main"].script().splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("def main")) + 1
    return "\n".join(line[4:] for line in lines[start:])


def module_of(source: str) -> IRModule:
    return IRModule({"main": from_source(source)})
