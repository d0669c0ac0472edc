"""Operators: types, folding, truth values."""

import math

import numpy as np
import pytest

from te_sched.errors import DeclarationError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir.structural import structural_equal


def var(dtype="int32", name="x"):
    return E.Var(name, dtype)


def test_match_types_prefers_floats_then_width_then_unsigned():
    def common(a, b):
        return (var(a) + var(b)).dtype

    assert common("int64", "float16") == "float16"
    assert common("bfloat16", "float16") == "float16"
    assert common("uint8", "int16") == "int16"
    assert common("int32", "uint32") == "uint32"
    assert common("bool", "int8") == "int8"
    assert common("int8", "float32x4") == "float32x4"


def test_match_types_rejects_different_lanes():
    with pytest.raises(DeclarationError, match="numbers of lanes differ"):
        _ = var("int32x4") + var("int32x8")


def test_python_numbers_are_int32_and_float32():
    assert (var("int8") + 3).dtype == "int32"
    assert (var("float16") + 3).dtype == "float16"
    assert (var("float16") + 2.5).dtype == "float32"
    assert (var("float64") + 2.5).dtype == "float64"
    assert (var("int32") + (1 << 40)).dtype == "int64"
    assert (var("int32") + np.int8(1)).dtype == "int32"
    assert (var("float32") + np.float64(1)).dtype == "float32"


def test_identities_fold():
    x = var()
    for same in (x + 0, 0 + x, x - 0, x * 1, 1 * x, x // 1, x << 0, ops.minimum(x, x)):
        assert same is x
    for zero in (x * 0, 0 * x, x % 1, 0 % x, 0 // x):
        assert zero.value == 0


def test_what_is_not_an_identity_stays():
    x = var()
    for kind, made in ((E.Sub, 0 - x), (E.Sub, x - x), (E.Mul, -x), (E.LT, x < x)):
        assert type(made) is kind


def test_integer_constants_wrap_around():
    assert (ops.const(100, "int8") + ops.const(100, "int8")).value == -56
    assert (ops.const(2**31 - 1) + 1).value == -(2**31)


def test_float32_constants_round_and_float16_constants_stay():
    total = ops.const(0.1, "float32") + ops.const(0.2, "float32")
    assert total.value == float(np.float32(0.1) + np.float32(0.2))
    assert type(ops.const(1, "float16") + ops.const(2, "float16")) is E.Add


def test_divisions_round_as_their_names_say():
    minus_seven, two = ops.const(-7), ops.const(2)
    assert (minus_seven // two).value == -4
    assert (minus_seven % two).value == 1
    assert ops.truncdiv(minus_seven, two).value == -3
    assert ops.truncmod(minus_seven, two).value == -1
    assert ops.ceildiv(minus_seven, two).value == -3


def test_division_of_integers_is_refused_with_advice():
    with pytest.raises(DeclarationError, match=r"use // .* or te\.truncdiv"):
        _ = var() / 2


@pytest.mark.parametrize("divide", [ops.floordiv, ops.floormod, ops.truncdiv, ops.div])
def test_division_by_zero_is_refused(divide):
    with pytest.raises(DeclarationError, match="division by zero"):
        divide(var(), 0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_floats_are_divided_by_zero(dtype):
    for divide in (ops.div, ops.truncmod):
        assert type(divide(var(dtype), ops.const(0.0, dtype))) in (E.Div, E.Mod)
    for a, b, expected in [(1.0, -0.0, -math.inf), (-1.0, -0.0, math.inf), (0.0, 0.0, math.nan)]:
        found = ops.div(ops.const(a, "float32"), ops.const(b, "float32"))
        assert found.value == expected or (math.isnan(expected) and math.isnan(found.value))


def test_constants_out_of_range_are_refused():
    with pytest.raises(DeclarationError, match="the constant 300 is out of the range of int8"):
        ops.const(300, "int8")
    with pytest.raises(DeclarationError, match="the constant -1 is out of the range of uint8"):
        ops.const(-1, "uint8")
    with pytest.raises(DeclarationError, match="65504"):
        ops.const(1e6, "float16")


def test_large_unsigned_constants_are_two_halves():
    made = ops.const(2**64 - 1, "uint64")
    assert made.op == "tir.large_uint_imm"
    assert [half.value for half in made.args] == [2**32 - 1, 2**32 - 1]


def test_bit_operations_take_the_type_of_the_other_operand():
    x = var("uint8")
    assert (x >> 2).dtype == "uint8"
    assert (1 & x).dtype == "uint8"
    assert (~x).op == "tir.bitwise_not"
    assert (ops.const(6) & 3).value == 2


def test_bit_operations_reject_floats_and_long_shifts():
    with pytest.raises(
        DeclarationError, match="bitwise_and needs integers, got float32 and float32"
    ):
        _ = var("float32") & 1
    with pytest.raises(DeclarationError, match="cannot shift int32 by 32 bits"):
        _ = var() << 32


def test_conditions_fold_and_check_their_operands():
    x = var()
    assert ops.logical_and(x > 1, True).a is x
    assert ops.logical_or(x > 1, True).value == 1
    assert type(ops.logical_not(x > 1)) is E.Not
    with pytest.raises(DeclarationError, match="and needs conditions, got int32 and bool"):
        ops.logical_and(x, x > 1)


def test_truth_value_is_refused_but_for_constants():
    x = var()
    with pytest.raises(DeclarationError, match=r"te\.if_then_else"):
        bool(x == 0)
    with pytest.raises(DeclarationError, match="known only when the program runs"):
        bool(x < 0)
    assert ops.const(4) == 4
    assert (ops.const(4), ops.const(5)) == (4, 5)


def test_axes_are_conditions_in_expressions_and_identities_outside():
    axes = [E.IterVar(E.Range(ops.const(0), ops.const(4)), var(name=n), "DataPar") for n in "ij"]
    i, j = axes
    assert j in axes
    assert axes.index(j) == 1
    assert i != j
    assert structural_equal(i == 3, i.var.equal(3))
    assert type(ops.logical_not(i == j).a) is E.EQ


def test_casts_convert_constants():
    assert type(var().astype("float32")) is E.Cast
    assert ops.const(3).astype("float32").value == 3.0
    assert ops.const(3.7).astype("int32").value == 3
    assert type(var().astype("float32x4")) is E.Broadcast
    with pytest.raises(DeclarationError, match="unknown data type"):
        var().astype("float33")


def test_unsigned_numbers_have_no_negative():
    with pytest.raises(DeclarationError, match="cannot negate a uint8"):
        _ = -var("uint8")


def test_convert_rejects_other_objects():
    with pytest.raises(DeclarationError, match="a dict cannot be used in an expression"):
        _ = var() + {}


def test_small_types_are_folded_and_matched():
    assert ops.add(ops.const(7, "int4"), ops.const(1, "int4")).value == -8
    assert ops.const(1, "int1").value == 1
    x, y = E.Var("x", "e4m3_float8"), E.Var("y", "e5m2_float8")
    assert ops.add(x, ops.const(2)).dtype == "e4m3_float8"
    assert ops.add(x, E.Var("z", "bfloat16")).dtype == "bfloat16"
    with pytest.raises(DeclarationError, match="cannot compute with e4m3_float8 and e5m2_float8"):
        ops.add(x, y)
    with pytest.raises(DeclarationError, match="out of the range of e4m3_float8"):
        ops.const(1000, "e4m3_float8")


def test_ceildiv_of_sizes_prints_as_in_tvm_and_of_values_is_exact():
    n, x = E.Var("n", "int32"), E.Var("x", "uint8")
    assert str(ops.ceildiv(n, 8)) == "(n + 8 - 1) // 8"
    assert str(ops.ceildiv(x, ops.const(8, "uint8"))) == (
        'x // T.uint8(8) + T.Cast("uint8", x % T.uint8(8) != T.uint8(0))'
    )


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64"])
def test_ceildiv_of_constants_is_exact_up_to_the_ends_of_a_type(dtype):
    low, high = ops.int_limits(dtype)
    for a, b in ((high, 2), (high - 1, 10), (low, 3), (high, high), (low, high), (7, 5)):
        assert ops.ceildiv(ops.const(a, dtype), ops.const(b, dtype)).value == -(-a // b)
    assert ops.ceildiv(-7, -2).value == 4
