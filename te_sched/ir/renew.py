"""Programs with new definitions: other variables, buffers and blocks in the same structure.

Must not know passes.
"""

from __future__ import annotations

from typing import Any

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Buffer, Expr, IterVar, Var
from te_sched.ir.stmt import PrimFunc, Stmt
from te_sched.ir.structural import symbols
from te_sched.ir.visitor import ReferenceMapper, replace
from te_sched.signatures import checked


class Renewed(ReferenceMapper):
    """Maps each definition to a new one, with its uses; blocks are copied."""

    def __init__(self) -> None:
        self.values: dict[Var, Expr] = {}

    def define(self, var: Var) -> Var:
        new_var = self.values[var] = replace(var)
        return new_var

    def visit_Var(self, node: Var) -> Expr:
        return self.values.get(node, node)

    def renewed(self, node: Any) -> Any:
        if isinstance(node, IterVar) and node.var not in self.values:
            self.define(node.var)
        new = self.generic(node)
        return replace(new) if new is node and isinstance(node, IterVar) else new

    def declare(self, buffer: Buffer) -> None:
        """Define what a buffer defines: its data, and symbols of its layout that are new."""
        for var in (buffer.data, *symbols(buffer)):
            if var not in self.values:
                self.define(var)

    def visit_Block(self, node: Block) -> Block:
        for buffer in node.alloc_buffers:
            if buffer.data not in self.values:
                self.define(buffer.data)
        for match in node.match_buffers:
            self.declare(match.buffer)
        new = self.generic(node)
        return replace(new) if new is node else new

    def visit_PrimFunc(self, node: PrimFunc) -> PrimFunc:
        params = tuple([self.define(param) for param in node.params])
        for buffer in node.buffer_map.values():
            self.declare(buffer)
        buffers = {
            self.values.get(param, param): self.visit(buffer)
            for param, buffer in node.buffer_map.items()
        }
        return replace(node, params=params, buffer_map=buffers, body=self.visit(node.body))


@checked
@walks_deeply("renew a program", DeclarationError)
def renew_defs(func: PrimFunc) -> PrimFunc:
    """A function of the same structure that shares no variable, buffer or block with `func`.

    >>> from te_sched import te, tir
    >>> n = te.var("n")
    >>> func = tir.PrimFunc([n], tir.Evaluate(n + 1), {})
    >>> new = renew_defs(func)
    >>> new.params[0] is n, te_sched.ir.structural_equal(new, func)
    (False, True)
    """
    return Renewed().visit(func)


def renewed_body(body: Stmt) -> Stmt:
    """A statement with new definitions; free variables and buffers stay."""
    return Renewed().visit(body)
