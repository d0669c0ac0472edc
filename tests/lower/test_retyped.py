"""What is computed with variables that change their types."""

from __future__ import annotations

from te_sched.ir import ops
from te_sched.ir.calls import call_extern, call_llvm_pure_intrin
from te_sched.ir.expr import Call, Expr, IntImm, Select, Var
from te_sched.lower.retyped import Retyper
from tests.arith.brute import show

i, wide, other = Var("i"), Var("i", "int64"), Var("j")


class Widened(Retyper):
    def visit_Var(self, node: Var) -> Expr:
        return wide if node is i else node


def retyped(e: Expr) -> Expr:
    return Widened().visit(e)


def test_operands_get_the_wider_type() -> None:
    found = retyped(i + other)
    assert found.dtype == "int64"
    assert show(found) == "(i + int64(j))"


def test_values_of_a_choice_get_the_wider_type() -> None:
    for choice in (
        Select(i < 3, i, other),
        Call("int32", "tir.if_then_else", (i < 3, other, i)),
    ):
        found = retyped(choice)
        assert type(found) is type(choice)
        assert found.dtype == "int64"
        assert "int64(j)" in show(found)


def test_functions_from_elsewhere_keep_the_types_of_their_arguments() -> None:
    extern = retyped(call_extern("int32", "f", i, other))
    assert [arg.dtype for arg in extern.args[1:]] == ["int32", "int32"]  # type: ignore[attr-defined]
    llvm = retyped(call_llvm_pure_intrin("int32", "llvm.abs", i))
    assert llvm.args[1].dtype == "int32"  # type: ignore[attr-defined]


def test_nothing_changes_without_the_variable() -> None:
    e = ops.minimum(other, Select(other < 3, other, IntImm(4)))
    assert retyped(e) is e
