"""tvm.ir_pass of TVM until 0.6."""

from __future__ import annotations

from te_sched import tir
from te_sched.compat import ir_pass

VAR = tir.Var("i")
LOOP = tir.For(VAR, 0, 4, "serial", tir.Evaluate(tir.call_extern("int32", "f", VAR * 2 // 8)))


def test_statements_and_expressions_are_simplified() -> None:
    assert str(ir_pass.Simplify(VAR - VAR)) == "0"
    assert str(ir_pass.CanonicalSimplify(VAR // 4, {VAR: tir.Range(0, 4)})) == "0"
    assert 'T.call_extern("int32", "f", 0)' in str(ir_pass.Simplify(LOOP))


def test_statements_without_effect_are_removed() -> None:
    loop = tir.For(VAR, 0, 4, "serial", tir.Evaluate(0))
    assert ir_pass.Equal(ir_pass.RemoveNoOp(loop), tir.Evaluate(0))
    assert ir_pass.Equal(ir_pass.RemoveNoOp(LOOP), LOOP)


def test_variables_are_replaced() -> None:
    assert str(ir_pass.Substitute(VAR + 1, {VAR: tir.const(3)})) == "T.Add(3, 1)"


def test_nodes_are_replaced_by_callbacks() -> None:
    doubled = ir_pass.IRTransform(LOOP, None, lambda node: tir.Evaluate(1), ["tir.Evaluate"])
    assert str(doubled) == "for i in range(4):\n    T.evaluate(1)"
