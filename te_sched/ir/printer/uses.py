"""The scopes in which free variables and buffers of a printed program are declared.

Owns the tree of scopes of a program and, for each variable and buffer, the innermost scope that
contains all its uses, in which it is declared. These scopes are the blocks of a text, unlike those
of `ir.scopes`. Must not know printing.
"""

from __future__ import annotations

from typing import Any

from te_sched.ir import blocks as B
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.dtypes import is_integral
from te_sched.ir.expr import Buffer, BufferLoad, Call, Expr, FloatImm, IntImm, StringImm, Var
from te_sched.ir.visitor import children, walk


class TextScope:
    """A statement with a text block of its own; `node` is None for the outermost."""

    __slots__ = ("depth", "node", "parent")

    def __init__(self, node: object, parent: TextScope | None) -> None:
        self.node = node
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1

    def holds(self, other: TextScope | None) -> bool:
        """Whether the other scope is this one or nested in it."""
        while other is not None and other.depth > self.depth:
            other = other.parent
        return other is self


def _common(a: TextScope, b: TextScope) -> TextScope:
    while a is not b:
        if a.depth >= b.depth:
            assert a.parent is not None
            a = a.parent
        else:
            assert b.parent is not None
            b = b.parent
    return a


_WITH_BUFFER = (S.BufferRealize, S.Prefetch, B.DeclBuffer)
_CONSTANTS = (IntImm, FloatImm, StringImm)


def _is_renewed(node: Expr) -> bool:
    """Whether TVM's simplifier makes an expression anew in each place: integers are computed."""
    return any(isinstance(part, E.BinaryOp) and is_integral(part.dtype) for part in walk(node))


class Uses:
    """`lowest` is the innermost scope that contains all uses of a variable or buffer.

    `scopes` maps the identity of a statement to its scope, if it has one.
    """

    def __init__(self, root: object) -> None:
        self.lowest: dict[object, TextScope] = {}
        self.scopes: dict[int, TextScope] = {}
        # As in TVM, an expression that occurs in several places counts where it occurs first.
        self.seen: set[Expr] = set()
        self.root = TextScope(None, None)
        if isinstance(root, S.Stmt):
            self._statement(root, self.root)
        elif isinstance(root, Expr):
            self._expression(root, self.root)

    def _inner(self, node: S.Stmt, scope: TextScope) -> TextScope:
        existing_scope = self.scopes.get(id(node))
        if existing_scope is not None and (
            existing_scope is scope or existing_scope.parent is scope
        ):
            return (
                existing_scope  # a branch that is a block itself, or a statement that occurs twice
            )
        inner = self.scopes[id(node)] = TextScope(node, scope)
        return inner

    def _note(self, used: Var | Buffer, scope: TextScope) -> None:
        lowest = self.lowest.get(used)
        if lowest is None:
            self.lowest[used] = scope
        elif lowest is not scope:
            self.lowest[used] = _common(lowest, scope)

    def _buffer(self, buffer: Buffer, scope: TextScope) -> None:
        if self.lowest.get(buffer) is scope:
            return
        self._note(buffer, scope)
        self._note(buffer.data, scope)
        for part in (*buffer.shape, *buffer.strides, buffer.elem_offset):
            if type(part) is not IntImm:
                self._expression(part, scope)

    def _expression(self, root: Expr, scope: TextScope) -> None:
        stack: list[Any] = [root]
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind is Var:
                self._note(node, scope)
            elif kind in _CONSTANTS or (node in self.seen and not _is_renewed(node)):
                pass
            else:
                self.seen.add(node)
                if kind is BufferLoad:
                    self._buffer(node.buffer, scope)
                stack.extend(node.args if kind is Call else children(node))

    def _statement(self, node: Any, scope: TextScope) -> None:
        """Record the uses in a statement; chains of statements are traversed without recursion."""
        while True:
            kind = type(node)
            if kind is S.SeqStmt:
                for item in node.seq:
                    self._statement(item, scope)
                return
            if kind is S.BufferStore:
                self._buffer(node.buffer, scope)
                for index in node.indices:
                    self._expression(index, scope)
                self._expression(node.value, scope)
                if node.predicate is not None:
                    self._expression(node.predicate, scope)
                return
            if kind is S.IfThenElse:
                self._expression(node.condition, scope)
                self._statement(node.then_case, self._inner(node.then_case, scope))
                if node.else_case is None:
                    return
                node, scope = node.else_case, self._inner(node.else_case, scope)
                continue
            if kind is B.BlockRealize:
                scope = self._inner(node, scope)
                for value in (*node.iter_values, node.predicate):
                    self._expression(value, scope)
                node = node.block
                continue
            if kind is B.Block:
                node, scope = self._block(node, scope)
                continue
            body = getattr(node, "body", None)
            if body is not None:
                scope = self._inner(node, scope)
            self._header(node, scope)
            if body is None:
                return
            node = body

    def _block(self, node: B.Block, scope: TextScope) -> tuple[S.Stmt, TextScope]:
        """Record the uses in a block except in its body; returns the body and its scope."""
        if scope.node is None or getattr(scope.node, "block", None) is not node:
            scope = self._inner(node, scope)
        sources = [match.source for match in node.match_buffers]
        for region in (*node.reads, *node.writes, *sources):
            self._buffer(region.buffer, scope)
        ranges = [axis.dom for axis in node.iter_vars if axis.dom is not None]
        ranges += [
            interval for part in (*node.reads, *node.writes, *sources) for interval in part.region
        ]
        for dim_range in ranges:
            self._expression(dim_range.min, scope)
            self._expression(dim_range.extent, scope)
        for buffer in (*node.alloc_buffers, *(match.buffer for match in node.match_buffers)):
            self._buffer(buffer, scope)
        if node.init is not None:
            self._statement(node.init, self._inner(node.init, scope))
        return node.body, scope

    def _header(self, node: S.Stmt, scope: TextScope) -> None:
        """Record the uses in a statement, without nested statements."""
        if isinstance(node, S.AttrStmt):
            self._attribute_node(node, scope)
        elif isinstance(node, S.BufferRealize | S.Prefetch | B.DeclBuffer) and isinstance(
            node.buffer, Buffer
        ):
            self._buffer(node.buffer, scope)
        for child in children(node):
            if isinstance(child, Expr):
                self._expression(child, scope)
            elif isinstance(child, E.Range):
                self._expression(child.min, scope)
                self._expression(child.extent, scope)

    def _attribute_node(self, node: S.AttrStmt, scope: TextScope) -> None:
        target = node.node
        if isinstance(target, E.IterVar):
            # If a thread is launched several times, the first launch counts.
            if target.var not in self.lowest:
                self._note(target.var, scope)
        elif isinstance(target, Buffer):
            self._buffer(target, scope)
        elif isinstance(target, Expr):
            self._expression(target, scope)
        elif isinstance(target, tuple):
            for element in target:
                if isinstance(element, Buffer):
                    self._buffer(element, scope)
