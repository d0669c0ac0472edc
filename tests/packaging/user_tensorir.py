"""A user's functions of loops and blocks under `mypy --strict` and pyright."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, assert_type, cast

import numpy as np

import te_sched
from te_sched import tir
from te_sched.script import ir as I
from te_sched.script import tir as T

Matrix: TypeAlias = Annotated[T.Buffer, (64, 64), "float32"]


@T.prim_func
def product(A: Matrix, B: Matrix, C: Matrix) -> None:
    T.func_attr({"global_symbol": "product", "tir.noalias": True})
    for i, j, k in T.grid(64, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func(private=True)
def scaled(a: T.handle, b: T.handle, n: T.int32) -> None:
    m = T.int32()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m))
    t = T.alloc_buffer((n, m), "float32", scope="local")
    for i in range(4):
        T.evaluate(i)
    for i in T.parallel(n):
        for j in T.serial(m, annotations={"pragma_unroll": 1}):
            with T.block("t"):
                vi = T.axis.spatial(n, i)
                vj = T.axis.spatial(m, j)
                x: T.float32 = A[vi, vj] * T.float32(2)
                t[vi, vj] = T.max(x, 0.0)
        for j in T.vectorized(0, m):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                if vi > 2 and vj < m - 1:
                    B[vi, vj] = T.if_then_else(vi > 2, t[vi, vj], T.exp(A[vi, vj]), dtype="float32")
                else:
                    B[vi, vj] += T.sqrt(t[vi, vj])


@T.macro
def clear(X: Any, i: Any) -> None:
    X[i] = T.float32(0)


@T.prim_func
def threads(A: Annotated[T.Buffer, (128,), "float32"], B: Annotated[T.Buffer, (128,)]) -> None:
    tx = T.launch_thread("threadIdx.x", 32)
    bx = T.launch_thread("blockIdx.x", 4)
    with T.allocate([32], "float32", "shared") as data:
        shared = T.Buffer((32,), "float32", data=data, scope="shared")
        shared[tx] = A[bx * 32 + tx]
        T.tvm_storage_sync("shared")
        B[bx * 32 + tx] = shared[31 - tx]
    clear(A, tx)
    T.evaluate(T.call_extern("int32", "finish", B.data))


@I.ir_module
class Functions:
    @T.prim_func
    def first(a: T.handle, n: T.int64) -> None:
        A = T.match_buffer(a, (n,), "float32")
        for i in T.thread_binding(0, n, thread="threadIdx.x"):
            A[i] = T.cast(i, "float32")

    @T.prim_func
    def second(A: Annotated[T.Buffer, (8,), "int32"]) -> None:
        for i in range(8):
            A[i] = i


functions = cast(te_sched.IRModule, Functions)


def schedule() -> tir.Schedule:
    sch = tir.Schedule(product)
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    io, ii = sch.split(i, factors=[None, 8])
    jo, ji = sch.split(j, factors=[8, 8])
    sch.reorder(io, jo, k, ii, ji)
    sch.parallel(io)
    sch.vectorize(ji)
    sch.unroll(ii)
    cached = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(cached, jo)
    init = sch.decompose_reduction(block, k)
    sch.annotate(init, "name", 1)
    return sch


if __name__ == "__main__":
    assert_type(product, tir.PrimFunc)
    assert_type(scaled, tir.PrimFunc)
    sch = schedule()
    print(sch.mod.script(), product.script(), functions["second"], functions.functions.keys())
    assert_type(sch.mod, te_sched.IRModule)
    module = te_sched.build(sch.mod, target="llvm")
    a, b = (np.random.rand(64, 64).astype("float32") for _ in range(2))
    c = np.zeros((64, 64), "float32")
    module(te_sched.nd.array(a), te_sched.nd.array(b), out := te_sched.nd.array(c))
    np.testing.assert_allclose(out.numpy(), a @ b, rtol=1e-4)
