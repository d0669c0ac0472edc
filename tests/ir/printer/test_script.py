"""TVMScript: small programs, their text inline."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import FloatImm, IntImm, IterVar, PointerType, Range, StringImm, Var
from te_sched.ir.printer import primfn, script

TRUE = IntImm(1, "bool")
ONE = FloatImm(1.0)


def var(name: str, dtype: str = "int32") -> Var:
    return Var(name, dtype)


def loop(index: Var, body: S.Stmt, extent: Any = 4, **fields: Any) -> S.For:
    return S.For(
        index, IntImm(0), ops.convert(extent), fields.pop("kind", "serial"), body, **fields
    )


def function(body: S.Stmt, *buffers: E.Buffer, **attrs: Any) -> S.PrimFunc:
    handles = [Var(buffer.name, "handle") for buffer in buffers]
    return S.PrimFunc(tuple(handles), body, dict(zip(handles, buffers, strict=True)), attrs)


def body_of(func: S.PrimFunc) -> str:
    """The text of a function without its first lines."""
    return dedent("\n".join(script(func).splitlines()[4:]))


def lines(text: str) -> str:
    return dedent(text).strip()


i, j, f, p = var("i"), var("j"), var("f", "float32"), var("p", "bool")
A = decl_buffer((8, 8), "float32", "A")

EXPRESSIONS: dict[str, Any] = {
    "(i + j) * 2": E.Mul(E.Add(i, j), IntImm(2)),
    "i - (j - i)": E.Sub(i, E.Sub(j, i)),
    "i - j - i": E.Sub(E.Sub(i, j), i),
    "i * (j // 2)": E.Mul(i, E.FloorDiv(j, IntImm(2))),
    "i % 2 // j": E.FloorDiv(E.FloorMod(i, IntImm(2)), j),
    "T.Div(i, j)": E.Div(i, j),
    "f / f": E.Div(f, f),
    "T.truncmod(i, j)": E.Mod(i, j),
    "T.max(i, T.min(j, 3))": E.Max(i, E.Min(j, IntImm(3))),
    "i < j and (p or p)": E.And(E.LT(i, j), E.Or(p, p)),
    "not (p and p)": E.Not(E.And(p, p)),
    "p == (not p)": E.EQ(p, E.Not(p)),
    "T.Add(i, 0)": E.Add(i, IntImm(0)),
    "T.Sub(3, 4)": E.Sub(IntImm(3), IntImm(4)),
    "i * -3": E.Mul(i, IntImm(-3)),
    "T.int64(5)": IntImm(5, "int64"),
    "T.bool(False)": IntImm(0, "bool"),
    "T.float32(0)": FloatImm(0.0),
    "T.float32(0.10000000000000001)": FloatImm(0.1),
    "T.float32(-3.4028234663852886e+38)": FloatImm(-3.4028234663852886e38),
    'T.float64("-inf")': FloatImm(float("-inf"), "float64"),
    'T.Cast("float32", i)': E.Cast("float32", i),
    "T.Select(p, i, j)": E.Select(p, i, j),
    "T.Broadcast(f, 4)": E.Broadcast(f, 4),
    "A[i, j:j + 4]": E.BufferLoad(A, (i, E.Ramp(j, IntImm(1), 4))),
    "A[i, 0:8:2]": E.BufferLoad(A, (i, E.Ramp(IntImm(0), IntImm(2), 4))),
    "A[i, T.Ramp(i, j, 4)]": E.BufferLoad(A, (i, E.Ramp(i, j, 4))),
    "T.Let(i + j, where={i: 3})": E.Let(i, IntImm(3), E.Add(i, j)),
    "T.exp(f)": E.Call("float32", "tir.exp", (f,)),
    'T.call_extern("int32", "g", i)': E.Call("int32", "tir.call_extern", (StringImm("g"), i)),
    'T.call_packed("g", i)': E.Call("int32", "tir.tvm_call_packed", (StringImm("g"), i)),
    'T.reinterpret("handle", T.uint64(0))': E.Call(
        "handle", "tir.reinterpret", (IntImm(0, "uint64"),)
    ),
    r'"a\"b\\"': StringImm('a"b\\'),
    'T.iter_var(i, T.Range(0, 4), "DataPar", "")': IterVar(
        Range(IntImm(0), IntImm(4)), i, "DataPar"
    ),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression(text: str) -> None:
    assert script(EXPRESSIONS[text]) == text
    assert str(EXPRESSIONS[text]) == text


def test_names_are_identifiers_and_unique() -> None:
    assert script(E.Add(var("x.y"), var("x_y"))) == "x_y + x_y_1"
    assert script(E.Add(var("T"), E.Add(var(""), var("")))) == "T_1 + (v + v_1)"


def test_a_function_has_its_buffers_as_annotations() -> None:
    buffer = decl_buffer((8,), "int8", "B")
    store = S.BufferStore(buffer, IntImm(1, "int8"), (i,))
    func = function(loop(i, store, 8), buffer, global_symbol="f", **{"tir.noalias": True})
    assert script(func) == lines(
        """
        # from tvm.script import tir as T

        @T.prim_func
        def f(B: T.Buffer((8,), "int8")):
            T.func_attr({"tir.noalias": T.bool(True)})
            for i in range(8):
                B[i] = T.int8(1)
        """
    )


@pytest.mark.not_read_back("numbers as keys are strings in texts")
def test_attributes_of_other_classes_are_strings() -> None:
    func = function(S.Evaluate(IntImm(0))).with_attr("a", {"b": int, 1: {2}})
    text = '"a": {"1": "{2}", "b": "<class \'int\'>"}'
    assert text in script(func)
    assert text in primfn(func)


def test_a_module_lists_its_functions_by_name() -> None:
    func = function(S.Evaluate(IntImm(0)))
    module = S.IRModule({"g": func, "f": func})
    assert script(module) == lines(
        """
        # from tvm.script import ir as I
        # from tvm.script import tir as T

        @I.ir_module
        class Module:
            @T.prim_func(private=True)
            def f():
                T.evaluate(0)

            @T.prim_func(private=True)
            def g():
                T.evaluate(0)
        """
    )
    assert str(module) == module.script() == script(module)


def test_symbolic_buffers_are_matched() -> None:
    n, stride = var("n"), var("stride")
    buffer = decl_buffer((n,), "float32", "B", strides=[stride])
    body = loop(i, S.Evaluate(E.BufferLoad(buffer, (i * stride,))), n)
    assert body_of(function(body, buffer)) == lines(
        """
        n = T.int32()
        B_1 = T.match_buffer(B, (n,), strides=("stride",))
        for i in range(n):
            T.evaluate(B_1[i * B_1.strides[0]])
        """
    )


def test_independent_loops_are_a_grid() -> None:
    k = var("k")
    nest = loop(i, loop(j, loop(k, S.Evaluate(k), i + 1), 8))
    assert script(nest) == lines(
        """
        for i, j in T.grid(4, 8):
            for k in range(i + 1):
                T.evaluate(k)
        """
    )


@pytest.mark.parametrize(
    ("header", "fields"),
    [
        ("T.parallel(4)", {"kind": "parallel"}),
        ("T.vectorized(4)", {"kind": "vectorized"}),
        ("T.unroll(4)", {"kind": "unrolled"}),
        ('T.serial(4, annotations={"k": 1})', {"annotations": {"k": 1}}),
        (
            'T.thread_binding(4, thread="threadIdx.x")',
            {
                "kind": "thread_binding",
                "thread_binding": IterVar(None, var("t"), "ThreadIndex", "threadIdx.x"),
            },
        ),
    ],
)
def test_loop_kinds(header: str, fields: dict[str, Any]) -> None:
    assert script(loop(i, S.Evaluate(i), **fields)).splitlines()[0] == f"for i in {header}:"


def test_a_loop_may_start_anywhere() -> None:
    text = script(S.For(i, IntImm(1), IntImm(4), "serial", S.Evaluate(i)))
    assert text.splitlines()[0] == "for i in range(1, 5):"


def allocate(name: str) -> S.Stmt:
    pointer = Var(name, "handle", PointerType("float32", "shared"))
    buffer = decl_buffer((4,), "float32", name, data=pointer)
    store = S.BufferStore(buffer, ONE, (i,))
    return S.Allocate(pointer, "float32", (IntImm(4),), TRUE, S.SeqStmt((store, loop(i, store))))


@pytest.mark.not_read_back("memory is used outside of its allocation")
def test_what_ends_its_block_needs_none_of_its_own() -> None:
    assert body_of(function(loop(i, S.SeqStmt((allocate("B"), allocate("C")))))) == lines(
        """
        for i in range(4):
            with T.allocate([4], "float32", "shared") as B:
                B_1 = T.Buffer((4,), data=B, scope="shared")
                B_1[i] = T.float32(1)
                for i in range(4):
                    B_1[i] = T.float32(1)
            C = T.allocate([4], "float32", "shared")
            C_1 = T.Buffer((4,), data=C, scope="shared")
            C_1[i] = T.float32(1)
            for i in range(4):
                C_1[i] = T.float32(1)
        """
    )


def test_views_are_declared_where_all_their_uses_are() -> None:
    view = decl_buffer((64,), "float32", "A", data=A.data)
    store = S.BufferStore(view, ONE, (i,))
    body = loop(i, S.SeqStmt((S.Evaluate(i), loop(j, store), store)))
    assert body_of(function(body, A)) == lines(
        """
        for i in range(4):
            T.evaluate(i)
            A_1 = T.Buffer((64,), data=A.data)
            for j in range(4):
                A_1[i] = T.float32(1)
            A_1[i] = T.float32(1)
        """
    )


def test_a_branch_declares_before_its_only_statement() -> None:
    view = decl_buffer((64,), "float32", "A", data=A.data)
    let = S.LetStmt(j, i * 2, S.BufferStore(view, ONE, (j,)))
    body = loop(i, S.IfThenElse(i < 2, let, S.Evaluate(i)))
    assert body_of(function(body, A)) == lines(
        """
        for i in range(4):
            if i < 2:
                A_1 = T.Buffer((64,), data=A.data)
                j: T.int32 = i * 2
                A_1[j] = T.float32(1)
            else:
                T.evaluate(i)
        """
    )


def launch(thread: IterVar, body: S.Stmt) -> S.AttrStmt:
    return S.AttrStmt(thread, "thread_extent", IntImm(8), body)


def test_threads_are_launched_or_declared_for_several_launches() -> None:
    thread = IterVar(None, var("threadIdx.x"), "ThreadIndex", "threadIdx.x")
    once = launch(thread, S.Evaluate(thread.var))
    assert body_of(function(once)) == lines(
        """
        threadIdx_x = T.launch_thread("threadIdx.x", 8)
        T.evaluate(threadIdx_x)
        """
    )
    assert body_of(function(S.SeqStmt((once, once)))) == lines(
        """
        with T.launch_thread("threadIdx.x", 8) as threadIdx_x:
            T.evaluate(threadIdx_x)
        threadIdx_x = T.launch_thread("threadIdx.x", 8)
        T.evaluate(threadIdx_x)
        """
    )
    twice = S.SeqStmt((once, launch(thread, S.Evaluate(thread.var * 2))))
    assert body_of(function(twice)) == lines(
        """
        threadIdx_x = T.env_thread("threadIdx.x")
        with T.launch_thread(threadIdx_x, 8):
            T.evaluate(threadIdx_x)
        T.launch_thread(threadIdx_x, 8)
        T.evaluate(threadIdx_x * 2)
        """
    )


def test_a_reducer_is_a_lambda() -> None:
    x, y = var("x", "float32"), var("y", "float32")
    reducer = E.CommReducer((x,), (y,), (x + y,), (FloatImm(0.0),))
    body = loop(i, S.AttrStmt(reducer, "reduce_scope", IntImm(0), S.Evaluate(i)))
    assert script(body).splitlines()[1] == (
        '    T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", 0)'
    )


def test_realized_buffers_take_their_scope() -> None:
    region = (Range(IntImm(0), IntImm(8)), Range(i, IntImm(2)))
    realize = S.BufferRealize(A, region, TRUE, S.BufferStore(A, ONE, (i, i)))
    body = loop(i, S.AttrStmt(A, "realize_scope", StringImm("local"), realize))
    assert script(body) == lines(
        """
        for i in range(4):
            A = T.Buffer((8, 8))
            T.realize(A[0:8, i:i + 2], "local")
            A[i, i] = T.float32(1)
        """
    )


def test_other_statements() -> None:
    check = S.AssertStmt(i < 4, StringImm("message"), S.Evaluate(i))
    region = (Range(IntImm(0), IntImm(4)), Range(IntImm(2), IntImm(4)))
    result = E.Call("int32", "tir.ret", (i,))
    body = S.SeqStmt((S.While(i < 4, S.Evaluate(i)), S.Prefetch(A, region), check))
    assert script(loop(i, body)) == lines(
        """
        for i in range(4):
            while i < 4:
                T.evaluate(i)
            A = T.Buffer((8, 8))
            T.prefetch(A, [T.Range(0, 4), T.Range(2, 6)])
            assert i < 4, "message"
            T.evaluate(i)
        """
    )
    assert script(loop(i, S.Evaluate(result))) == "for i in range(4):\n    return i"


def test_text_over_lines_is_left_to_the_metadata() -> None:
    assert script(S.Evaluate(StringImm("a\nb"))) == lines(
        """
        T.evaluate(metadata["tir.StringImm"][0])
        # Metadata omitted. Use show_meta=True in script() method to show it.
        """
    )


def test_what_is_left_out_is_told_after_a_line_below_functions() -> None:
    func = function(S.Evaluate(StringImm("a\nb")))
    end = 'T.evaluate(metadata["tir.StringImm"][0])\n\n# Metadata omitted.'
    for node in (func, S.IRModule({"main": func})):
        assert end in script(node)


def test_show_prints_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    module = S.IRModule({"main": function(S.Evaluate(IntImm(0)))})
    module.show()
    assert capsys.readouterr().out == module.script() + "\n"
