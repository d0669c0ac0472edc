"""Functions of CUDA that kernels call by name, compiled, emulated and checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.codegen.cuda.device_functions import expand_device_functions
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.runtime.cuda_module import CudaModule
from tests.codegen.checker import kernels as k
from tests.codegen.cuda.devices import agree

X = np.random.default_rng(0).random(64, "float32") + np.float32(0.1)
FULL = E.IntImm(0xFFFFFFFF, "uint32")


def extern(dtype: str, name: str, *args: Any) -> E.Call:
    return E.Call(dtype, "tir.call_pure_extern", (E.StringImm(name), *map(ops.convert, args)))


def dot_of_four() -> Any:
    """What reduces four bytes of each operand by one instruction."""
    x, y = (te.placeholder((4,), "int8", name=name) for name in "xy")
    r = te.reduce_axis((0, 4), name="r")
    z = te.compute(
        (1,),
        lambda _: te.sum(x[r].astype("int32") * y[r].astype("int32"), axis=r),
        name="z",
    )

    def body(ins: Any, outs: Any) -> tuple[Any, Any, Any]:
        (xx, yy), (zz,) = ins, outs

        def step(clears: bool) -> Any:
            ib = te_sched.tir.ir_builder.create()
            before = E.IntImm(0) if clears else zz.vload(0)
            values = (xx.vload(0, dtype="int8x4"), yy.vload(0, dtype="int8x4"))
            new = te_sched.tir.call_pure_extern("int32", "__dp4a", *values, before)
            ib.emit(zz.vstore(0, new))
            return ib.get()

        ib = te_sched.tir.ir_builder.create()
        ib.emit(zz.vstore(0, E.IntImm(0)))
        return step(True), ib.get(), step(False)

    def buffer(tensor: Any, dtype: str) -> Any:
        return te_sched.tir.decl_buffer(
            tensor.shape, dtype, tensor.op.name, offset_factor=1, data_alignment=4,
            scope="", strides=[te.var(f"s_{tensor.op.name}")] if dtype == "int32" else [1],
        )  # fmt: skip

    binds = {x: buffer(x, "int8"), y: buffer(y, "int8"), z: buffer(z, "int32")}
    return te.decl_tensor_intrin(z.op, body, binds=binds)


def test_products_of_bytes_by_tensorize() -> None:
    m, n, length = 16, 32, 24
    A, B = (te.placeholder((rows, length), "int8", name=a) for a, rows in (("A", m), ("B", n)))
    r = te.reduce_axis((0, length), name="r")
    C = te.compute(
        (m, n),
        lambda i, j: te.sum(A[i, r].astype("int32") * B[j, r].astype("int32"), axis=r),
        name="C",
    )
    s = te.create_schedule(C.op)
    i, j = s[C].op.axis
    outer, inner = s[C].split(r, factor=4)
    one, j = s[C].split(j, factor=1)
    s[C].reorder(i, one, outer, j, inner)
    s[C].bind(i, te.thread_axis("blockIdx.x"))
    s[C].bind(one, te.thread_axis("threadIdx.x"))
    s[C].tensorize(j, dot_of_four())
    generator = np.random.default_rng(0)
    a, b = (generator.integers(-128, 128, (rows, length), "int8") for rows in (m, n))
    expected = a.astype("int32") @ b.astype("int32").T
    built = te_sched.build(s, [A, B, C], target="cuda")
    assert isinstance(built, CudaModule)
    module = agree(built, [a, b], expected)
    assert "__dp4a(" in module.source


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_products_of_bytes_in_words(dtype: str) -> None:
    def build(ib: Any, A: Any, B: Any, C: Any, tx: E.Var) -> None:
        C[tx] = extern(dtype, "__dp4a", A[tx], B[tx], E.IntImm(7, dtype))

    generator = np.random.default_rng(0)
    a, b = (generator.integers(0, 2**32, 32, "uint64").astype(dtype) for _ in "ab")
    as_bytes = "int8" if dtype == "int32" else "uint8"
    left, right = (one.view(as_bytes).reshape(32, 4).astype("int64") for one in (a, b))
    expected = ((left * right).sum(axis=1) + 7).astype(dtype)
    buffers = [k.array(name, 32, dtype) for name in "ABC"]
    agree(k.program(build, buffers, tx=32), [a, b], expected)


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[np.ndarray], np.ndarray]]] = {
    "__expf": (lambda x: (x,), np.exp),
    "__logf": (lambda x: (x,), np.log),
    "__powf": (lambda x: (x, ops.const(2.0, "float32")), lambda x: x**2),
    "rsqrtf": (lambda x: (x,), lambda x: 1 / np.sqrt(x)),
    "cosf": (lambda x: (x,), np.cos),
    "fmaf": (lambda x: (x, x, x), lambda x: x * x + x),
    "__fdividef": (lambda x: (ops.const(1.0, "float32"), x), lambda x: 1 / x),
    "__frcp_rn": (lambda x: (x,), lambda x: 1 / x),
    "roundf": (lambda x: (x - x + 2.5,), lambda x: np.full_like(x, 3)),
    "__saturatef": (lambda x: (x + x,), lambda x: np.minimum(x + x, 1)),
    "fminf": (lambda x: (x, ops.const(0.5, "float32")), lambda x: np.minimum(x, 0.5)),
    "max": (lambda x: (x, ops.const(0.5, "float32")), lambda x: np.maximum(x, 0.5)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_mathematics(name: str) -> None:
    arguments, meaning = FUNCTIONS[name]

    def build(ib: Any, A: Any, C: Any, bx: E.Var, tx: E.Var) -> None:
        i = bx * 32 + tx
        C[i] = extern("float32", name, *arguments(A[i]))

    program = k.program(build, [k.array("A", 64), k.array("C", 64)], bx=2, tx=32)
    agree(program, [X], meaning(X).astype("float32"), archs=["sm_80"], tolerance=2e-6)


@pytest.mark.parametrize(
    ("name", "lane", "source"),
    [
        ("__shfl_sync", 3, lambda i: i // 32 * 32 + 3),
        ("__shfl_up_sync", 2, lambda i: np.where(i % 32 < 2, i, i - 2)),
        ("__shfl_down_sync", 5, lambda i: np.where(i % 32 + 5 > 31, i, i + 5)),
        ("__shfl_xor_sync", 9, lambda i: i ^ 9),
    ],
)
def test_shuffles(name: str, lane: int, source: Callable[[np.ndarray], np.ndarray]) -> None:
    def build(ib: Any, A: Any, C: Any, tx: E.Var) -> None:
        C[tx] = extern("float32", name, FULL, A[tx], lane)

    program = k.program(build, [k.array("A", 64), k.array("C", 64)], tx=64)
    agree(program, [X], X[source(np.arange(64))])


def test_cached_load() -> None:
    def build(ib: Any, A: Any, C: Any, tx: E.Var) -> None:
        C[tx] = extern("float32", "__ldg", E.Call("handle", "tir.address_of", (A[63 - tx],)))

    agree(k.program(build, [k.array("A", 64), k.array("C", 64)], tx=64), [X], X[::-1].copy())


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda x: extern("float32", "my_function", x), "is not available without a GPU"),
        (lambda x: extern("float32", "fmaf", x, x), "expects 3 arguments"),
    ],
)
def test_refuses(call: Callable[[Any], E.Expr], why: str) -> None:
    def build(ib: Any, C: Any, tx: E.Var) -> None:
        C[tx] = call(C[tx])

    with pytest.raises(BuildError, match=why):
        expand_device_functions(k.program(build, [k.array("C", 32)], tx=32))
