"""The number of arithmetic operations of a program.

Additions, products, quotients, minima and maxima count 1, at any type; conditions, indices, calls
and initializations of blocks count 0. Of two branches, the larger counts. Must not know targets.
"""

from __future__ import annotations

from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import DeclarationError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.scopes import Loop, loop_of
from te_sched.ir.stmt import IRModule, PrimFunc, Stmt
from te_sched.ir.visitor import children, parts_of

_COUNTED = frozenset(
    (*(E.Add, E.Sub, E.Mul, E.Div, E.Mod, E.FloorDiv, E.FloorMod), *(E.Min, E.Max))
)
_CONDITIONS = frozenset((E.EQ, E.NE, E.LT, E.LE, E.GT, E.GE, E.And, E.Or, E.Not))
ESTIMATE = "estimated_flops"  # the attribute of a function that states the number


def count_operations(root: Stmt | PrimFunc | IRModule) -> int:
    """The number of operations of a statement, function or module.

    Loops of symbolic extent count with the largest extent.

    Raises
    ------
    DeclarationError for a `while` loop.
    """
    if isinstance(root, IRModule):
        return sum(count_operations(func) for func in root.functions.values())
    if isinstance(root, PrimFunc):
        stated = root.attrs.get(ESTIMATE)
        if stated is not None:
            return int(stated.value if isinstance(stated, E.IntImm) else stated)
        return _Counter().statement(root.body)
    return _Counter().statement(root)


def anchor_block(module: IRModule) -> Block | None:
    """The block with an initialization that has the most operations; None without such a block."""
    search = _Anchors()
    for func in module.functions.values():
        search.times = 1
        search.statement(func.body)
    return max(search.found, key=lambda pair: pair[0])[1] if search.found else None


class _Counter:
    """Counts operations, times the iterations of the loops around them."""

    def __init__(self) -> None:
        self.analyzer = Analyzer()
        self.times = 1

    def statement(self, node: Any) -> int:
        """The operations of a statement in all iterations."""
        loop = loop_of(node)
        if loop is not None:
            return self.loop(loop, node.body)
        kind = type(node)
        if kind is S.While:
            raise DeclarationError(
                "cannot count the operations of a while loop",
                "its number of iterations is unknown",
                f'state the number: func.with_attr("{ESTIMATE}", number)',
            )
        if kind is S.IfThenElse:
            cases = [self.statement(part) for part in parts_of(node)]
            return max(cases)
        if kind is Block:
            return self.block(node)
        if kind is BlockRealize:
            return self.statement(node.block)
        own = self.times * sum(self.expression(value) for value in _values(node))
        return own + sum(self.statement(part) for part in parts_of(node))

    def block(self, node: Block) -> int:
        """The operations of a block without its initialization."""
        return self.statement(node.body)

    def loop(self, loop: Loop, body: Stmt) -> int:
        """The operations of a loop."""
        count = self.iterations(loop)
        self.analyzer.bind(loop.var, E.Range(loop.min, loop.extent))
        outside, self.times = self.times, self.times * count
        total = self.statement(body)
        self.times = outside
        return total

    def iterations(self, loop: Loop) -> int:
        """The largest number of iterations."""
        most = self.analyzer.const_bounds(loop.extent)[1]
        return max(0, ops.int_limits(loop.extent.dtype)[1] if most is None else most)

    def expression(self, node: Any) -> int:
        """The operations of an expression."""
        kind = type(node)
        if kind in _CONDITIONS or kind in (E.BufferLoad, E.ProducerLoad):
            return 0
        if kind is E.Select:
            return max(self.expression(node.true_value), self.expression(node.false_value))
        own = 1 if kind in _COUNTED else 0
        return own + sum(self.expression(child) for child in children(node))


class _Anchors(_Counter):
    """Notes the blocks with an initialization, with their numbers of operations."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, Block]] = []

    def block(self, node: Block) -> int:
        """The operations of a block, which is noted."""
        total = super().block(node)
        if node.init is not None:
            self.found.append((total, node))
        return total


def _values(node: Any) -> list[Any]:
    """The expressions of a statement whose operations count."""
    kind = type(node)
    if kind in (S.BufferStore, S.ProducerStore, S.Evaluate, S.LetStmt):
        return [node.value]
    return []
