"""te_sched.tir.stmt_functor: visiting and rewriting programs by callbacks, with TVM's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError
from te_sched.ir import ops, visitor
from te_sched.ir.expr import Expr, Var
from te_sched.ir.renew import renew_defs
from te_sched.ir.stmt import IRModule, PrimFunc, Stmt
from te_sched.ir.visitor import Mapper
from te_sched.signatures import checked, checked_as

__all__ = ["ir_transform", "post_order_visit", "pre_order_visit", "renew_defs", "substitute"]

_Callback = Callable[[Any], Any]


@checked_as(again=False)
def post_order_visit(stmt: Expr | Stmt | PrimFunc | IRModule, fvisit: Callable[[Any], Any]) -> None:
    """Call `fvisit` on every node, children before their parent.

    >>> from te_sched import te
    >>> i = te.var("i")
    >>> post_order_visit(i * 2 + 1, print)
    i
    2
    i * 2
    1
    i * 2 + 1
    """
    for root in _roots(stmt):
        for node in _post_order(root):
            fvisit(node)


@checked_as(again=False)
def pre_order_visit(stmt: Expr | Stmt | PrimFunc | IRModule, fvisit: Callable[[Any], Any]) -> None:
    """Call `fvisit` on every node, a parent before its children; False skips the children.

    >>> from te_sched import te
    >>> i = te.var("i")
    >>> pre_order_visit(i * 2 + 1, print)
    i * 2 + 1
    i * 2
    i
    2
    1
    """
    for root in _roots(stmt):
        stack = [root]
        while stack:
            node = stack.pop()
            if fvisit(node) is not False:
                stack.extend(reversed(list(visitor.children(node))))


@checked
@walks_deeply("replace variables", DeclarationError)
def substitute(node: Expr | Stmt | PrimFunc, vmap: Mapping[Var, Any]) -> Any:
    """The expression or statement with variables replaced.

    >>> from te_sched import te
    >>> i = te.var("i")
    >>> substitute(i * 2, {i: i + 1})
    (i + 1) * 2
    """
    return visitor.substitute(node, {var: ops.convert(value) for var, value in vmap.items()})


@checked_as(again=False)
def ir_transform(
    stmt: Expr | Stmt | PrimFunc,
    preorder: Callable[[Any], Any] | None,
    postorder: Callable[[Any], Any] | None,
    only_enable: Sequence[str] | None = None,
) -> Any:
    """The program with nodes replaced by callbacks.

    `preorder` returns the replacement of a node, or None to rewrite its children. `postorder` then
    returns the replacement of the rewritten node, or None to keep it. `only_enable` limits the
    callbacks to classes, such as "tir.For".

    >>> from te_sched import te, tir
    >>> i = te.var("i")
    >>> ir_transform(i * 2, None, lambda node: tir.IntImm("int32", 3), ["tir.IntImm"])
    i * 3
    """
    kinds = None if only_enable is None else {name.rpartition(".")[2] for name in only_enable}
    return _Rewriter(preorder, postorder, kinds).visit(stmt)


class _Rewriter(Mapper):
    def __init__(
        self, before: _Callback | None, after: _Callback | None, kinds: set[str] | None
    ) -> None:
        self._before, self._after, self._kinds = before, after, kinds

    def visit_Node(self, node: Any) -> Any:
        if self._kinds is not None and type(node).__name__ not in self._kinds:
            return self.generic(node)
        found = self._before(node) if self._before is not None else None
        if found is not None:
            return found
        new = self.generic(node)
        found = self._after(new) if self._after is not None else None
        return new if found is None else found


def _roots(stmt: Any) -> list[Any]:
    if isinstance(stmt, IRModule):
        return [func.body for func in stmt.functions.values()]
    return [stmt.body if isinstance(stmt, PrimFunc) else stmt]


def _post_order(root: Any) -> list[Any]:
    """Nodes, children first; a shared object is visited once, as in TVM."""
    found: dict[int, Any] = {}
    stack = [(root, False)]
    while stack:
        node, is_done = stack.pop()
        if id(node) in found:
            continue
        if is_done:
            found[id(node)] = node
            continue
        stack.append((node, True))
        stack.extend((child, False) for child in reversed(list(visitor.children(node))))
    return list(found.values())


_tell_of_absent_names(__name__)
