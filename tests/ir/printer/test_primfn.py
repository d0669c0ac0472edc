"""The notation of TVM 0.9: small programs, their text inline."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

import te_sched
from te_sched import relax
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import FloatImm, IntImm, IterVar, PointerType, StringImm, Var
from te_sched.ir.printer import primfn

TRUE = IntImm(1, "bool")
ONE = FloatImm(1.0)
i, j, p = Var("i"), Var("j"), Var("p", "bool")


def loop(index: Var, body: S.Stmt, kind: str = "serial") -> S.For:
    return S.For(index, IntImm(0), IntImm(4), kind, body)


def lines(text: str) -> str:
    return dedent(text).strip()


EXPRESSIONS: dict[str, E.Expr] = {
    "((i: int32*2) + i)": E.Add(E.Mul(i, IntImm(2)), i),
    "floormod(floordiv(i: int32, 2), 3)": E.FloorMod(E.FloorDiv(i, IntImm(2)), IntImm(3)),
    "((i: int32 / 2) - (i % 2))": E.Sub(E.Div(i, IntImm(2)), E.Mod(i, IntImm(2))),
    "((i: int32 < 2) && !p: bool)": E.And(E.LT(i, IntImm(2)), E.Not(p)),
    "max(i: int32, 0)": E.Max(i, IntImm(0)),
    "@tir.exp(1f32, dtype=float32)": E.Call("float32", "tir.exp", (ONE,)),
    "@tir.type_annotation(, dtype=float32)": E.Call("float32", "tir.type_annotation", ()),
    "ramp(i: int32, 1, 4)": E.Ramp(i, IntImm(1), 4),
    "broadcast(1f32, 4)": E.Broadcast(ONE, 4),
    "cast(float32, i: int32)": E.Cast("float32", i),
    "let i: int32 = 3 in (i + 1)": E.Let(i, IntImm(3), E.Add(i, IntImm(1))),
    "-3.40282e+38f32": FloatImm(-3.4028234663852886e38),
    "0.333333f16": FloatImm(1 / 3, "float16"),
    "2u8": IntImm(2, "uint8"),
    "True": TRUE,
    '"s"': StringImm("s"),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression(text: str) -> None:
    assert primfn(EXPRESSIONS[text]) == text


def flattened(shape: tuple[Any, ...], body: S.Stmt, view: E.Buffer, **fields: Any) -> S.PrimFunc:
    """A function over a parameter A, which its body sees through a flat view."""
    handle = Var("A", "handle")
    buffer = decl_buffer(shape, "float32", "A", data=view.data, **fields)
    return S.PrimFunc((handle,), body, {handle: buffer}, {"global_symbol": "main"})


def test_parameters_are_shown_flat_and_as_declared() -> None:
    view = decl_buffer((32,), "float32", "A")
    body = loop(i, S.BufferStore(view, ONE, (i,)))
    module = S.IRModule({"main": flattened((8, 4), body, view)})
    assert primfn(module) == lines(
        """
        @main = primfn(A_1: handle) -> ()
          attr = {"global_symbol": "main"}
          buffers = {A: Buffer(A_2: Pointer(float32), float32, [32], [])}
          buffer_map = {A_1: A}
          preflattened_buffer_map = {A_1: A_3: Buffer(A_2, float32, [8, 4], [])} {
          for (i: int32, 0, 4) {
            A[i] = 1f32
          }
        }
        """
    )
    assert module.astext() == primfn(module)


def test_symbols_are_described_where_they_come_first() -> None:
    n, stride = Var("n"), Var("stride")
    view = decl_buffer((ops.mul(stride, n),), "float32", "A")
    func = flattened((n,), S.BufferStore(view, ONE, (stride,)), view, strides=[stride])
    assert primfn(func).splitlines()[2:5] == [
        "  buffers = {A: Buffer(A_2: Pointer(float32), float32, [(stride: int32*n: int32)], [])}",
        "  buffer_map = {A_1: A}",
        "  preflattened_buffer_map = {A_1: A_3: Buffer(A_2, float32, [n], [stride])} {",
    ]


def test_unflattened_functions_have_no_other_shapes() -> None:
    buffer = decl_buffer((8, 4), "float32", "A")
    func = flattened((8, 4), S.Evaluate(IntImm(0)), buffer)
    handle = func.params[0]
    declared = func.buffer_map[handle]
    func = S.PrimFunc(func.params, S.BufferStore(declared, ONE, (i, i)), func.buffer_map)
    assert primfn(func) == lines(
        """
        primfn(A_1: handle) -> ()
          buffers = {A: Buffer(A_2: Pointer(float32), float32, [8, 4], [])}
          buffer_map = {A_1: A} {
          A[i: int32, i] = 1f32
        }
        """
    )


def test_names_belong_to_one_thing_in_the_whole_text() -> None:
    other = Var("i")
    body = S.SeqStmt((loop(i, S.Evaluate(i)), loop(other, S.Evaluate(other), "parallel")))
    assert primfn(body) == lines(
        """
        for (i: int32, 0, 4) {
          i
        }
        for (i_1: int32, 0, 4) "parallel" {
          i_1
        }
        """
    )


def allocated(body: S.Stmt, alignment: int) -> str:
    pointer = Var("B", "handle", PointerType("float32", "global"))
    buffer = decl_buffer((4,), "float32", "B", data=pointer, data_alignment=alignment)
    store = S.BufferStore(buffer, ONE, (IntImm(0),))
    return primfn(S.Allocate(pointer, "float32", (IntImm(4),), TRUE, S.SeqStmt((store, body))))


def test_a_sequence_after_a_header_stands_in_braces() -> None:
    assert allocated(S.Evaluate(IntImm(0)), 16) == lines(
        """
        allocate(B: Pointer(global float32), float32, [4]), storage_scope = global {
          B_1: Buffer(B, float32, [4], [], align=16)[0] = 1f32
          0
        }
        """
    )
    assert "align" not in allocated(S.Evaluate(IntImm(0)), 128)


def test_a_single_statement_after_a_header_does_not() -> None:
    thread = IterVar(None, Var("threadIdx.x"), "ThreadIndex", "threadIdx.x")
    let = S.LetStmt(j, thread.var * 2, S.SeqStmt((S.Evaluate(j), S.Evaluate(j))))
    assert primfn(S.AttrStmt(thread, "thread_extent", IntImm(8), let)).splitlines() == [
        'attr [IterVar(threadIdx.x: int32, (nullptr), "ThreadIndex", "threadIdx.x")] '
        '"thread_extent" = 8;',
        "let j: int32 = (threadIdx.x*2)",
        " {",
        "  j",
        "  j",
        "}",
    ]


def test_owner_guards_are_left_out() -> None:
    guarded = S.IfThenElse(E.EQ(i, IntImm(0)), S.Evaluate(j), None, True)
    assert primfn(loop(i, S.SeqStmt((S.Evaluate(i), guarded)))) == lines(
        """
        for (i: int32, 0, 4) {
          i
          j: int32
        }
        """
    )


def test_branches() -> None:
    branch = S.IfThenElse(E.LT(i, IntImm(2)), S.Evaluate(i), S.Evaluate(j))
    assert primfn(branch) == lines(
        """
        if (i: int32 < 2) {
          i
        } else {
          j: int32
        }
        """
    )


def test_reducers_are_numbered() -> None:
    x, y = Var("x"), Var("y")
    reducer = E.CommReducer((x,), (y,), (x + y,), (IntImm(0),))
    body = S.AttrStmt(reducer, "reduce_scope", IntImm(0), S.Evaluate(i))
    assert primfn(body) == 'attr [meta[tir.CommReducer][0]] "reduce_scope" = 0;\ni: int32'


def test_modules_with_graphs_have_the_text_of_scripts() -> None:
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    module = te_sched.IRModule({"main": relax.Function([x], x)})
    assert module.astext() == module.script()
