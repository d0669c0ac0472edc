"""What counts as the same workload: equal modules, equal but for constants, or equal anchors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from te_sched.analysis.programs.operations import anchor_block
from te_sched.ir.blocks import AllocateConst
from te_sched.ir.stmt import IRModule, PrimFunc, Stmt
from te_sched.ir.structural import structural_equal
from te_sched.ir.structural_hash import structural_hash
from te_sched.ir.visitor import StatementMapper
from te_sched.meta_schedule.component import named


class ModuleEquality:
    """Equality of modules, with a hash that agrees with it.

    Parameters
    ----------
    kind : "structural"; "ignore-ndarray", which ignores the elements of constants; "anchor-block",
        which compares the reductions with the most operations if there are any.
    """

    def __init__(self, kind: str) -> None:
        self._key = named("module equality", _KEYS, kind)
        self.kind = kind

    def hash(self, mod: IRModule) -> int:
        """A number that equal modules share."""
        return structural_hash(self._key(mod))

    def equal(self, first: IRModule, second: IRModule) -> bool:
        """Whether two modules are one workload."""
        return structural_equal(self._key(first), self._key(second), map_free_vars=True)


class _WithoutElements(StatementMapper):
    def visit_AllocateConst(self, node: AllocateConst) -> Stmt:
        return replace(self.generic(node), data=np.zeros((), node.dtype))


def _without_elements(mod: IRModule) -> IRModule:
    functions = {
        name: func.with_body(_WithoutElements().visit(func.body))
        if isinstance(func, PrimFunc)
        else func
        for name, func in mod.functions.items()
    }
    return IRModule(functions)


def _anchor(mod: IRModule) -> Any:
    return anchor_block(mod) or mod


_KEYS = {
    "structural": lambda mod: mod,
    "ignore-ndarray": _without_elements,
    "anchor-block": _anchor,
}
