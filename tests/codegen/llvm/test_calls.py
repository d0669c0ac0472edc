"""Calls of code that was not generated: C functions, Python callbacks, packed functions, LLVM."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.codegen.llvm import calls, entry
from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.module import ModuleText
from te_sched.codegen.llvm.types import Value
from te_sched.codegen.signature import FunctionParameter, Signature, Symbol
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import ops
from tests.codegen.llvm.instructions import new_function, run_expression, text_of
from tests.codegen.programs import buffer

assert entry is not None
X, BYTE = E.Var("x", "float32"), E.Var("i", "int8")
DATA = buffer("A", [8])


def function_with_values(kind: str | None = None) -> FunctionText:
    """A function with values of the variables, where registered names are of a kind."""
    out = new_function(ModuleText(lambda name: kind))
    out.environment.update({X: Value("%x", "float32"), BYTE: Value("%i", "int8", -128, 127)})
    out.environment[DATA.data] = Value("%a", "handle")
    return out


def call(dtype: str, *arguments: Any) -> E.Call:
    return E.Call(dtype, "tir.call_extern", tuple(map(ops.convert, arguments)))


@pytest.mark.parametrize(
    ("dtype", "arguments", "declared"),
    [
        ("float32", (X,), "declare float @g(float) nounwind willreturn memory(none)"),
        (
            "int8",
            (BYTE, E.Cast("uint16", BYTE)),
            "declare i8 @g(i8 signext, i16 zeroext) nounwind willr",
        ),
        ("bool", (X > 0.0,), "declare i1 @g(i1 zeroext) nounwind"),
        ("int32", (DATA.data,), "declare i32 @g(ptr) nounwind willreturn memory(read)"),
    ],
)
def test_pure_functions_of_c(dtype: str, arguments: Any, declared: str) -> None:
    out = function_with_values()
    value = calls.call_extern(out, call(dtype, E.StringImm("g"), *arguments), pure=True)
    assert value.dtype == dtype
    assert declared in out.module.render(b"")
    assert out.module.externs == {"g"}


def test_functions_of_c_that_may_do_anything() -> None:
    out = function_with_values()
    value = calls.call_extern(out, call("void", E.StringImm("g"), X), pure=False)
    assert (value.dtype, text_of(out)) == ("void", "call void @g(float %x)")
    assert out.module.render(b"").count("declare void @g(float) nounwind\n") == 1


def test_registered_pointers_are_in_slots() -> None:
    out = function_with_values("pointer")
    calls.call_extern(out, call("float32", E.StringImm("g"), X), pure=True)
    assert out.module.imports == [{"kind": "pointer", "name": "g"}]
    assert "call float %v1(float %x)" in text_of(out)
    assert not out.module.externs


def test_callbacks_know_the_types_of_their_arguments() -> None:
    out = function_with_values("callback")
    pointer = E.Call("handle", "tir.address_of", (E.BufferLoad(DATA, (E.IntImm(1),)),))
    arguments = (BYTE, E.Cast("float16", X), "text", DATA.data, pointer, E.Cast("handle", BYTE))
    node = call("bool", E.StringImm("g"), *map(ops.convert, arguments))
    value = calls.call_extern(out, node, pure=False)
    (what,) = out.module.imports
    kinds = ["int8", "float32", "str", "float32*", "float32*", "handle"]
    assert what == {"kind": "callback", "name": "g", "args": kinds, "result": "bool"}
    assert value.dtype == "bool"
    assert f"icmp ne i32 %v7, {calls.DONE}" in text_of(out)


def test_packed_arguments_are_words() -> None:
    out = function_with_values()
    array = E.Call(
        "handle",
        "tir.tvm_stack_make_array",
        (
            *(DATA.data, E.Call("handle", "tir.tvm_stack_make_shape", (E.IntImm(4), E.IntImm(2)))),
            *(E.IntImm(0), E.IntImm(2), E.FloatImm(0.0), E.IntImm(3)),
        ),
    )
    arguments = (E.StringImm("g"), E.StringImm("text"), X, X > 0.0, DATA.data, array)
    calls.call_packed(out, E.Call("int32", "tir.tvm_call_packed", arguments))
    (what,) = out.module.imports
    assert what["args"] == [
        *(
            {"kind": "str", "value": "text"},
            {"kind": "float"},
            {"kind": "bool"},
            {"kind": "handle"},
        ),
        {"kind": "array", "dtype": "float32", "ndim": 2, "strided": False},
    ]
    assert out.prologue[0].endswith("= alloca [6 x i64], align 8")
    assert "getelementptr float, ptr %a, i64 3" in text_of(out)


def callee(*symbols: Symbol) -> Signature:
    parameters = [
        FunctionParameter("buffer", "A", "float32"),
        FunctionParameter("scalar", "i", "bool"),
    ]
    failures = [["too large", "", ""]]
    return Signature("g", "te_sched_g", parameters, list(symbols), failures, parallel=True)


def test_errors_of_functions_of_the_module_are_those_of_the_caller() -> None:
    out = function_with_values()
    out.signature.failures.append(["before", "", ""])
    out.module.signatures.append(callee())
    node = E.Call("void", "tir.call_function", (E.StringImm("g"), DATA.data, X > 0.0))
    calls.call_function(out, node)
    assert "call i32 @te_sched_g(ptr %a, i8 %v2)" in text_of(out)
    assert "= add i32 %v3, 1" in text_of(out)  # its first failure is the caller's second
    assert [failure[0] for failure in out.signature.failures] == ["before", "too large"]
    assert out.signature.parallel


@pytest.mark.parametrize("signature", [callee(Symbol("n", "int32")), Signature("f", "f", [], [])])
def test_function_that_cannot_be_called_is_refused(signature: Signature) -> None:
    out = function_with_values()
    out.module.signatures.append(signature)
    with pytest.raises(BuildError, match="cannot call function 'g' of the module"):
        calls.call_function(out, E.Call("void", "tir.call_function", (E.StringImm("g"),)))


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("llvm.sqrt.f32", (E.FloatImm(9.0),), 3.0),
        ("llvm.sqrt", (E.IntImm(1, "uint32"), E.FloatImm(4.0)), 2.0),  # TVM counts overloads
        ("llvm.fma.v2f32", (E.Broadcast(X, 2), E.Broadcast(X, 2), E.Broadcast(X, 2)), [6.0, 6.0]),
    ],
)
def test_intrinsics_of_llvm(name: str, operands: tuple[E.Expr, ...], expected: Any) -> None:
    dtype = "float32x2" if isinstance(expected, list) else "float32"
    node = E.Call(dtype, "tir.call_llvm_pure_intrin", (E.StringImm(name), *operands))
    np.testing.assert_array_equal(run_expression(node, {X: 2.0}), np.atleast_1d(expected))


def test_operands_of_intrinsics_are_bfloats() -> None:
    out, value = function_with_values(), E.Var("b", "bfloat16x4")
    out.environment[value] = Value("%b", "bfloat16x4")
    node = E.Call("bfloat16x4", "tir.call_llvm_pure_intrin", (E.StringImm("llvm.fabs"), value))
    calls.call_llvm(out, node)
    assert "call <4 x bfloat> @llvm.fabs(<4 x bfloat> %v1)" in text_of(out)
    assert text_of(out).endswith("bitcast <4 x bfloat> %v2 to <4 x i16>")


@pytest.mark.parametrize(
    ("write", "arguments", "fault"),
    [
        (calls.call_llvm, (E.StringImm("sqrt"), X), "must begin with llvm., got sqrt"),
        (calls.call_packed, (X,), "first argument of tir.f must be the name of a function"),
        (calls.linked_memory, (), "first argument of tir.f must be the name of a function"),
    ],
)
def test_names_are_checked(write: Any, arguments: tuple[E.Expr, ...], fault: str) -> None:
    with pytest.raises(BuildError, match=fault):
        write(function_with_values(), E.Call("float32", "tir.f", arguments))


def test_linked_memory_is_in_a_slot() -> None:
    out = function_with_values()
    value = calls.linked_memory(out, E.Call("handle", "tir.f", (E.StringImm("weights"),)))
    assert value.dtype == "handle"
    assert out.module.imports == [{"kind": "memory", "name": "weights"}]
