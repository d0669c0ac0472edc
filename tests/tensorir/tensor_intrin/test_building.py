"""Parameters, dot products and vectors of tensor intrinsics."""

from __future__ import annotations

import pytest

from te_sched.ir import ops
from te_sched.ir.expr import BufferLoad, Var
from te_sched.ir.stmt import Evaluate
from te_sched.tensorir.facts.axes import REDUCTION, SPATIAL
from te_sched.tensorir.tensor_intrin.building import (
    Buffers,
    Vectors,
    as_bits,
    dot_product,
    function,
    llvm,
    loops,
    parameter,
    stored,
    updated,
    vector,
)


def test_parameters_begin_anywhere() -> None:
    plain = parameter("A", (4, 8), "int8", "shared", 16)
    strided = parameter("B", (4, 8), "int8", offset_factor=8, is_strided=True)
    assert (plain.scope(), plain.data_alignment, plain.offset_factor) == ("shared", 16, 1)
    assert isinstance(plain.elem_offset, Var)
    assert not plain.strides
    assert [stride.name for stride in strided.strides] == ["B_s0", "B_s1"]
    assert strided.offset_factor == 8


def test_loops_around_a_store() -> None:
    a, b, c = [parameter(name, (4, 4), "int8") for name in "ABC"]

    def update(i: Var, k: Var) -> object:
        return updated(BufferLoad(c, (i, k)), BufferLoad(a, (i, k)), BufferLoad(b, (k, i)))

    nest = loops("ik", (SPATIAL, REDUCTION), (4, 3), update, "product", "v{}")
    func = function((a, b, c), nest, (c, a, b))
    assert [int(nest.extent), int(nest.body.extent)] == [4, 3]
    block = nest.body.body.block
    assert (block.name_hint, [axis.var.name for axis in block.iter_vars]) == (
        "product",
        ["vii", "vkk"],
    )
    assert [axis.kind for axis in block.iter_vars] == [SPATIAL, REDUCTION]
    assert [str(region) for region in block.reads] == ["C[vii, vkk]", "A[vii, vkk]", "B[vkk, vii]"]
    root = func.body.block
    assert [str(region) for region in (*root.reads, *root.writes)] == [
        *("C[0:4, 0:4]", "A[0:4, 0:4]", "B[0:4, 0:4]", "C[0:4, 0:4]")
    ]


def test_vectors_are_bound_to_variables_in_order() -> None:
    a, made = parameter("A", (2, 8), "int8"), Vectors()
    row = made.let("row", vector(a, 8, row=1))
    word = made.let("word", as_bits("int32x2", row))
    body = made.then(Evaluate(llvm("int32x2", "llvm.abs", word)))
    assert (str(vector(a, 8, row=1)), row.dtype) == ("A[1, 0:8]", "int8x8")
    assert (body.var, body.body.var) == (row, word)
    assert str(stored(a, row, 8)).splitlines()[-1] == "A[0, 0:8] = row"


@pytest.mark.parametrize("has_rows_first", [False, True])
def test_factors_of_dot_products(has_rows_first: bool) -> None:
    def compute(buffers: Buffers) -> Evaluate:
        assert [(buffer.name, len(buffer.shape)) for buffer in buffers] == [
            *(("A", 1), ("B", 2), ("C", 1))
        ]
        return Evaluate(ops.const(0))

    dtypes = ("uint8", "int8", "int32")
    description, _ = dot_product(4, 2, dtypes, compute, has_rows_first, "local")
    text = description.script()
    factors = ['T.Cast("int32", A[vk])', 'T.Cast("int32", B[vi, vk])']
    if has_rows_first:
        factors.reverse()
    assert f"C[vi] = C[vi] + {' * '.join(factors)}" in text
    assert "for i, k in T.grid(4, 2)" in text
