"""tvm.ir_pass of TVM until 0.6: traversal, rewriting and simplification of statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from te_sched import config
from te_sched.arith.analyzer import Analyzer
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError
from te_sched.ir.expr import Expr, Range, Var
from te_sched.ir.stmt import IRModule, PrimFunc, Stmt
from te_sched.ir.structural import structural_equal
from te_sched.lowering.remove_no_op import remove_no_op
from te_sched.lowering.simplify import simplify
from te_sched.passes import LoweringPass
from te_sched.signatures import checked
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


@checked
def IRTransform(
    stmt: Stmt | IRModule,
    preorder: Callable[[Any], Any] | None,
    postorder: Callable[[Any], Any] | None,
    only_enable: Sequence[str] | None = None,
) -> Any:
    """A statement, or the functions of a module, with nodes replaced by callbacks."""
    return _of_bodies(
        stmt, lambda body: stmt_functor.ir_transform(body, preorder, postorder, only_enable)
    )


@checked
def Substitute(node: Expr | Stmt, vmap: Mapping[Var, Any]) -> Any:
    """A statement or expression with variables replaced."""
    return stmt_functor.substitute(node, vmap)


@checked
@walks_deeply("simplify a program", DeclarationError)
def Simplify(node: Expr | Stmt | IRModule, vrange: Mapping[Var, Range] | None = None) -> Any:
    """The simplified expression or statement, given ranges of variables."""
    settings = config.current().lowering
    if not isinstance(node, Expr):
        run = LoweringPass(simplify).under(settings)
        return _of_functions(node, lambda func: run(func, settings))
    analyzer = Analyzer(settings)
    for var, extent in (vrange or {}).items():
        analyzer.bind(var, extent)
    return analyzer.simplify(node)


@checked
def CanonicalSimplify(
    node: Expr | Stmt | IRModule, vrange: Mapping[Var, Range] | None = None
) -> Any:
    """Same as Simplify."""
    return Simplify(node, vrange)


def Equal(lhs: Any, rhs: Any) -> bool:
    """Whether two programs have the same structure."""
    return structural_equal(lhs, rhs)


@checked
def RemoveNoOp(stmt: Stmt | IRModule) -> Any:
    """A statement without parts that have no effect."""
    return _of_functions(stmt, remove_no_op)


def _of_bodies(program: Any, change: Callable[[Stmt], Stmt]) -> Any:
    if isinstance(program, IRModule):
        return program.with_functions(
            {name: func.with_body(change(func.body)) for name, func in program.functions.items()}
        )
    return change(program)


def _of_functions(program: Any, change: Callable[[PrimFunc], PrimFunc]) -> Any:
    if isinstance(program, Stmt):
        return change(PrimFunc((), program, {})).body
    return program.with_functions({name: change(func) for name, func in program.functions.items()})
