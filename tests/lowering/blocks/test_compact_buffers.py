"""Buffers shrink to what is accessed."""

from __future__ import annotations

import re

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.config import TO_RUN
from te_sched.lowering.blocks.compact_buffers import compact_buffers
from te_sched.lowering.blocks.lower_init import lower_init
from te_sched.lowering.blocks.make_opaque import make_opaque
from te_sched.script import from_source
from te_sched.script import tir as T
from te_sched.tir import transform
from tests.lowering.blocks.programs import GUARDED, ROWS, THREADS, after
from tests.peer.differential import interpret


def test_text_of_rows() -> None:
    expected = """
# with T.block("root"):
for i in range(8):
    with T.block(""):
        T.reads(A[i, 0:16])
        T.writes(B[i, 0:16])
        C = T.alloc_buffer((1, 16))
        for j in range(16):
            with T.block("C"):
                T.reads(A[i, j])
                T.writes(C[i - i, j])
                C[i - i, j] = A[i, j] + T.float32(1)
        for j in range(16):
            with T.block("B"):
                T.reads(C[i - i, j])
                T.writes(B[i, j])
                B[i, j] = C[i - i, j] * T.float32(2)
"""
    assert after(ROWS, "compact_buffers") == expected.strip("\n")


def test_text_of_threads() -> None:
    place = "blockIdx_x - blockIdx_x, k * 32 + threadIdx_x - k * 32"
    expected = f"""
# with T.block("root"):
for blockIdx_x in T.thread_binding(8, thread="blockIdx.x"):
    for threadIdx_x in T.thread_binding(32, thread="threadIdx.x"):
        for k in range(4):
            with T.block(""):
                T.reads(A[blockIdx_x, k * 32:k * 32 + 32])
                T.writes(B[blockIdx_x, k * 32:k * 32 + 32])
                S = T.alloc_buffer((1, 32), scope="shared")
                with T.block("S"):
                    T.reads(A[blockIdx_x, k * 32 + threadIdx_x])
                    T.writes(S[{place}])
                    S[{place}] = A[blockIdx_x, k * 32 + threadIdx_x]
                with T.block("B"):
                    T.reads(S[{place}])
                    T.writes(B[blockIdx_x, k * 32 + threadIdx_x])
                    B[blockIdx_x, k * 32 + threadIdx_x] = S[{place}] + T.float32(1)
"""
    assert after(THREADS, "compact_buffers") == expected.strip("\n")


def test_other_functions_stay() -> None:
    func = from_source(GUARDED)
    assert compact_buffers(func).body is func.body


def test_results() -> None:
    rng = np.random.default_rng(0)
    a = rng.random((8, 16)).astype("float32")
    expected = (a + 1) * 2
    out = te_sched.nd.array(np.zeros(expected.shape, "float32"))
    te_sched.build(from_source(ROWS))(te_sched.nd.array(a), out)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5)


def test_views_of_views_in_loops() -> None:
    @T.prim_func
    def rows(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        for i in range(8):
            with T.block("row"):
                B = T.alloc_buffer((8, 8))
                with T.block("fill"):
                    row = T.match_buffer(B[i, 0:8], (8,), offset_factor=1)
                    for j in range(8):
                        with T.block("one"):
                            one = T.match_buffer(row[j], (), offset_factor=1)
                            one[()] = A[i, j] + T.float32(1)
                for j in range(8):
                    with T.block("use"):
                        C[i, j] = B[i, j] * T.float32(2)

    compact = transform.CompactBufferAllocation()(te_sched.IRModule({"rows": rows}))
    assert "alloc_buffer((1, 8)" in str(compact)
    a = np.arange(64, dtype="float32").reshape(8, 8)
    c = np.zeros_like(a)
    te_sched.build(rows)(a, c)
    np.testing.assert_array_equal(c, (a + 1) * 2)


def test_shared_memory_of_virtual_threads_is_common() -> None:
    @T.prim_func
    def staged(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        for i0 in T.thread_binding(2, thread="blockIdx.x"):
            for i1 in T.thread_binding(2, thread="vthread"):
                for i2 in T.thread_binding(4, thread="threadIdx.x"):
                    with T.block("tile"):
                        B = T.alloc_buffer((16, 16), scope="shared")
                        for j in range(16):
                            with T.block("B"):
                                B[i0 * 8 + i1 * 4 + i2, j] = A[i0 * 8 + i1 * 4 + i2, j]
                        for j in range(16):
                            with T.block("C"):
                                C[i0 * 8 + i1 * 4 + i2, j] = B[i0 * 8 + i1 * 4 + i2, j]

    compact = transform.CompactBufferAllocation()(te_sched.IRModule({"staged": staged}))
    assert "alloc_buffer((8, 16)" in str(compact)
    lowered = transform.LowerOpaqueBlock()(te_sched.IRModule({"staged": staged}))
    again = transform.CompactBufferAllocation()(lowered)
    assert "decl_buffer((8, 16)" in str(again)


# Shapes as TVM 0.19 prints them: 32 rows where the threads have the memory in common.
@pytest.mark.parametrize(
    ("scope", "thread", "rows"),
    [
        ("warp", "threadIdx.x", 32),
        ("warp", "threadIdx.y", 1),
        ("warp", "blockIdx.x", 1),
        ("wmma.accumulator", "threadIdx.x", 1),
        ("wmma.accumulator", "threadIdx.y", 1),
        ("shared.dyn", "threadIdx.y", 32),
        ("global", "blockIdx.x", 32),
    ],
)
def test_threads_keep_the_part_that_they_do_not_have_in_common(
    scope: str, thread: str, rows: int
) -> None:
    @T.prim_func
    def tiles(A: T.Buffer((32, 4), "float32"), C: T.Buffer((32, 4), "float32")):
        for t in T.thread_binding(32, thread=thread):
            with T.block("tile"):
                T.reads(A[t, 0:4])
                T.writes(C[t, 0:4])
                B = T.alloc_buffer((32, 4), scope=scope)
                for j in range(4):
                    B[t, j] = A[t, j]
                for j in range(4):
                    C[t, j] = B[t, j]

    compact = transform.CompactBufferAllocation()(te_sched.IRModule({"tiles": tiles}))
    assert f"alloc_buffer(({rows}, 4)" in str(compact)


def test_memory_with_other_views_stays() -> None:
    @T.prim_func
    def aliased(C: T.Buffer((8,), "int32")):
        data = T.allocate([16], "int32", "global")
        B = T.decl_buffer((16,), "int32", data=data)
        other = T.decl_buffer((16,), "int32", data=data)
        for i in range(8):
            B[i + 4] = i
            C[i] = other[i + 4]

    module = te_sched.IRModule({"aliased": aliased})
    assert str(transform.CompactBufferAllocation()(module)) == str(module)


def test_rows_are_aligned() -> None:
    @T.prim_func
    def aligned(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4, 16), "float32")):
        B = T.alloc_buffer((4, 16))
        for i, j in T.grid(4, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.block_attr({"buffer_dim_align": [[0, 0, 16, 15]]})
                B[vi, vj] = A[vi, vj] + T.float32(1)
        for i, j in T.grid(4, 16):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] * T.float32(2)

    opaque = transform.ConvertBlocksToOpaque()(te_sched.IRModule({"aligned": aligned}))
    assert "strides=(31, 1)" in str(transform.CompactBufferAllocation()(opaque))
    a = np.arange(64, dtype="float32").reshape(4, 16)
    c = np.zeros_like(a)
    te_sched.build(aligned)(a, c)
    np.testing.assert_array_equal(c, (a + 1) * 2)


def test_parameters_keep_their_strides() -> None:
    @T.prim_func
    def aligned(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.block_attr({"buffer_dim_align": [[0, 0, 8, 4]]})
                B[vi, vj] = A[vi, vj]

    a = np.arange(16, dtype="float32").reshape(4, 4)
    b = np.zeros_like(a)
    te_sched.build(aligned)(a, b)
    np.testing.assert_array_equal(a, b)


def test_buffers_grow_if_they_may() -> None:
    @T.prim_func
    def padded(A: T.Buffer((7,), "float32")):
        with T.block(""):
            B = T.alloc_buffer((7,))
            for i in range(8):
                B[i] = T.float32(1)
            for i in range(7):
                A[i] = B[i]

    assert "(7,)" in str(compact_buffers(padded))
    assert "B = T.alloc_buffer((8,))" in str(compact_buffers(padded, is_strict=False))


def test_rows_of_unknown_length() -> None:
    source = """
@T.prim_func
def main(a: T.handle, c: T.handle):
    m = T.int32()
    A = T.match_buffer(a, (8, m), "float32")
    C = T.match_buffer(c, (8, m), "float32")
    B = T.alloc_buffer((8, m), "float32")
    for i, j in T.grid(8, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, m - 1 - vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(8, m):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * T.float32(2)
"""
    size = "T.min(m, m - T.min(m - T.Div(m * -1, -1), 0)) * 8"  # which is m * 8
    assert f"T.allocate([{size}]" in str(te_sched.lower(from_source(source)))
    a = np.arange(40, dtype="float32").reshape(8, 5)
    c = np.zeros_like(a)
    te_sched.build(from_source(source))(a, c)
    np.testing.assert_array_equal(c, (a[:, ::-1] + 1) * 2)


def test_conditions_on_fused_loops_bound_the_region() -> None:
    @T.prim_func
    def diagonal(C: T.Buffer((512,), "float32")):
        for i in range(8):
            with T.block(""):
                B = T.alloc_buffer((512,))
                for j, k in T.grid(8, 8):
                    with T.block(""):
                        T.where(j * 8 + k < 60)
                        B[i * 64 + j * 8 + k] = T.float32(1)
                for j, k in T.grid(8, 8):
                    with T.block(""):
                        T.where(j * 8 + k < 60)
                        C[i * 64 + j * 8 + k] = B[i * 64 + j * 8 + k]

    assert "alloc_buffer((60,))" in str(compact_buffers(diagonal))
    c = np.zeros(512, "float32")
    te_sched.build(diagonal)(c)
    np.testing.assert_array_equal(c.reshape(8, 64)[:, :60], 1)


@pytest.mark.parametrize(("extent", "factor"), [(7, 4), (17, 16), (3, 2), (13, 4)])
def test_outer_loops_are_not_taken_for_sizes(extent: int, factor: int) -> None:
    """Sizes are positive, so that 7 - n * 4 is below 4; an outer loop may be 0."""
    A = te.placeholder((extent,), name="A")
    B = te.compute((extent,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((extent,), lambda i: B[i] + 1.0, name="C")
    sch = te_sched.tir.Schedule(te.create_prim_func([A, C]))
    outer, _ = sch.split(sch.get_loops("C")[0], [None, factor])
    sch.compute_at("B", outer)
    assert f"B = T.allocate([{factor}]" in str(te_sched.lower(sch.mod))
    a, c = np.arange(extent, dtype="float32"), np.zeros(extent, "float32")
    te_sched.build(sch.mod, target="llvm")(a, c)
    np.testing.assert_array_equal(c, a * 2 + 1)


def test_inequalities_at_the_ends_of_loops_bound_the_region() -> None:
    @T.prim_func
    def odd(C: T.Buffer((10,), "int32")):
        data = T.allocate([12], "int32")
        A = T.Buffer((12,), "int32", data=data)
        for i in range(10):
            if i != 0:
                A[i] = i
                C[i] = A[i]

    compact = compact_buffers(odd)
    assert "T.allocate([9]" in str(compact)
    assert "A_1[i - 1] = i" in str(compact)
    c = np.zeros(10, "int32")
    te_sched.build(compact)(c)
    np.testing.assert_array_equal(c, np.arange(10))


def test_pointers_access_the_regions_that_blocks_declare() -> None:
    @T.prim_func
    def opaque(A: T.Buffer((1024,), "float32")):
        B = T.alloc_buffer((1024,))
        C = T.alloc_buffer((1024,))
        D = T.alloc_buffer((1024,))
        for i in range(512):
            with T.block(""):
                T.reads()
                T.writes(C[i : i + 9], D[i + 100])
                T.call_extern("int32", "f", B.data, C.data, D.data)
                B[i] = A[i] + C[i] + D[i + 100]

    text = str(compact_buffers(opaque))
    assert "B = T.alloc_buffer((1024,))" in text  # the block does not declare it
    assert "C = T.alloc_buffer((520,))" in text
    assert "D = T.alloc_buffer((612,))" in text  # elements keep their places after the pointer


def test_allocations_state_the_alignment_of_rows() -> None:
    @T.prim_func
    def rows(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        for i in range(16):
            with T.block(""):
                B = T.alloc_buffer((16, 16))
                for j in range(16):
                    with T.block(""):
                        T.writes(B[i, j])
                        T.block_attr({"buffer_dim_align": [[0, 0, 16, 15]]})
                        B[i, j] = A[i, j]
                for j in range(16):
                    C[i, j] = B[i, j]

    lowered = transform.LowerOpaqueBlock()(te_sched.IRModule({"rows": rows}))
    assert 'annotations={"buffer_dim_align": [[-1, 0, 16, 15]]}' in str(lowered)
    compact = transform.CompactBufferAllocation()(lowered)
    assert "T.allocate([1, 31]" in str(compact)
    assert "strides=(31, 1)" in str(compact)
    a = np.random.default_rng(0).random((16, 16)).astype("float32")
    c = np.zeros_like(a)
    te_sched.build(compact["rows"])(a, c)
    np.testing.assert_array_equal(c, a)


def test_virtual_threads_share_global_memory() -> None:
    text = """
# from tvm.script import tir as T
@T.prim_func
def doubled(A: T.Buffer((8,)), B: T.Buffer((8,))):
    C = T.alloc_buffer((8,))
    for i in T.thread_binding(8, thread="vthread.x"):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] + T.float32(1)
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = C[vi] * T.float32(2)
"""
    func = te_sched.script.from_source(text)
    assert "C = T.allocate([64]" in te_sched.lower(func).script()
    a = np.random.default_rng(0).random(8, dtype="float32")
    given = [a.copy(), a * 0]
    interpret.run(func, given, {}, is_strict=True)
    np.testing.assert_allclose(given[1], (a + 1) * 2)


FILLED = """
@T.prim_func
def main(a: T.handle, m: T.int32, C: T.Buffer((64,), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    for z in range(n):
        with T.block("Q"):
            vz = T.axis.spatial(n, z)
            B = T.alloc_buffer(({shape},), "float32")
            for i in range({extent}):
                with T.block("B"):
                    vi = T.axis.spatial({extent}, i)
                    if {condition}:
                        B[{index}] = A[0]
"""


@pytest.mark.parametrize(
    ("shape", "extent", "condition", "index", "expected"),
    [
        ("n", "m", "True", "vi", "T.min(n, m)"),
        ("n", "n - 1", "True", "vi + 1", "n - 1"),
        ("n", "5", "True", "vi", "T.min(n, 5)"),
        ("n", "1", "True", "vi", "1"),
        ("n * 2", "2", "True", "vi", "2"),
        ("16", "n", "True", "vi", "T.min(16, n)"),
        ("n", "n", "True", "n - 1 - vi", "T.min(n, T.Div(n * -1, -1))"),
        ("n", "n", "True", "(vi + 1) % n", "T.min(n, T.Select(0 <= n, n, 0 - n) * 2 - 1)"),
        ("n", "n", "vi < 7", "vi", "T.min(n, 7)"),
        ("n", "n", "vi < m", "vi", "T.min(n, m)"),
        ("16", "16", "vi < n", "vi", "T.min(16, n)"),
        ("n", "n", "vi != 0", "vi", "n - 1"),
        ("n", "n", "vi == 3", "vi", "n"),  # as TVM, which uses only inequalities of symbols
        ("n", "n", "vi < 7 and A[vi] < T.float32(0)", "vi", "n"),
        ("n", "T.min(vz, 5)", "True", "vi", "5"),
        ("n", "vz", "True", "vi", "n"),  # 2147483646 in TVM
        ("n", "5", "True", "vi + vz", "T.min(n, 5)"),
        ("n", "T.Cast('int32', A[0])", "True", "vi", "n"),
    ],
)
def test_symbolic_sizes(shape: str, extent: str, condition: str, index: str, expected: str) -> None:
    source = FILLED.format(shape=shape, extent=extent, condition=condition, index=index)
    func = compact_buffers(make_opaque(lower_init(from_source(source))))
    (size,) = re.findall(r"B = T.alloc_buffer\(\((.*),\)\)", str(func))
    assert size == expected


@pytest.mark.parametrize(
    ("scope", "shape", "expected"),
    [
        ("shared", "n", "5"),
        ("local", "n", "5"),
        ("global", "n", "T.min(n, 5)"),
        ("shared", "4", "4"),
    ],
)
def test_memory_of_kernels_has_a_constant_size_in_programs_to_run(
    scope: str, shape: str, expected: str
) -> None:
    source = FILLED.format(shape=shape, extent="5", condition="True", index="vi")
    source = source.replace(
        '"float32")\n            for i', f'"float32", scope="{scope}")\n            for i'
    )
    func = compact_buffers(make_opaque(lower_init(from_source(source))), TO_RUN)
    (size,) = re.findall(r"B = T.alloc_buffer\(\((.*),\)", str(func))
    assert size == expected


def test_buffers_of_symbolic_sizes_hold_their_elements() -> None:
    @T.prim_func
    def turned(a: T.handle, c: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,), "float32")
        C = T.match_buffer(c, (n,), "float32")
        for i in range(n):
            with T.block("C"):
                vi = T.axis.spatial(n, i)
                B = T.alloc_buffer((n,), "float32")
                for j in range(n):
                    with T.block("B"):
                        vj = T.axis.spatial(n, j)
                        B[(vj + 1) % n] = A[vj]
                C[vi] = B[n - 1 - vi]

    a, c = np.arange(7, dtype="float32"), np.zeros(7, "float32")
    te_sched.build(turned)(a, c)
    np.testing.assert_array_equal(c, np.roll(a, 1)[::-1])


def test_regions_that_may_be_whole_begin_at_zero() -> None:
    source = """
@T.prim_func
def main(A: T.Buffer((24,), "float32"), B: T.Buffer((24,), "float32")):
    for x, y in T.grid(24, 24):
        with T.block("root"):
            C = T.alloc_buffer((24,), "float32")
            C[x] = A[x]
            C[y] = A[y]
            B[x] = C[y]
"""
    flat = transform.CompactBufferAllocation()(
        transform.ConvertBlocksToOpaque()(
            te_sched.IRModule({"main": te_sched.script.from_source(source)})
        )
    )
    assert "C[x] = A[x]" in str(flat)
    assert "C = T.alloc_buffer((24,))" in str(flat)


def test_conditions_on_several_loops_bound_memory_beside_those_on_outer_loops() -> None:
    """512 of the 768 copied elements exist; the first condition is about o, too."""
    text = """
@T.prim_func
def main(A: T.Buffer((960, 4), "float32"), B: T.Buffer((960, 4), "float32")):
    for o in range(8):
        with T.block(""):
            S = T.alloc_buffer((960, 4))
            for t, v in T.grid(256, 3):
                with T.block("S"):
                    T.where(o * 128 + (t * 3 + v) // 4 < 960 and t * 3 + v < 512)
                    vi = T.axis.spatial(960, o * 128 + (t * 3 + v) // 4)
                    vj = T.axis.spatial(4, (t * 3 + v) % 4)
                    S[vi, vj] = A[vi, vj]
            for i, j in T.grid(128, 4):
                with T.block("B"):
                    T.where(o * 128 + i < 960)
                    vi = T.axis.spatial(960, o * 128 + i)
                    vj = T.axis.spatial(4, j)
                    B[vi, vj] = S[vi, vj] * 2.0
"""
    func = from_source(text)
    shown = str(compact_buffers(make_opaque(lower_init(func))))
    assert "S = T.alloc_buffer((128, 4))" in shown
    a = np.random.default_rng(0).random((960, 4), "float32")
    b = te_sched.nd.array(np.zeros_like(a))
    te_sched.build(func)(te_sched.nd.array(a), b)
    np.testing.assert_array_equal(b.numpy(), a * 2)
