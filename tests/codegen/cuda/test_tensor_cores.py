"""Fragments, mma.sync and ldmatrix as text."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.codegen.cuda import print_kernels
from te_sched.codegen.cuda.tensor_cores import find_fragments, fragment_extents
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.visitor import walk
from tests.codegen.cuda.kernels import (
    allocate,
    array,
    call,
    kernel,
    mma_kernel,
    printed,
    text_of,
    thread,
    wmma_kernel,
)


def test_fragments_have_the_shape_and_layout_of_their_use():
    text = print_kernels({"f": wmma_kernel()})
    prefix = "nvcuda::wmma::"
    assert (
        f"{prefix}fragment<{prefix}matrix_b, 16, 16, 16, half, {prefix}col_major> B_frag[1];"
        in text
    )
    assert f"{prefix}mma_sync(C_frag[0], A_frag[0], B_frag[0], C_frag[0]);" in text
    assert "const half* __restrict__ A" in text


def test_extents_are_those_of_the_operand() -> None:
    uses = ("matrix_a", "matrix_b", "accumulator")
    assert [fragment_extents(use, (8, 32, 16)) for use in uses] == [(8, 16), (16, 32), (8, 32)]


def test_fragment_that_is_only_multiplied_has_the_shape_of_the_others() -> None:
    d, a = (E.Var(name, "handle") for name in "da")
    load = call("handle", "tvm_load_matrix_sync", a, 8, 32, 16, 0, E.Var("p"), 16, "col_major")
    product = call("handle", "tvm_mma_sync", d, 0, a, 0, a, 0, d, 0)
    shapes = find_fragments([*walk(product), *walk(load)])
    assert {var: (one.shape, one.layout) for var, one in shapes.items()} == {
        a: ((8, 32, 16), "col_major"),
        d: ((8, 32, 16), None),
    }


def test_instructions_of_registers() -> None:
    lines = [line for line in printed({"f": mma_kernel()}) if "asm" in line]
    load, product = (line.partition('"')[2].partition('"')[0] for line in lines)
    assert load == "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
    assert product == (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
    )
    assert lines[1].count('"+f"(((float*)d)[') == 4
    assert lines[1].count('"r"(((unsigned int*)a)[') == 4
    assert lines[1].count('"r"(((unsigned int*)b)[') == 2


def fragment(scope: str, size: int, *calls: E.Call) -> list[str]:
    """The text of a kernel with a fragment, which is `calls`' first argument."""
    one = array("frag", size, "float16", scope)
    filled = [S.Evaluate(E.Call(each.dtype, each.op, (one.data, *each.args))) for each in calls]
    return text_of(
        kernel(thread(), [], allocate(one, S.SeqStmt((*filled, S.Evaluate(E.IntImm(0))))))
    )


FILL = call("handle", "tvm_fill_fragment", 16, 16, 16, 0, E.FloatImm(0.0, "float16"))
BROKEN_FRAGMENTS: dict[str, tuple[Any, ...]] = {
    "fragment frag has no known shape": ("wmma.matrix_a", 256),
    "fragment frag has scope wmma.matrix_c, which does not exist": ("wmma.matrix_c", 256, FILL),
    "fragment frag has 250 elements, expected a multiple of 256": ("wmma.matrix_a", 250, FILL),
}


@pytest.mark.parametrize("fault", BROKEN_FRAGMENTS)
def test_rejects_fragments(fault: str) -> None:
    with pytest.raises(BuildError, match=fault):
        fragment(*BROKEN_FRAGMENTS[fault])


def test_number_of_fragments_is_that_of_their_elements() -> None:
    declared = "nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, half> frag[3];"
    assert fragment("wmma.accumulator", 768, FILL)[0] == declared


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (("ptx_ldmatrix", 0, 3, ".b16"), "ptx_ldmatrix cannot load 3 matrices of b16"),
        (("ptx_ldmatrix", 0, 4, ".b8"), "ptx_ldmatrix cannot load 4 matrices of b8"),
        (("ptx_ldmatrix", 0, 4, 16), "ptx_ldmatrix expects a string, got 16"),
        (("ptx_mma", "m8n8k4", "row", "col", *["fp16"] * 3), "ptx_mma of shape 'm8n8k4'"),
        (("ptx_mma", "m16n8k16", "row", "col", "fp8", "fp16", "fp32"), "of shape 'm16n8k16'"),
    ],
)
def test_rejects_instructions(args: tuple[Any, ...], fault: str) -> None:
    a = array("a", 8, "float16", "local")
    operands = (a.data, 0) * (2 if "ldmatrix" in args[0] else 3)
    node = S.Evaluate(call("handle", *args, *operands))
    with pytest.raises(BuildError, match=fault):
        text_of(kernel(thread(), [], allocate(a, node)))
