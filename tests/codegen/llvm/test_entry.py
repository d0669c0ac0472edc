"""Entries of functions: arguments, what they write, values that they return."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.codegen.llvm.entry import WRITTEN, write_function
from te_sched.codegen.llvm.module import ModuleText
from te_sched.errors import BuildError, CallError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.lowering.join_dimensions import join_dimensions
from te_sched.runtime import load_module
from te_sched.script import from_source
from tests.codegen.programs import buffer, function

FIRST = """
@T.prim_func
def first(A: T.Buffer((8,), "int32"), x: T.int32) -> T.int32:
    B = T.allocate([64000], "int32", "global")
    C = T.Buffer((64000,), "int32", data=B)
    for i in range(8):
        C[i] = A[i]
        if C[i] == x:
            return i
    return -1
"""
DATA = np.arange(8, dtype="int32") * 3


def test_a_call_gives_the_value() -> None:
    module = te_sched.build(from_source(FIRST), target="llvm")
    assert [module(DATA, number) for number in (0, 9, 10, 21)] == [0, 3, -1, 7]
    assert module["main"](te_sched.nd.array(DATA), 6) == 2
    assert module.time_evaluator("main", te_sched.cpu(0), number=3)(DATA, 9).mean > 0


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        *[("float16", 1.5), ("float32", -2.25), ("float64", 0.125), ("bfloat16", 2.5)],
        *[("bool", True), ("int8", -3), ("uint8", 200), ("int64", 1 << 30), ("uint64", 7)],
    ],
)
def test_the_value_may_have_any_dtype(dtype: str, value: float) -> None:
    x = te.var("x", "float64")
    func = tir.PrimFunc([x], tir.Evaluate(tir.ret(x.astype(dtype))))
    found = te_sched.build(func, target="llvm")(float(value))
    assert found == value
    assert type(found) is type(value)


def test_a_saved_function_gives_the_value(tmp_path: Path) -> None:
    path = str(tmp_path / "first.so")
    te_sched.build(from_source(FIRST), target="llvm").export_library(path)
    assert load_module(path)(DATA, 12) == 4


def test_a_path_without_a_value_is_an_error() -> None:
    x = te.var("x", "float32")
    body = tir.IfThenElse(x > 1.0, tir.Evaluate(tir.ret(x)), None)
    module = te_sched.build(tir.PrimFunc([x], body), target="llvm")
    assert module(2.0) == 2.0
    with pytest.raises(CallError, match=r"function main ended without returning a value"):
        module(0.5)


def test_what_a_call_cannot_give_is_refused() -> None:
    x, i = te.var("x", "float32"), tir.Var("i")
    value = tir.Evaluate(tir.ret(x))
    loop = tir.For(i, 0, 8, "parallel", value)
    with pytest.raises(BuildError, match=r"cannot return out of a parallel loop"):
        te_sched.build(tir.PrimFunc([x], loop), target="llvm")
    other = tir.SeqStmt([value, tir.Evaluate(tir.ret(te.const(1)))])
    with pytest.raises(BuildError, match=r"function main returns values of dtype float32, int32"):
        te_sched.build(tir.PrimFunc([x], other), target="llvm")
    vector = tir.Evaluate(tir.ret(tir.Broadcast(x, 4)))
    with pytest.raises(BuildError, match=r"function main returns values of dtype float32x4"):
        te_sched.build(tir.PrimFunc([x], vector), target="llvm")


def atomic_add(place: E.Buffer) -> S.Stmt:
    pointer = E.Call("handle", "tir.address_of", (E.BufferLoad(place, (E.IntImm(0),)),))
    return S.Evaluate(E.Call("float32", "tir.atomic_add", (pointer, E.FloatImm(1.0))))


def access(place: E.Buffer, mode: int) -> S.Stmt:
    arguments = (E.FloatImm(0.0), place.data, E.IntImm(0), E.IntImm(8), E.IntImm(mode))
    return S.Evaluate(E.Call("handle", "tir.tvm_access_ptr", arguments))


@pytest.mark.parametrize(
    ("statement", "is_written"),
    [
        (lambda a: S.BufferStore(a, E.FloatImm(1.0), (E.IntImm(0),)), True),
        (lambda a: S.Evaluate(E.BufferLoad(a, (E.IntImm(0),))), False),
        *[(atomic_add, True), (lambda a: access(a, 1), False), (lambda a: access(a, 2), True)],
        (lambda a: access(a, 3), True),
    ],
)
def test_arguments_that_are_written_are_known(statement: Any, is_written: bool) -> None:
    a = buffer("A", [8])
    signature = write_function(ModuleText(), function([a], statement(a)), "main")
    assert [parameter.written for parameter in signature.parameters] == [is_written]
    idle = function([a], S.Evaluate(E.IntImm(0)), **{WRITTEN: (a.data,)})
    assert write_function(ModuleText(), idle, "main").parameters[0].written


def test_arguments_come_in_their_order_then_sizes_then_the_result() -> None:
    n, m = E.Var("n"), E.Var("m", "int64")
    scalars = [E.Var(kind, kind) for kind in ("bool", "float16", "float64")]
    a = buffer("A", [n, m])
    body = S.SeqStmt(
        (
            *(S.BufferStore(a, E.Cast("float32", scalar), (n, m)) for scalar in scalars),
            S.Evaluate(E.Call("int32", "tir.ret", (n,))),
        )
    )
    module = ModuleText()
    signature = write_function(module, join_dimensions(function([a, *scalars], body)), "f")
    parameters = "ptr noalias %a0, i8 %a1, float %a2, double %a3, i32 %n0, i64 %n1, ptr %returned"
    assert module.functions[0].startswith(f"define i32 @te_sched_f({parameters}) nounwind")
    assert (signature.result, module.signatures) == ("int32", [signature])
    assert (len(module.functions), module.imports) == (1, [])
