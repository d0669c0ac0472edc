"""mma.sync and ldmatrix, compiled, emulated and checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.codegen.checker import ViolationKind, check_program
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir.stmt import IRModule
from te_sched.runtime.cuda_module import CudaModule
from tests.codegen.checker import kernels as k
from tests.codegen.cuda.devices import agree
from tests.codegen.cuda.layouts import CASES, HALVES, Case, mma, sizes


def product(case: Case, warps: int = 2) -> IRModule:
    """Each warp multiplies matrices of its own."""
    m, n, depth = sizes(case.shape)
    shapes = ((m, depth), (depth, n), (m, n))

    def build(ib: Any, A: Any, B: Any, C: Any, tx: E.Var) -> None:
        warp, lane = ops.floordiv(tx, 32), ops.floormod(tx, 32)
        g, t = ops.floordiv(lane, 4), ops.floormod(lane, 4)
        local = [
            ib.allocate(dtype, rows * columns // 32, name=name, scope="local")
            for name, dtype, (rows, columns) in zip("abc", case.dtypes, shapes, strict=True)
        ]
        for memory, mine, place, (rows, columns) in zip(
            (A, B), local[:2], (case.a, case.b), shapes[:2], strict=True
        ):
            for i in range(rows * columns // 32):
                row, column = place(g, t, i)
                mine[i] = memory[warp * (rows * columns) + row * columns + column]
        for i in range(m * n // 32):
            local[2][i] = ops.const(1, case.dtypes[2])
        ib.emit(mma(case, *[one.buffer.data for one in local]))
        for i in range(m * n // 32):
            row, column = case.c(g, t, i)
            C[warp * (m * n) + row * n + column] = local[2][i]

    buffers = [
        k.array(name, warps * rows * columns, dtype)
        for name, dtype, (rows, columns) in zip("ABC", case.dtypes, shapes, strict=True)
    ]
    return k.program(build, buffers, tx=32 * warps)


def small(dtype: str, size: int, seed: int) -> np.ndarray:
    """Numbers whose products are exact."""
    generator = np.random.default_rng(seed)
    low = 0 if dtype.startswith("u") else -8
    values = generator.integers(low, 9, size)
    if dtype == "bfloat16":
        return (values.astype("float32").view("uint32") >> 16).astype("uint16")
    return values.astype(dtype)


def as_float(values: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "bfloat16":
        return (values.astype("uint32") << 16).view("float32").astype("float64")
    return values.astype("float64")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.shape}-{'-'.join(case.types)}")
def test_products(case: Case) -> None:
    m, n, depth = sizes(case.shape)
    a, b = (
        small(dtype, 2 * size, seed)
        for seed, (dtype, size) in enumerate(zip(case.dtypes, (m * depth, depth * n), strict=False))
    )
    left, right = as_float(a, case.dtypes[0]), as_float(b, case.dtypes[1])
    expected = np.matmul(left.reshape(2, m, depth), right.reshape(2, depth, n)) + 1
    inputs: list[Any] = [a, b]
    if case.dtypes[0] == "bfloat16":
        inputs = [one.view(bfloat16()) for one in inputs]
    agree(product(case), inputs, expected.astype(case.dtypes[2]).reshape(-1), archs=case.archs)


def bfloat16() -> Any:
    return pytest.importorskip("ml_dtypes").bfloat16


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [0, 1])
def test_loads(count: int, transposed: int) -> None:
    """Thread l has of matrix j the elements 2 (l % 4) and the next of row l / 4."""

    def build(ib: Any, A: Any, C: Any, tx: E.Var) -> None:
        shared = ib.allocate("float16", 64 * count, name="s", scope="shared")
        mine = ib.allocate("float16", 2 * count, name="a", scope="local")
        for i in range(2 * count):
            shared[tx * (2 * count) + i] = A[tx * (2 * count) + i]
        k.wait(ib)
        row = ops.floormod(tx, 8 * count) * 8
        flags = (E.IntImm(transposed, "bool"), E.IntImm(count), E.StringImm(".b16"))
        places = (mine.buffer.data, E.IntImm(0), shared.buffer.data, row)
        ib.emit(E.Call("handle", "tir.ptx_ldmatrix", (*flags, *places)))
        for i in range(2 * count):
            C[tx * (2 * count) + i] = mine[i]

    size = 64 * count
    module = k.program(build, [k.array(name, size, "float16") for name in "AC"], tx=32)
    values = np.arange(size).astype("float16")
    expected = np.zeros((32, count, 2), "float16")
    for lane in range(32):
        for j, matrix in enumerate(values.reshape(count, 8, 8)):
            matrix = matrix.T if transposed else matrix
            expected[lane, j] = matrix[lane // 4, lane % 4 * 2 : lane % 4 * 2 + 2]
    agree(module, [values], expected.reshape(-1))


def test_lanes_that_do_not_come_are_found() -> None:
    def build(ib: Any, C: Any, tx: E.Var) -> None:
        local = [
            ib.allocate(dtype, size, name=name, scope="local")
            for name, dtype, size in zip("abc", HALVES, (8, 4, 4), strict=True)
        ]
        with ib.if_scope(tx < 16):
            ib.emit(mma(CASES[0], *[one.buffer.data for one in local]))
        C[tx] = local[2][0]

    report = check_program(k.program(build, [k.array("C", 32)], tx=32), [np.zeros(32, "float32")])
    kinds = {one.kind for one in report.findings}
    assert kinds == {ViolationKind.BARRIER_DIVERGENCE, ViolationKind.UNINITIALIZED_READ}


def test_refuses_what_does_not_exist() -> None:
    case = CASES[0]._replace(shape="m16n8k24")

    def build(ib: Any, C: Any, tx: E.Var) -> None:
        local = [ib.allocate(one, 8, name="abc"[i], scope="local") for i, one in enumerate(HALVES)]
        ib.emit(mma(case, *[one.buffer.data for one in local]))

    with pytest.raises(BuildError, match="does not support m16n8k24 of float16"):
        check_program(k.program(build, [k.array("C", 32)], tx=32), [np.zeros(32, "float32")])


# -- by tensorize ----------------------------------------------------------------------------------


def warp_product() -> Any:
    """C += A * B of 16 x 8 x 16, by the 32 threads of a warp."""
    x = te.placeholder((16, 16), "float16", name="x")
    y = te.placeholder((16, 8), "float16", name="y")
    r = te.reduce_axis((0, 16), name="r")
    z = te.compute(
        (16, 8),
        lambda i, j: te.sum(x[i, r].astype("float32") * y[r, j].astype("float32"), axis=r),
        name="z",
    )

    def body(ins: Any, outs: Any) -> tuple[Any, Any, Any]:
        (xx, yy), (zz,) = ins, outs

        def each(ib: Any, lane: Any) -> Any:
            return [
                (i, *CASES[0].c(ops.floordiv(lane, 4), ops.floormod(lane, 4), i)) for i in range(4)
            ]

        def clear() -> Any:
            ib = te_sched.tir.ir_builder.create()
            tx = te.thread_axis((0, 32), "threadIdx.x")
            ib.scope_attr(tx, "thread_extent", 32)
            for _, row, column in each(ib, tx.var):
                ib.emit(zz.vstore([row, column], ops.const(0.0, "float32")))
            return ib.get()

        def update() -> Any:
            ib = te_sched.tir.ir_builder.create()
            tx = te.thread_axis((0, 32), "threadIdx.x")
            ib.scope_attr(tx, "thread_extent", 32)
            g, t = ops.floordiv(tx.var, 4), ops.floormod(tx.var, 4)
            a, b, c = (
                ib.allocate(dtype, size, name=name, scope="local")
                for name, dtype, size in zip("abc", HALVES, (8, 4, 4), strict=True)
            )
            for i in range(8):
                a[i] = xx.vload(list(CASES[0].a(g, t, i)))
            for i in range(4):
                b[i] = yy.vload(list(CASES[0].b(g, t, i)))
            for i, row, column in each(ib, tx.var):
                c[i] = zz.vload([row, column])
            ib.emit(mma(CASES[0], *[one.buffer.data for one in (a, b, c)]))
            for i, row, column in each(ib, tx.var):
                ib.emit(zz.vstore([row, column], c[i]))
            return ib.get()

        return update(), clear(), update()

    binds = {
        one: te_sched.tir.decl_buffer(
            one.shape,
            one.dtype,
            one.op.name,
            offset_factor=1,
            strides=[te.var(f"s_{one.op.name}"), 1],
        )
        for one in (x, y, z)
    }
    return te.decl_tensor_intrin(z.op, body, binds=binds)


def test_products_by_tensorize() -> None:
    size = 32
    A, B = (te.placeholder((size, size), "float16", name=name) for name in "AB")
    r = te.reduce_axis((0, size), name="r")
    C = te.compute(
        (size, size),
        lambda i, j: te.sum(A[i, r].astype("float32") * B[r, j].astype("float32"), axis=r),
        name="C",
    )
    s = te.create_schedule(C.op)
    i, j = s[C].op.axis
    io, jo, ii, ji = s[C].tile(i, j, 16, 8)
    ro, ri = s[C].split(r, factor=16)
    s[C].reorder(io, jo, ro, ii, ji, ri)
    s[C].bind(io, te.thread_axis("blockIdx.y"))
    s[C].bind(jo, te.thread_axis("blockIdx.x"))
    s[C].tensorize(ii, warp_product())
    built = te_sched.build(s, [A, B, C], target="cuda")
    assert isinstance(built, CudaModule)
    a, b = (small("float16", size * size, seed).reshape(size, size) for seed in (0, 1))
    agree(built, [a, b], a.astype("float32") @ b.astype("float32"), archs=["sm_80", "sm_90"])
    assert "mma.sync" in built.source
