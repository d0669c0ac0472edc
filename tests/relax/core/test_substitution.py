"""Values in the place of variables, and of variables of sizes."""

from __future__ import annotations

from te_sched import relax, tir
from te_sched.ir.struct_info import ShapeExpr
from te_sched.relax.core.substitution import Substitution

N, M = tir.Var("n", "int64"), tir.Var("m", "int64")
X = relax.Var("x", relax.TensorStructInfo([N], "float32"))
Y = relax.Var("y", relax.TensorStructInfo([N], "float32"))


def test_variables_have_values() -> None:
    call = Substitution({X: relax.const(1.5)}).visit_expr(relax.op.add(X, Y))
    assert isinstance(call, relax.Call)
    assert isinstance(call.args[0], relax.Constant)
    assert call.args[1] is Y


def test_sizes_with_values_are_simplified() -> None:
    shape = Substitution(sizes={N: M + M}).visit_expr(ShapeExpr((N * 2, M)))
    assert str(shape) == "R.shape([m * 4, m])"


def test_a_graph_without_the_variables_is_kept() -> None:
    call = relax.op.add(Y, Y)
    assert Substitution({X: Y}, {M: N}).visit_expr(call) is call


def test_values_that_are_added_later_count() -> None:
    values: dict[relax.Var, relax.Expr] = {}
    substitution = Substitution(values)
    values[X] = Y
    assert substitution.visit_expr(X) is Y


def test_parameters_have_the_sizes() -> None:
    func = Substitution(sizes={N: tir.IntImm("int64", 4)}).visit_expr(relax.Function([X], X))
    assert str(func.params[0].struct_info) == 'R.Tensor((4,), dtype="float32")'
