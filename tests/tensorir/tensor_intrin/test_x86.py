"""The tensor intrinsics that TVM brings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import tir
from te_sched.errors import BuildError, LoweringError
from te_sched.tensorir.tensor_intrin import x86
from te_sched.tensorir.tiling import tile_with_tensor_intrin
from tests.tensorir.programs import program

BYTES = """
@T.prim_func
def main(
    X: T.Buffer((8, 16), "XTYPE"),
    W: T.Buffer((2, 4, 16, 4), "WTYPE"),
    Y: T.Buffer((8, 32), "int32"),
):
    for i, j, k in T.grid(8, 32, 16):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = 0
            Y[vi, vj] = Y[vi, vj] + T.Cast("int32", X[vi, vk]) * T.Cast(
                "int32", W[vj // 16, vk // 4, vj % 16, vk % 4]
            )
"""
# What TVM 0.19 prints.
VNNI = """
            A = T.match_buffer(X[vi_o, vk_o * 4:vk_o * 4 + 4], (4,), "uint8", offset_factor=1)
            B = T.match_buffer(W[vj_o, vk_o, 0:16, 0:4], (16, 4), "int8", offset_factor=1)
            C = T.match_buffer(Y[vi_o, vj_o * 16:vj_o * 16 + 16], (16,), "int32", offset_factor=1)
            A_u8x4: T.uint8x4 = A[0:4]
            A_i32: T.int32 = T.reinterpret("int32", A_u8x4)
            B_i8x64: T.int8x64 = B[0, 0:64]
            B_i32x16: T.int32x16 = T.reinterpret("int32x16", B_i8x64)
            C_i32x16: T.int32x16 = C[0:16]
            C[0:16] = T.call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.vpdpbusd.512", """


def tensorized(name: str, text: str = BYTES) -> Any:
    """The schedule of a product of bytes, computed by an intrinsic."""
    text = text.replace("XTYPE", "uint8").replace("WTYPE", "int8")
    sch = tir.Schedule(program(text))
    inner = tile_with_tensor_intrin(sch, sch.get_block("Y"), name)
    assert inner is not None
    sch.decompose_reduction("Y", sch.get_loops("Y")[2])
    sch.tensorize(inner, name)
    return sch


def test_text_of_a_product_by_vnni() -> None:
    sch = tensorized(x86.VNNI_DOT_16x4_INTRIN)
    assert VNNI in "\n".join(line[8:] for line in sch.mod.script().splitlines())


def of_bytes(lanes: int, has_signed_four: bool, has_rows_first: bool) -> str:
    """The product of bytes of other vectors and operands."""
    text = BYTES.replace("16, 4)", f"{lanes}, 4)").replace("(2,", f"({32 // lanes},")
    text = text.replace("vj // 16", f"vj // {lanes}").replace("vj % 16", f"vj % {lanes}")
    if has_rows_first:
        a, b = "X[vi, vk]", f"W[vj // {lanes}, vk // 4, vj % {lanes}, vk % 4]"
        text = text.replace(b, "...").replace(a, b).replace("...", a)
    types = ("int8", "uint8") if has_signed_four else ("uint8", "int8")
    return text.replace("XTYPE", types[0]).replace("WTYPE", types[1])


@pytest.mark.parametrize("instructions", x86.DOT_INSTRUCTIONS)
@pytest.mark.parametrize("has_signed_four", [False, True])
@pytest.mark.parametrize("has_rows_first", [False, True])
def test_results_of_dot_products(
    instructions: str, has_signed_four: bool, has_rows_first: bool
) -> None:
    for lanes in x86.DOT_INSTRUCTIONS[instructions]:
        name = x86.dot_intrinsic(instructions, lanes, has_signed_four, has_rows_first)
        sch = tensorized(name, of_bytes(lanes, has_signed_four, has_rows_first))
        try:
            built = te_sched.build(sch.mod, target="llvm")
        except BuildError as error:  # another processor
            pytest.skip(str(error))
        rng = np.random.default_rng(0)
        types = ("int8", "uint8") if has_signed_four else ("uint8", "int8")
        x = rng.choice([0, 1, 127, 128, 255], (8, 16)).astype(types[0])
        w = rng.choice([0, 1, 127, 128, 255], (32 // lanes, 4, lanes, 4)).astype(types[1])
        y = np.zeros((8, 32), "int32")
        built(x, w, y)
        rows = w.transpose(0, 2, 1, 3).reshape(32, 16).astype("int32")
        np.testing.assert_array_equal(y, x.astype("int32") @ rows.T)


@pytest.mark.parametrize("lanes", x86.PAIR_INSTRUCTIONS)
@pytest.mark.parametrize("has_rows_first", [False, True])
def test_results_of_pairs(lanes: int, has_rows_first: bool) -> None:
    text = of_bytes(lanes, False, has_rows_first).replace("uint8", "bfloat16")
    text = (
        text.replace("int8", "bfloat16")
        .replace("int32", "float32")
        .replace("= 0", "= T.float32(0)")
    )
    text = text.replace(f"{lanes}, 4)", f"{lanes}, 2)").replace(", 4,", ", 8,")
    text = text.replace("vk // 4", "vk // 2").replace("vk % 4", "vk % 2")
    name = x86.pair_intrinsic(lanes, has_rows_first)
    try:
        built = te_sched.build(tensorized(name, text).mod, target="llvm")
    except BuildError as error:  # another processor
        pytest.skip(str(error))
    rng = np.random.default_rng(0)
    x = rng.integers(-8, 8, (8, 16)).astype("float32")
    w = rng.integers(-8, 8, (32 // lanes, 8, lanes, 2)).astype("float32")
    y = np.zeros((8, 32), "float32")
    built(*[te_sched.nd.array(one, dtype="bfloat16") for one in (x, w)], y)
    np.testing.assert_array_equal(y, x @ w.transpose(0, 2, 1, 3).reshape(32, 16).T)


@pytest.mark.parametrize("name", [x86.VNNI_DOT_16x4_INTRIN, x86.AVX512_DOT_16x4_INTRIN])
def test_results_on_x86(name: str) -> None:
    sch = tensorized(name)
    try:
        built = te_sched.build(sch.mod, target="llvm")
    except BuildError as error:  # another processor
        pytest.skip(str(error))
    rng = np.random.default_rng(0)
    x = rng.choice([0, 1, 200, 255], (8, 16)).astype("uint8")
    w = rng.choice([-128, -1, 5, 127], (2, 4, 16, 4)).astype("int8")
    y = np.zeros((8, 32), "int32")
    built(x, w, y)
    rows = w.transpose(0, 2, 1, 3).reshape(32, 16).astype("int32")
    np.testing.assert_array_equal(y, x.astype("int32") @ rows.T)


@pytest.mark.parametrize("name", [x86.VNNI_DOT_16x4_INTRIN, x86.AVX512_DOT_16x4_INTRIN])
def test_build_rejects_processors_without_the_instruction(name: str) -> None:
    with pytest.raises(BuildError, match="has no instruction for the intrinsic"):
        te_sched.build(tensorized(name).mod, target="llvm -mcpu=haswell")


def test_build_rejects_rows_that_are_not_one_after_the_other() -> None:
    text = BYTES.replace("(2, 4, 16, 4)", "(32, 16)")
    text = text.replace("W[vj // 16, vk // 4, vj % 16, vk % 4]", "W[vj, vk]")
    sch = tensorized(x86.VNNI_DOT_16x4_INTRIN, text)
    with pytest.raises(LoweringError, match="a vector of 64 elements of view B goes beyond its"):
        te_sched.build(sch.mod, target="llvm")


def test_indices_have_the_dtype_of_the_program() -> None:
    text = BYTES.replace("8, 32, 16):", "T.int64(8), T.int64(32), T.int64(16)):")
    for shape in ("(8, 16)", "(2, 4, 16, 4)", "(8, 32)"):
        wide = ", ".join([f"T.int64({one})" for one in shape[1:-1].split(", ")])
        text = text.replace(f"{shape}, ", f"({wide}), ")
    sch = tensorized(x86.VNNI_DOT_16x4_INTRIN, text)
    views = sch.get(sch.get_block("Y_update_o")).match_buffers
    assert [one.buffer.elem_offset.dtype for one in views] == ["int64"] * 3
    assert "A_u8x4: T.uint8x4 = A[T.int64(0):T.int64(4)]" in sch.mod.script()
