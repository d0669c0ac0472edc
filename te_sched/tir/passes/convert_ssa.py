"""Give each definition of a module a variable of its own (static single assignment).

    let x = 1                     let x = 1
        evaluate(x)                   evaluate(x)
    let x = 2              ->     let x_1 = 2
        evaluate(x)                   evaluate(x_1)

The first definition keeps its variable. The variable of a thread axis is one variable in all of a
function. (TVM's name: ConvertSSA.) Must not know where variables come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from te_sched.ir.expr import IterVar, Var
from te_sched.ir.stmt import THREAD_KEYS, AttrStmt, PrimFunc, Stmt
from te_sched.ir.visitor import Substitute, replace, variables_of
from te_sched.lowering.statements import mentions


def convert_ssa(functions: Mapping[str, PrimFunc]) -> dict[str, PrimFunc]:
    """The functions of a module, no two definitions of which share a variable.

    >>> from te_sched import tir
    >>> x = tir.Var("x")
    >>> twice = [tir.LetStmt(x, value, tir.Evaluate(x)) for value in (1, 2)]
    >>> new = convert_ssa({"f": tir.PrimFunc((), tir.SeqStmt(twice), {})})["f"].body.seq
    >>> new[0].var is x, new[1].var is x, new[1].body.value is new[1].var
    (True, False, True)
    """
    defined: set[Var] = set()
    return {name: _RedefinedRenamer(defined).function(func) for name, func in functions.items()}


class _RedefinedRenamer(Substitute):
    """Renames variables that were `defined` before; `mapping` is that of the current scope."""

    def __init__(self, defined: set[Var]) -> None:
        super().__init__({})
        self.defined = defined
        self.threads: set[Var] = set()  # thread axes of the function

    def function(self, func: PrimFunc) -> PrimFunc:
        """The function with new variables for those of other functions."""
        params = tuple(map(self.define, func.params))
        for buffer in func.buffer_map.values():
            implied = variables_of(*buffer.shape, *buffer.strides, buffer.elem_offset)
            for var in sorted({buffer.data, *implied} - set(func.params), key=lambda v: v.name):
                if var not in self.threads:
                    self.threads.add(var)
                    self.define(var)
        buffers = {
            new: self.visit(func.buffer_map[old])
            for old, new in zip(func.params, params, strict=True)
            if old in func.buffer_map
        }
        body = self.visit(func.body)
        kept = all(new is old for new, old in zip(params, func.params, strict=True))
        if kept and all(buffers[p] is old for p, old in func.buffer_map.items()):
            return func.with_body(body)
        return replace(func, params=params, buffer_map=buffers, body=body)

    def define(self, var: Var) -> Var:
        if var not in self.defined:
            self.defined.add(var)
            return var
        new = replace(var)
        self.mapping = {**self.mapping, var: new}
        self.shared_nodes({old: to for old, to in self.shared.items() if not mentions(old, var)})
        return new

    def shared_nodes(self, nodes: dict[Any, Any]) -> None:
        """Use other replacements of buffers, axes and reducers."""
        self.__dict__["shared"] = nodes

    def visit_Stmt(self, node: Stmt) -> Stmt:
        mapping, shared = self.mapping, self.shared
        new = self.generic(node)
        if self.mapping is not mapping:
            self.mapping = mapping
            self.shared_nodes(shared)
        return new

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        axis = node.node
        if node.key not in THREAD_KEYS or not isinstance(axis, IterVar):
            return self.visit_Stmt(node)
        if axis.var not in self.threads:
            self.threads.add(axis.var)
            self.define(axis.var)
        return self.generic(node)
