"""tvm.ir_pass of TVM until 0.6: visiting, rewriting and simplifying statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.ir.expr import Expr, Range, Var
from te_sched.ir.stmt import IRModule, PrimFunc, Stmt
from te_sched.ir.structural import structural_equal
from te_sched.lower.remove_no_op import remove_no_op
from te_sched.lower.simplify import simplify
from te_sched.tir import stmt_functor

__all__ = [
    "CanonicalSimplify",
    "Equal",
    "IRTransform",
    "PostOrderVisit",
    "RemoveNoOp",
    "Simplify",
    "Substitute",
]

PostOrderVisit = stmt_functor.post_order_visit


def IRTransform(
    stmt: Any,
    preorder: Callable[[Any], Any] | None,
    postorder: Callable[[Any], Any] | None,
    only_enable: Sequence[str] | None = None,
) -> Any:
    """Rewrite a statement, or the functions that `lower` gave, node by node."""
    return _of_bodies(
        stmt, lambda body: stmt_functor.ir_transform(body, preorder, postorder, only_enable)
    )


def Substitute(node: Any, vmap: Mapping[Var, Any]) -> Any:
    """A statement or expression with variables replaced."""
    return stmt_functor.substitute(node, vmap)


def Simplify(node: Any, vrange: Mapping[Var, Range] | None = None) -> Any:
    """An expression or statement in its simple form, where variables have ranges."""
    if not isinstance(node, Expr):
        return _of_functions(node, simplify)
    analyzer = Analyzer()
    for var, extent in (vrange or {}).items():
        analyzer.bind(var, extent)
    return analyzer.simplify(node)


def CanonicalSimplify(node: Any, vrange: Mapping[Var, Range] | None = None) -> Any:
    """As Simplify: te_sched has one simple form."""
    return Simplify(node, vrange)


def Equal(lhs: Any, rhs: Any) -> bool:
    """Whether two programs have the same structure."""
    return structural_equal(lhs, rhs)


def RemoveNoOp(stmt: Any) -> Any:
    """A statement without what does nothing."""
    return _of_functions(stmt, remove_no_op)


def _of_bodies(program: Any, change: Callable[[Stmt], Stmt]) -> Any:
    if isinstance(program, IRModule):
        return IRModule(
            {name: func.with_body(change(func.body)) for name, func in program.functions.items()}
        )
    return change(program)


def _of_functions(program: Any, change: Callable[[PrimFunc], PrimFunc]) -> Any:
    if isinstance(program, Stmt):
        return change(PrimFunc((), program, {})).body
    return IRModule({name: change(func) for name, func in program.functions.items()})
