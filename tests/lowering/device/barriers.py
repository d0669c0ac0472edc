"""Kernels with a missing barrier, and the findings of the checked mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from te_sched.codegen.checker import check_program
from te_sched.ir.expr import Call
from te_sched.ir.kernel import BARRIER, is_kernel
from te_sched.ir.stmt import Evaluate, IRModule, SeqStmt, Stmt
from te_sched.ir.visitor import Mapper, statements
from te_sched.lowering.statements import sequence


def _is_barrier(node: Stmt) -> bool:
    return isinstance(node, Evaluate) and isinstance(node.value, Call) and node.value.op == BARRIER


class _Without(Mapper):
    """Removes one barrier."""

    def __init__(self, number: int) -> None:
        self.number = number

    def visit_SeqStmt(self, node: SeqStmt) -> Stmt:
        return sequence([self.visit(part) for part in node.seq])

    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        if not _is_barrier(node):
            return node
        self.number -= 1
        return sequence([]) if self.number == -1 else node


def without_one(module: IRModule) -> Iterator[tuple[str, IRModule]]:
    """The program without one of its barriers, for each of them, by kernel and number."""
    for name, kernel in module.functions.items():
        if is_kernel(kernel):
            for number in range(sum(map(_is_barrier, statements(kernel.body)))):
                body = _Without(number).visit(kernel.body)
                changed = {**module.functions, name: kernel.with_body(body)}
                yield f"{name} barrier {number}", IRModule(changed)


def unreported(module: IRModule, arrays: Sequence[Any], **limits: Any) -> tuple[int, list[str]]:
    """The number of barriers, and those whose removal the checked mode does not report."""
    count, found = 0, []
    assert check_program(module, _copies(arrays), **limits).ok
    for name, changed in without_one(module):
        count += 1
        if check_program(changed, _copies(arrays), **limits).ok:
            found.append(name)
    return count, found


def _copies(arrays: Sequence[Any]) -> list[Any]:
    return [array.copy() if isinstance(array, np.ndarray) else array for array in arrays]
