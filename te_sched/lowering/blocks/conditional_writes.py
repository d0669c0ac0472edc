"""Buffers that are read in iterations of a loop in which no block writes them.

    for i in range(4):
        with T.block("write"):
            T.where(i < 3)
        with T.block("read"):    # in the last iteration, what the one before has written

Such a buffer must outlive an iteration. Must not know where buffers are allocated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import conjuncts
from te_sched.config import Lowering
from te_sched.ir import ops
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Buffer, Expr, Range, Var
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import For
from te_sched.ir.visitor import variables_of

_Path = tuple[Any, ...]  # enclosing loops and blocks, outermost first


class ConditionalWrites:
    """The conditions of the blocks that write and read buffers."""

    def __init__(self, settings: Lowering) -> None:
        self._settings = settings
        self._predicates: dict[int, Expr] = {}  # those of blocks, by identity
        self._writers: dict[Buffer, dict[int, _Path]] = {}  # paths, by the identity of the block
        self._readers: dict[Buffer, dict[int, _Path]] = {}

    def begin(self, block: Block, predicate: Expr) -> None:
        """Note the condition of a block."""
        if not is_const(predicate, 1):
            self._predicates[id(block)] = predicate

    def note(self, buffer: Buffer, path: _Path, writes: bool) -> None:
        """Note an access."""
        blocks = self._writers if writes else self._readers
        block = next((one for one in reversed(path) if type(one) is Block), None)
        blocks.setdefault(buffer, {}).setdefault(id(block), path)

    def outside(self, buffer: Buffer, path: _Path) -> _Path:
        """The part of a path around the accesses of a buffer outside of the loops in which it is
        read where it is not written; the path itself without such loops, or if threads are in them.
        """
        if not self._predicates:
            return path
        loops = {one.loop_var: place for place, one in enumerate(path) if type(one) is For}
        writers = [self._conditions(one, loops) for one in self._writers.get(buffer, {}).values()]
        if not writers or not all(writers):
            return path
        first = len(path)
        for reader in self._readers.get(buffer, {}).values():
            held = self._conditions(reader, loops)
            missing = [_unproved(one, held, path, self._settings) for one in writers]
            if all(missing):
                used = [variables_of(one) for conditions in missing for one in conditions]
                first = min([first, *[loops[var] for variables in used for var in variables]])
        inner = [one for one in path[first:] if type(one) is For]
        return path[:first] if all(one.kind in _IN_ORDER for one in inner) else path

    def _conditions(self, path: _Path, loops: Mapping[Var, int]) -> list[Expr]:
        """The conditions of a block that depend on some loops alone."""
        predicates = [self._predicates[id(one)] for one in path if id(one) in self._predicates]
        parts = [part for one in predicates for part in conjuncts(one)]
        return [one for one in parts if variables_of(one) and variables_of(one) <= loops.keys()]


_IN_ORDER = ("serial", "unrolled")


def _unproved(
    conditions: list[Expr], known: list[Expr], path: _Path, settings: Lowering
) -> list[Expr]:
    """The conditions that do not follow from known ones in the loops of a path."""
    analyzer = Analyzer(settings)
    for one in path:
        if type(one) is For:
            analyzer.bind(one.loop_var, Range(one.min, one.extent))
    holds: Expr = ops.TRUE
    for one in known:
        holds = ops.logical_and(holds, one)
    with analyzer.constraint(holds):
        return [one for one in conditions if not analyzer.can_prove(one)]
