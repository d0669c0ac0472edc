"""te_sched.tir.stmt_functor: visiting and rewriting programs by callbacks, with TVM's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError, did_you_mean, kind_of, repr_of, with_article
from te_sched.ir import ops, visitor
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Expr, Var
from te_sched.ir.renew import renew_defs
from te_sched.ir.stmt import IRModule, PrimFunc, Stmt
from te_sched.ir.verify import check_operands
from te_sched.ir.visitor import Mapper
from te_sched.signatures import check_function, checked, checked_as

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
    check_function(fvisit, 1, "post_order_visit", "lambda node: ...")
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
    check_function(fvisit, 1, "pre_order_visit", "lambda node: ...")
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
    return visitor.substitute(node, {var: _value(var, value) for var, value in vmap.items()})


def _value(var: Var, value: Any) -> Expr:
    """The value of a variable; numbers of Python get its dtype."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    expr = ops.const(value, var.dtype) if is_number else ops.convert(value)
    if not isinstance(expr, Expr) or expr.dtype != var.dtype:
        text = f"has dtype {expr.dtype}" if isinstance(expr, Expr) else f"is {kind_of(value)}"
        raise DeclarationError(
            f"the value of variable {var.name} {text}, expected {var.dtype}",
            f"it is {repr_of(value)}",
            f'give an expression of this dtype: value.astype("{var.dtype}")',
        )
    return expr


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

    Raises
    ------
    DeclarationError for a callback that returns something else, or an expression of another dtype
    than the operation in which it stands takes; and for unknown classes.

    >>> from te_sched import te, tir
    >>> i = te.var("i")
    >>> ir_transform(i * 2, None, lambda node: tir.IntImm("int32", 3), ["tir.IntImm"])
    i * 3
    """
    for name, function in (("preorder", preorder), ("postorder", postorder)):
        if function is not None:
            check_function(function, 1, f"{name} of ir_transform", "lambda node: None")
    kinds = None if only_enable is None else {_class_named(name) for name in only_enable}
    new = _OrderedRewriter(preorder, postorder, kinds).visit(stmt)
    if new is not stmt:
        check_operands(new, DeclarationError, stmt)
    return new


_CLASSES = {kind.__name__: kind for kind in visitor.NODE_CLASSES}


def _class_named(name: str) -> type:
    """The class of nodes of a name, which may begin with that of its module."""
    _, _, own = name.rpartition(".")
    if own not in _CLASSES:
        near = did_you_mean(own, _CLASSES)
        raise DeclarationError(
            f"only_enable of ir_transform has {name!r}, which is not a class of nodes{near}",
            "",
            'name classes of statements and expressions: "tir.For", "tir.FloatImm"',
        )
    return _CLASSES[own]


class _OrderedRewriter(Mapper):
    def __init__(
        self, before: _Callback | None, after: _Callback | None, kinds: set[type] | None
    ) -> None:
        self._before, self._after, self._kinds = before, after, kinds

    def visit_Node(self, node: Any) -> Any:
        if self._kinds is not None and type(node) not in self._kinds:
            return self.generic(node)
        replacement = self._replacement("preorder", self._before, node)
        if replacement is not None:
            return replacement
        new = self.generic(node)
        replacement = self._replacement("postorder", self._after, new)
        return new if replacement is None else replacement

    def _replacement(self, name: str, callback: _Callback | None, node: Any) -> Any:
        """What a callback returns for a node: a node of its kind, or None."""
        new = None if callback is None else callback(node)
        kind, word = _kind_of_node(node)
        if new is None or isinstance(new, kind):
            return new
        raise DeclarationError(
            f"{name} of ir_transform returned {kind_of(new)}, expected {word} or None",
            f"it was called with {repr_of(node)}",
            f"return what replaces {with_article(type(node).__name__)}, "
            "or None, which leaves it as it is",
        )


def _kind_of_node(node: Any) -> tuple[type, str]:
    """The class of which a replacement of a node must be, in words."""
    for kind, word in ((Expr, "an expression"), (Block, "a Block"), (Stmt, "a statement")):
        if isinstance(node, kind):
            return kind, word
    return type(node), with_article(type(node).__name__)


def _roots(stmt: Any) -> list[Any]:
    if isinstance(stmt, IRModule):
        return [func.body for func in stmt.functions.values()]
    return [stmt.body if isinstance(stmt, PrimFunc) else stmt]


def _post_order(root: Any) -> list[Any]:
    """Nodes, children first; a shared object is visited once, as in TVM."""
    nodes: dict[int, Any] = {}
    stack = [(root, False)]
    while stack:
        node, is_done = stack.pop()
        if id(node) in nodes:
            continue
        if is_done:
            nodes[id(node)] = node
            continue
        stack.append((node, True))
        stack.extend((child, False) for child in reversed(list(visitor.children(node))))
    return list(nodes.values())


_tell_of_absent_names(__name__)
