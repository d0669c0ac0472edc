"""Intrinsics of GPUs, on the emulated device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import config, tir
from te_sched.errors import BuildError
from te_sched.tensorir.tensor_intrin import arm_cpu, cuda, rocm
from tests.tensorir.programs import program

PRODUCT = """
@T.prim_func
def main(
    A: T.Buffer((32, 32), "ELEMENT"), B: T.Buffer((32, 32), "ELEMENT"), C: T.Buffer((32, 32), "SUM")
):
    for i, j, k in T.grid(32, 32, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.SUM(0)
            C[vi, vj] = C[vi, vj] + T.Cast("SUM", A[vi, vk]) * T.Cast("SUM", B[ROW])
"""


def product(element: str, total: str, is_trans: bool) -> Any:
    """The schedule of a product of matrices."""
    text = PRODUCT.replace("ELEMENT", element).replace("SUM", total)
    if element == total:
        text = text.replace(f'T.Cast("{total}", ', "(")
    return tir.Schedule(program(text.replace("ROW", "vj, vk" if is_trans else "vk, vj")))


def check_product(sch: Any, is_trans: bool) -> None:
    """A kernel computes a product of small integers."""
    rng = np.random.default_rng(0)
    buffers = list(sch.mod["main"].buffer_map.values())
    a, b, c = [rng.integers(0, 4, (32, 32)).astype(one.dtype) for one in buffers]
    with config.scoped(emulate=True):
        built = te_sched.build(sch.mod, target="cuda")
        arrays = [te_sched.nd.array(one, te_sched.cuda(0)) for one in (a, b, c)]
        built(*arrays)
    wide = b.astype("int64").T if is_trans else b.astype("int64")
    np.testing.assert_array_equal(arrays[2].numpy().astype("int64"), a.astype("int64") @ wide)


def with_fragments(element: str, total: str, is_trans: bool) -> Any:
    """The schedule of a product by fragments of matrices."""
    sch = product(element, total, is_trans)
    short, long = ("f16", total.replace("float", "f")) if element == "float16" else ("s8", "s32")
    pairs = [sch.split(loop, [None, 16]) for loop in sch.get_loops("C")]
    sch.reorder(*[pair[0] for pair in pairs], *[pair[1] for pair in pairs])
    sch.bind(pairs[0][0], "blockIdx.x")
    sch.bind(pairs[1][0], "blockIdx.y")
    result = sch.cache_write("C", 0, "wmma.accumulator")
    sch.reverse_compute_at(result, pairs[1][0])
    outer = pairs[2][0]
    for place, name in enumerate(["a", "b"]):
        shared = sch.cache_read("C", place, "shared")
        fragment = sch.cache_read("C", place, f"wmma.matrix_{name}")
        sch.compute_at(fragment, outer)
        sch.compute_at(shared, outer)
        sch.bind(sch.split(sch.fuse(*sch.get_loops(shared)[-2:]), [None, 32])[1], "threadIdx.x")
        of = f"{name}_trans" if place and is_trans else name
        load = f"wmma_load_16x16x16_{short}_{of}_shared"
        sch.tensorize(sch.get_loops(fragment)[-2], load)
    init = sch.decompose_reduction("C", outer)
    sch.tensorize(sch.get_loops(init)[-2], f"wmma_fill_16x16x16_{long}")
    sync = f"wmma_sync_16x16x16_{short * 2}{long}{'_trans' * is_trans}"
    sch.tensorize(sch.get_loops("C_update")[-3], sync)
    sch.tensorize(sch.get_loops(result)[-2], f"wmma_store_16x16x16_{long}_global")
    return sch


@pytest.mark.parametrize("is_trans", [False, True])
@pytest.mark.parametrize(
    ("element", "total"), [("float16", "float32"), ("float16", "float16"), ("int8", "int32")]
)
def test_results_by_fragments(element: str, total: str, is_trans: bool) -> None:
    sch = with_fragments(element, total, is_trans)
    assert sch.mod.script().count("T.tvm_mma_sync(") == 1
    check_product(sch, is_trans)


# What TVM 0.19 prints.
LOADED = (
    "T.tvm_load_matrix_sync(C.data, 16, 16, 16, C.elem_offset // C.strides[0] // 16 * "
    "(C.strides[0] // 16) + C.elem_offset % C.strides[0] // 16, "
    'T.tvm_access_ptr(T.type_annotation("float16"), A.data, A.elem_offset, A.strides[0] * 16, 1), '
    'A.strides[0], "col_major")'
)


def test_text_of_a_load_by_columns() -> None:
    made = tir.TensorIntrin.get(cuda.WMMA_LOAD_16x16x16_F16_B_TRANS_INTRIN)
    assert LOADED in made.impl.script()
    assert 'scope="shared", offset_factor=16)' in made.desc.script()


def _dots(name: str, element: str, total: str) -> Any:
    """The schedule of a product of bytes by an intrinsic for four of them."""
    sch = product(element, total, is_trans=True)
    i, j, k = sch.get_loops("C")
    rows, columns = sch.split(i, [2, 4, 4]), sch.split(j, [2, 4, 4])
    outer, _, inner = sch.split(k, [2, 4, 4])
    sch.reorder(rows[0], columns[0], rows[1], columns[1], rows[2], columns[2])
    sch.reverse_compute_at(sch.cache_write("C", 0, "local"), columns[1])
    for place in (0, 1):
        sch.compute_at(sch.cache_read("C", place, "shared"), outer, True)
    for loop, thread in zip(
        (rows[0], columns[0], rows[1], columns[1]),
        ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x"),
        strict=True,
    ):
        sch.bind(loop, thread)
    sch.decompose_reduction("C", outer)
    sch.tensorize(inner, name)
    return sch


@pytest.mark.parametrize(
    ("name", "element", "total"),
    [
        (arm_cpu.DP4A_S8S8S32_INTRIN, "int8", "int32"),
        (arm_cpu.DP4A_U8U8U32_INTRIN, "uint8", "uint32"),
    ],
)
def test_results_of_four_bytes(name: str, element: str, total: str) -> None:
    check_product(_dots(name, element, total), is_trans=True)


OTHER = """
@T.prim_func
def main(A: T.Buffer((4,), "int32")):
    A[0] = T.call_llvm_pure_intrin(
        "int32", "llvm.amdgcn.sdot4", T.uint32(4), A[1], A[2], 0, T.bool(True)
    )
"""


def test_build_rejects_instructions_of_other_processors() -> None:
    assert "llvm.amdgcn.sdot4" in tir.TensorIntrin.get(rocm.AMDGPU_SDOT4_INTRIN).impl.script()
    with pytest.raises(BuildError, match=r"no instruction for the intrinsic llvm\.amdgcn\.sdot4"):
        te_sched.build(program(OTHER), target="llvm")
