"""Buffers that are read in iterations of a loop in which no block writes them.

    for i in range(4):
        with T.block("write"):
            T.where(i < 3)           # or in a statement, `if i < 3:`
        with T.block("read"):    # in the last iteration, what the one before has written

Such a buffer must outlive an iteration. Must not know where buffers are allocated.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import contextmanager
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import conjuncts
from te_sched.config import Lowering
from te_sched.ir import ops
from te_sched.ir.expr import Buffer, Expr, Range, Var
from te_sched.ir.stmt import For
from te_sched.ir.visitor import variables_of

_Path = tuple[Any, ...]  # enclosing loops and blocks, outermost first
_Conditions = tuple[Expr, ...]


class ConditionalWrites:
    """The conditions under which buffers are written and read."""

    def __init__(self, settings: Lowering) -> None:
        self._settings = settings
        self._current: _Conditions = ()
        self._writes: dict[Buffer, dict[tuple[int, ...], _Conditions]] = {}  # by identity
        self._reads: dict[Buffer, dict[tuple[int, ...], _Conditions]] = {}

    @contextmanager
    def where(self, condition: Expr) -> Iterator[None]:
        """Note accesses that are executed if a condition holds, of a block or statement."""
        outer = self._current
        self._current = (*outer, *conjuncts(condition))
        yield
        self._current = outer

    def note(self, buffer: Buffer, writes: bool) -> None:
        """Note an access."""
        accesses = self._writes if writes else self._reads
        accesses.setdefault(buffer, {}).setdefault((*map(id, self._current),), self._current)

    def outside(self, buffer: Buffer, path: _Path) -> _Path:
        """The part of a path around the accesses of a buffer outside of the loops in which it is
        read where it is not written; the path itself without such loops, or if threads are in them.
        """
        loops = {node.loop_var: depth for depth, node in enumerate(path) if type(node) is For}
        writes = [_about(conditions, loops) for conditions in self._writes.get(buffer, {}).values()]
        if not writes or not all(writes):
            return path
        first = len(path)
        for conditions in self._reads.get(buffer, {}).values():
            assumptions = _about(conditions, loops)
            missing = [_unproved(write, assumptions, path, self._settings) for write in writes]
            if all(missing):
                used = [
                    variables_of(condition) for conditions in missing for condition in conditions
                ]
                first = min([first, *[loops[var] for variables in used for var in variables]])
        inner = [node for node in path[first:] if type(node) is For]
        return path[:first] if all(loop.kind in _IN_ORDER for loop in inner) else path


def _about(conditions: _Conditions, loops: Container[Var]) -> list[Expr]:
    """The conditions that depend on some loops, and on nothing else."""
    used = [(condition, variables_of(condition)) for condition in conditions]
    return [
        condition
        for condition, variables in used
        if variables and all(v in loops for v in variables)
    ]


_IN_ORDER = ("serial", "unrolled")


def _unproved(
    conditions: list[Expr], assumptions: list[Expr], path: _Path, settings: Lowering
) -> list[Expr]:
    """The conditions that do not follow from known ones in the loops of a path."""
    analyzer = Analyzer(settings)
    for item in path:
        if type(item) is For:
            analyzer.bind(item.loop_var, Range(item.min, item.extent))
    holds: Expr = ops.TRUE
    for item in assumptions:
        holds = ops.logical_and(holds, item)
    with analyzer.constraint(holds):
        return [condition for condition in conditions if not analyzer.can_prove(condition)]
