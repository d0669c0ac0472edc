"""Mathematical functions and calls."""

import math

import pytest

from te_sched.errors import DeclarationError
from te_sched.ir import calls, intrinsics, ops
from te_sched.ir import expr as E
from te_sched.ir.intrinsic_table import Effect, call_effect


def var(dtype="float32"):
    return E.Var("x", dtype)


def test_functions_of_floats_are_calls():
    made = intrinsics.exp(var("float64"))
    assert (made.op, made.dtype) == ("tir.exp", "float64")
    assert intrinsics.power(var(), 2).args[1].value == 2.0


def test_functions_of_floats_reject_integers():
    with pytest.raises(DeclarationError, match="cast the argument first"):
        intrinsics.sqrt(var("int32"))


def test_rounding_folds_constants_and_leaves_integers():
    x = var("int32")
    assert intrinsics.floor(x) is x
    assert intrinsics.ceil(2.5).value == 3.0
    assert intrinsics.round(2.5).value == 2.0
    assert intrinsics.trunc(-2.5).value == -2.0


def test_abs_depends_on_the_type():
    assert intrinsics.abs(var()).op == "tir.fabs"
    assert type(intrinsics.abs(var("int32"))) is E.Select
    assert type(intrinsics.abs(var("uint8"))) is E.Var
    assert intrinsics.abs(-3).value == 3


def test_limits():
    assert intrinsics.min_value("int8").value == -128
    assert intrinsics.max_value("uint32").value == 2**32 - 1
    assert intrinsics.max_value("float16").value == 65504.0
    assert intrinsics.infinity("float32").value == math.inf
    with pytest.raises(DeclarationError, match="dtype handle has no limits"):
        intrinsics.min_value("handle")


def test_if_then_else_matches_types_and_folds():
    made = intrinsics.if_then_else(var("bool"), var("int32"), var())
    assert made.dtype == "float32"
    x = var()
    assert intrinsics.if_then_else(True, x, 1) is x
    with pytest.raises(
        DeclarationError, match="the condition of if_then_else has dtype int32, expected bool"
    ):
        intrinsics.if_then_else(var("int32"), 1, 2)


def test_all_and_any_chain_from_the_left():
    a, b, c = (var("bool") for _ in range(3))
    made = intrinsics.all(a, b, c)
    assert made.a.a is a
    assert made.b is c
    assert intrinsics.any(a) is a
    with pytest.raises(DeclarationError, match="at least one condition"):
        intrinsics.all()


def test_call_extern_converts_its_arguments():
    made = calls.call_extern("int32", "f", 1, 2.0, "s")
    assert [argument.dtype for argument in made.args] == ["handle", "int32", "float32", "handle"]


def test_call_extern_rejects_buffers_with_advice():
    buffer = E.Buffer(var("handle"), "float32", (ops.const(4),), (), ops.const(0), "B")
    with pytest.raises(DeclarationError, match=r"B\.access_ptr"):
        calls.call_extern("int32", "f", buffer)


def test_call_intrin_rejects_names_without_namespace():
    with pytest.raises(DeclarationError, match="unknown intrinsic 'exp'"):
        calls.call_intrin("float32", "exp", var())


def test_effects_of_calls():
    assert call_effect("tir.exp") is Effect.PURE
    assert call_effect("tir.likely") is Effect.ANNOTATION
    assert call_effect("tir.call_extern") is Effect.UPDATE_STATE
    assert call_effect("tir.tvm_access_ptr") is Effect.SPECIAL_ARGUMENT
    assert call_effect("tir.unheard_of") is Effect.UPDATE_STATE
