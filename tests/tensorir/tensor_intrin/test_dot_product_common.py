"""Dot products of four bytes in shared memory."""

from __future__ import annotations

import pytest

from te_sched.ir import ops
from te_sched.ir.expr import Expr
from te_sched.tensorir.tensor_intrin import dot_product_common
from te_sched.tensorir.tensor_intrin.dot_product_common import four_bytes
from tests.tensorir.tensor_intrin.calls import text_of


@pytest.mark.parametrize("name", dot_product_common.INTRINSICS)
def test_types_are_those_of_the_name(name: str) -> None:
    letters = {"s8": "int8", "u8": "uint8"}
    a, b, c = letters[name[5:7]], letters[name[7:9]], {"s": "int32", "u": "uint32"}[name[9]]
    operands = (("A", 4, a, "shared"), ("B", 4, b, "shared"), ("C", 1, c, "local"))
    for role in ("desc", "impl"):
        text = text_of(name, role)
        for x, size, dtype, scope in operands:
            parameter = f'{x} = T.match_buffer({x}_handle, ({size},), "{dtype}", scope="{scope}"'
            assert parameter in text
    assert f'T.call_pure_extern("{c}", "__dp4a", A[0:4], B[0:4], ' in text


def test_a_product_is_added_to_what_is_there() -> None:
    def product(a: Expr, b: Expr) -> Expr:
        assert (a.dtype, b.dtype) == ("int8x4", "uint8x4")
        return ops.const(7, "int32")

    description, implementation = four_bytes(("int8", "uint8", "int32"), product)
    assert "C[0] = C[0] + 7" in implementation.script()
    assert 'C[0] + T.Cast("int32", A[vi]) * T.Cast("int32", B[vi])' in description.script()
    assert "vi = T.axis.reduce(4, i)" in description.script()
