"""Calls of functions from elsewhere."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.errors import DeclarationError
from te_sched.ir import calls
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.calls import call_tir
from te_sched.ir.expr import IntImm, StringImm, Var
from te_sched.ir.intrinsic_table import Effect
from te_sched.ir.intrinsics import exp
from te_sched.ir.stmt import Evaluate
from te_sched.script import from_source
from tests.lowering.build import read, temporary

A, x = temporary("A", 8), Var("x", "float32")


def test_the_strongest_effect_of_an_expression() -> None:
    assert calls.effect_of(exp(x) + 1.0) is Effect.PURE
    assert calls.effect_of(exp(read(A, 0))) is Effect.READ_STATE
    assert calls.effect_of(read(A, 0) + calls.call_extern("float32", "f")) > Effect.READ_STATE
    assert calls.effect_of(calls.call_pure_extern("float32", "f", x)) is Effect.PURE


def test_arguments_become_expressions() -> None:
    call = calls.call_extern("int32", "f", 3, 2.5, x)
    name, number, real, variable = call.args
    assert isinstance(name, StringImm)
    assert (name.value, number.dtype, real.dtype, variable) == ("f", "int32", "float32", x)
    assert calls.call_extern("", "f").dtype == calls.call_extern(None, "f").dtype == "void"


def test_intrinsics_of_llvm_go_by_name_or_number() -> None:
    named = calls.call_llvm_intrin("float32", "llvm.exp", IntImm(1, "uint32"), x)
    numbered = calls.call_llvm_pure_intrin("float32", 7, x)
    assert [type(one.args[0]).__name__ for one in (named, numbered)] == ["StringImm", "IntImm"]
    assert numbered.args[0].dtype == "uint32"


def test_packed_functions_get_descriptors_of_buffers() -> None:
    strided = decl_buffer((4, 8), "float16", "S", strides=[16, 1])
    _, plain, rows = calls.call_packed("f", A, strided).args
    assert (plain.op, plain.args[0], str(plain.args[2])) == (
        "tir.tvm_stack_make_array",
        A.data,
        "0",
    )
    assert rows.args[2].op == "tir.tvm_stack_make_shape"
    assert (rows.args[3].value, rows.args[4].dtype) == (2, "float16")


def test_c_functions_get_pointers_alone() -> None:
    with pytest.raises(
        DeclarationError, match=r"buffer A cannot be an argument of a C function(.|\n)*A\.data"
    ):
        calls.call_extern("int32", "f", A)
    assert str(calls.address_of(A)) == str(calls.address_of(read(A, 0)))
    assert calls.isnullptr(A.data).dtype == "bool"


def test_calls_of_functions_of_the_module_are_found_by_name():
    call = calls.call_tir("f", 3)
    assert calls.callee_of(call) == "f"
    assert calls.callee_of(calls.call_extern("int32", "f", 3)) is None
    assert calls.called_functions(Evaluate(call + calls.call_tir("g"))) == {"f", "g"}


def test_functions_of_a_module_are_called() -> None:
    module = from_source(
        "@I.ir_module\nclass Module:\n"
        "    @T.prim_func\n    def main():\n        tir.call_tir(Module.part)\n"
        "    @T.prim_func\n    def part():\n        T.evaluate(0)\n",
        {"tir": tir},
    )
    assert "Module.part()" in module.script()
    assert str(call_tir(module.get_global_var("part"))) == "part()"
