"""Each definition has a variable of its own."""

from __future__ import annotations

import numpy as np

import te_sched
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.stmt import Evaluate, LetStmt
from te_sched.script import tir as T
from te_sched.tir.passes.convert_ssa import convert_ssa
from tests.lowering.build import block, function, loop, store, text, var

A = decl_buffer((8,), "int32", name="A")


def test_nested_definitions_end_with_their_bodies() -> None:
    x = var("x")
    inner = LetStmt(x, x + 1, Evaluate(x))
    body = LetStmt(x, var("n"), block(Evaluate(x), inner, Evaluate(x)))
    new = convert_ssa({"f": function(body)})["f"].body
    first, second, third = new.body.seq
    assert new.var is x
    assert first.value is x
    assert third.value is x
    assert second.var is not x
    assert second.value.a is x
    assert second.body.value is second.var


def test_functions_do_not_share_variables_and_buffers() -> None:
    i = var("i")
    func = function(loop(i, 8, store(A, i, i)), A)
    new = convert_ssa({"f": func, "g": func})
    assert new["f"] is func
    other = next(iter(new["g"].buffer_map.values()))
    assert other is new["g"].body.body.buffer is not A
    assert other.data is not A.data
    assert new["g"].body.loop_var is not i
    assert text(new["g"]) == text(func)


def test_a_thread_axis_has_one_variable_in_a_function() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((8,), "int32")):
        t = T.env_thread("threadIdx.x")
        with T.launch_thread(t, 8):
            A[t] = 1
        with T.launch_thread(t, 8):
            A[t] = 2

    assert convert_ssa({"f": kernel})["f"] is kernel


def test_results() -> None:
    i = var("i")
    body = block(loop(i, 8, store(A, i, i)), loop(i, 4, store(A, i * 10, i)))
    func = convert_ssa({"f": function(body, A)})["f"]
    assert func.body.seq[0].loop_var is not func.body.seq[1].loop_var
    out = te_sched.nd.array(np.zeros(8, "int32"))
    te_sched.build(func)(out)
    assert out.numpy().tolist() == [0, 10, 20, 30, 4, 5, 6, 7]
