# ruff: noqa: F841, SIM108  (scripts)
"""Visitors and mutators of graphs."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import relax, tir
from te_sched.errors import GraphError, kind_of
from te_sched.ir import assert_structural_equal
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T


@I.ir_module
class Program:
    @R.function(pure=False)
    def main(x: R.Tensor(("n", 4), "float32"), c: R.Prim("bool"), s: R.Shape(["n", 2])):
        n = T.int64()
        cls = Program
        with R.dataflow():
            a = R.add(x, R.const(1.5))
            t = (a, x)
            b = t[0]
            R.output(b)
        m = T.int64()
        d = R.match_cast(b, R.Tensor((m, 4), "float32"))
        e = R.call_packed("f", d, R.prim_value(n), R.str("s"), R.dtype("int8"), R.shape([n]))

        @R.function
        def inner(y: R.Object) -> R.Object:
            return y

        if c:
            g = R.add(b, b)
        else:
            g = b
        h = cls.other(g)
        return (g, h)

    @R.function
    def other(x: R.Object) -> R.Object:
        return x


class Names(relax.PyExprVisitor):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def visit_var_def_(self, var: relax.Var) -> None:
        self.seen.append(f"+{var.name_hint}")

    def visit_var_(self, op: relax.Var) -> None:
        self.seen.append(op.name_hint)

    def visit_constant_(self, op: relax.Constant) -> None:
        self.seen.append("constant")

    def visit_prim_expr(self, expr: Any) -> None:
        self.seen.append(str(expr))

    visit_dataflow_var_def_, visit_dataflow_var_ = visit_var_def_, visit_var_


def test_visitors_see_everything_in_order() -> None:
    visitor = Names()
    visitor.visit_expr(Program["main"])
    assert " ".join(visitor.seen) == (
        "+x +c +s x constant +a a x +t t +b b +d d n n +e +y y +inner c b b +g_then g_then b +g g "
        "+h g h"
    )


@relax.expr_functor.mutator
class Doubled(relax.PyExprMutator):
    """Multiplies by two in place of sums, and renames sizes."""

    def __init__(self, sizes: Any = None) -> None:
        super().__init__()
        self.sizes = sizes or {}

    def visit_call_(self, op: relax.Call) -> Any:
        op = self.visit_expr_post_order(op)
        if str(op.op) != "relax.add" or op.args[0] is not op.args[1]:
            return op
        return relax.op.multiply(op.args[0], relax.op.full_like(op.args[0], relax.const(2.0)))

    def visit_prim_expr(self, expr: Any) -> Any:
        return self.sizes.get(expr, expr)


def test_mutators_keep_what_does_not_change() -> None:
    class Same(relax.PyExprMutator):
        pass

    for name in ("main", "other"):
        assert Same(Program).visit_expr(Program[name]) is Program[name]
    assert Doubled._cls is Doubled  # type: ignore[attr-defined]


def test_mutators_emit_and_normalize() -> None:
    @R.function
    def before(x: R.Tensor((4,), "float32"), c: R.Prim("bool")):
        with R.dataflow():
            a = R.add(x, x)
            b = R.add(a, x)
            R.output(b)
        if c:
            d = R.add(b, b)
        else:
            d = x
        return d

    after = Doubled().visit_expr(before)

    @R.function
    def before_again(x: R.Tensor((4,), "float32"), c: R.Prim("bool")):
        with R.dataflow():
            lv = R.full_like(x, R.const(2.0))
            a = R.multiply(x, lv)
            b = R.add(a, x)
            R.output(b)
        if c:
            gv = R.full_like(b, R.const(2.0))
            d = R.multiply(b, gv)
        else:
            d = x
        return d

    expected = before_again.with_attr("global_symbol", "before")
    assert_structural_equal(after, expected)


def test_sizes_are_replaced_everywhere() -> None:
    n = Program["main"].params[0].struct_info.shape[0]
    changed = Doubled({n: tir.IntImm("int64", 8)}).visit_expr(Program["main"])
    assert changed.params[0].struct_info == relax.TensorStructInfo([8, 4], "float32")
    assert "n" not in {str(one) for one in changed.ret_struct_info.fields[0].shape.values}
    assert "R.prim_value(8)" in changed.script()


def test_variables_are_renamed_in_uses() -> None:
    @R.function(private=True)
    def before(a: R.Tensor((16, 2), "float32"), b: R.Tensor((2, 4), "float32")):
        return R.matmul(a, b)

    class Shorter(relax.PyExprMutator):
        def visit_var_def_(self, var: relax.Var) -> relax.Var:
            if var.name_hint != "a":
                return var
            return relax.Var("short", relax.TensorStructInfo([1, 2], "float32"))

    after = Shorter().visit_expr(before)
    assert after.ret_struct_info == relax.TensorStructInfo([1, 4], "float32")
    mutator = Shorter()
    x, y = before.params
    mutator.set_var_remap(x, y)
    assert mutator.get_var_remap(x) is y
    assert mutator.visit_expr(x) is y
    assert mutator.with_struct_info(x, x.struct_info) is x
    assert mutator.with_struct_info(x, relax.ObjectStructInfo()).name_hint == "a"
    assert mutator.lookup_binding(x) is None


def test_other_objects_are_refused() -> None:
    with pytest.raises(GraphError, match="3 is not an expression of a graph"):
        Names().visit_expr(3)


def test_errors_name_classes_as_programs_do():
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    assert kind_of(x) == "a relax.Var"
    assert kind_of(relax.op.exp(x)) == "a relax.Call"
    assert kind_of(relax.Function) == "the class relax.Function"
