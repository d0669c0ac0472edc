"""Primitives that fold buffers: rolling_buffer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import conjuncts
from te_sched.arith.deduce import COMPARISONS
from te_sched.arith.regions import access_regions
from te_sched.errors import ScheduleError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Buffer, BufferRegion, Expr, IntImm, Range, Var
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import For
from te_sched.ir.visitor import replace, substitute, variables_of, walk
from te_sched.tensorir.accesses import place_of
from te_sched.tensorir.base import ScheduleBase, of_block
from te_sched.tensorir.blocks import (
    buffers_of,
    stated_blocks,
    why_not_dominant,
    writers,
)
from te_sched.tensorir.facts.axes import REDUCTION, SPATIAL
from te_sched.tensorir.handles import ATTRIBUTE, BlockRV, instruction
from te_sched.tensorir.insertion import common_parent
from te_sched.tensorir.primitives.finding import check_not_root
from te_sched.tensorir.regions import buffers_in, with_regions
from te_sched.tensorir.relaxation import binding_of, relaxed
from te_sched.tensorir.rewriting import Swap
from te_sched.tensorir.state import BlockKey

_Refusal = Callable[[str, str], ScheduleError]


class RollingPrimitives(ScheduleBase):
    """Primitives that fold buffers."""

    __slots__ = ()

    @instruction("Keep the results of {block} in a rolling buffer", write_buffer_index=ATTRIBUTE)
    def rolling_buffer(self, block: BlockRV | str, write_buffer_index: int | str | Buffer) -> None:
        """Keep only the part of a buffer that is in use, and do not compute elements again.

        A block that is computed at a loop of its consumers computes a window of the buffer in each
        iteration. Windows of consecutive iterations overlap. The buffer gets the size of a window
        in the dimension of the outermost loop that moves it, with indices modulo that size, and
        elements that are in the window of the iteration before are not computed again.

        Parameters
        ----------
        write_buffer_index : its number among the buffers that the block writes, its name, or
            itself.

        >>> from te_sched.script import tir as T
        >>> @T.prim_func
        ... def main(A: T.Buffer((10,)), C: T.Buffer((8,))):
        ...     B = T.alloc_buffer((10,))
        ...     for i in range(10):
        ...         with T.block("B"):
        ...             vi = T.axis.spatial(10, i)
        ...             B[vi] = A[vi] * 2.0
        ...     for i in range(8):
        ...         with T.block("C"):
        ...             vi = T.axis.spatial(8, i)
        ...             C[vi] = B[vi] + B[vi + 2]
        >>> sch = tir.Schedule(main)
        >>> sch.compute_at("B", sch.get_loops("C")[0])
        >>> sch.rolling_buffer("B", 0)
        >>> sch.get(sch.get_block("B")).writes
        (B[vi % 3],)
        >>> print(sch.mod.script().splitlines()[-9].strip())
        T.where(i < 1 or 2 <= ax0)
        """
        key = self.block_key(block, "rolling_buffer")
        check_not_root(self, key, "apply rolling_buffer to")
        scope = self.scope(key)
        assert scope is not None
        number = place_of(self, key, write_buffer_index, writes=True)
        region = self.block(key).writes[number]
        buffer = region.buffer

        def refused(why: str, help: str) -> ScheduleError:
            fault = f"cannot roll {buffer.name} of block {key.name}"
            return ScheduleError(fault, why, help, of_block(key.name))

        readers = _readers(self, scope, key, buffer, refused)
        parent = common_parent(self, scope, [key, *readers])
        if not isinstance(parent, Var):
            raise refused(
                "it and its consumers are in no common loop", "compute_at puts it into one"
            )
        above = [*self.loops_above(parent), parent]
        windows = _windows(self, key, region, above)
        moving_windows = [window for window in windows if window.overlap > 0]
        if not moving_windows:
            raise refused(
                "the windows of consecutive iterations have no common elements: "
                + ", ".join([str(bound.min) for bound in region.region]),
                "a window begins at loop * stride, and is larger than the stride",
            )
        rolled = min(moving_windows, key=lambda window: above.index(window.loop))
        _check_order(self, above, windows, moving_windows, refused)
        for moving_window in moving_windows:
            _check_window(self, key, moving_window, refused)
        loops = [window.loop for window in moving_windows]
        _check_pure(self, key, parent, loops, refused, set())
        _check_conditions(self, key, above, moving_windows, refused)
        _check_readers(self, readers, buffer, rolled, parent, refused)
        shape = tuple(
            [
                IntImm(rolled.size, size.dtype) if dimension == rolled.place else size
                for dimension, size in enumerate(buffer.shape)
            ]
        )
        folded = replace(buffer, shape=shape)
        fold = _Fold(buffer, folded, rolled, self.realize(key), moving_windows)
        self.draft.replace(scope, fold.visit(self.realize(scope)), fold.continued)


@dataclass(frozen=True, slots=True)
class _Window:
    """A window of a dimension that a loop moves by at most `stride` in each iteration."""

    place: int
    loop: Var
    low: Expr
    stride: int
    size: int
    offset: Expr  # of an element in the window

    @property
    def overlap(self) -> int:
        """The number of elements that consecutive windows have in common."""
        return self.size - self.stride

    def condition(self) -> Expr:
        """Whether an element is not in the window before."""
        first = E.LT(self.loop, IntImm(1, self.loop.dtype))
        return E.Or(first, E.LE(IntImm(self.overlap, self.offset.dtype), self.offset))


def _windows(
    schedule: ScheduleBase, key: BlockKey, region: BufferRegion, above: Sequence[Var]
) -> list[_Window]:
    """The windows of the region that a block writes in an iteration of loops around it."""
    inner = [loop for loop in schedule.loops_above(key) if loop not in above]
    sets = relaxed(schedule, key, region, inner)
    values = binding_of(schedule.realize(key))
    analyzer = Analyzer()
    windows = []
    for dimension, (bound, bounds) in enumerate(zip(region.region, sets, strict=True)):
        if bounds.min is None or bounds.max is None:
            continue
        low = analyzer.simplify(bounds.min)
        size = analyzer.simplify(bounds.max - bounds.min + 1)
        moved = _moved(low)
        if moved is None or moved[0] not in above or not isinstance(size, IntImm):
            continue
        loop, stride = moved
        offset = analyzer.simplify(substitute(bound.min, values) - low)
        windows.append(_Window(dimension, loop, low, stride, size.value, offset))
    return windows


def _moved(low: Expr) -> tuple[Var, int] | None:
    """The loop that moves the begin of a window, and by how much at most: `v`, `v * stride` or
    `v * stride // divisor`.
    """
    divisor = 1
    if isinstance(low, E.FloorDiv) and isinstance(low.b, IntImm) and low.b.value > 0:
        divisor = low.b.value
        low = low.a
    stride = 1
    if isinstance(low, E.Mul) and isinstance(low.b, IntImm):
        stride = low.b.value
        low = low.a
    if type(low) is not Var or stride < 1:
        return None
    return low, -(-stride // divisor)


def _readers(
    schedule: ScheduleBase, scope: BlockKey, key: BlockKey, buffer: Buffer, refused: _Refusal
) -> list[BlockKey]:
    """The blocks of a scope that read what a block writes."""
    if buffer not in schedule.block(scope).alloc_buffers:
        raise refused(
            "the block around it does not allocate the buffer",
            "roll an intermediate buffer; cache_read makes one",
        )
    if len(writers(schedule, key, buffer)) > 1:
        raise refused("several blocks write it", "write it in one block")
    own = schedule.block(key)
    if any(region.buffer is buffer for region in own.reads):
        raise refused("the block reads and writes it", "write T.init, or another buffer")
    why = why_not_dominant(schedule, key)
    if why:
        raise refused(why, "write every buffer in one block, and read it after that")
    blocks = stated_blocks(schedule, schedule.blocks_of(scope))
    readers = [
        reader
        for reader in blocks
        if reader is not key
        and any(region.buffer is buffer for region in schedule.block(reader).reads)
    ]
    if not readers:
        raise refused("no other block of the scope reads it", "roll what a consumer needs")
    for block_key in (key, *readers):
        block = schedule.block(block_key)
        *_, opaque = access_regions(block, buffers_in(block))
        views = [
            match.source.buffer
            for part in walk(block)
            if type(part) is Block
            for match in part.match_buffers
        ]
        if buffer in (*views, *buffers_of(opaque)):
            raise refused(
                f"block {block_key.name} accesses it by a pointer or a view",
                "use loads and stores of the buffer",
            )
    return readers


def _check_order(
    schedule: ScheduleBase,
    above: Sequence[Var],
    windows: Sequence[_Window],
    moving_windows: Sequence[_Window],
    refused: _Refusal,
) -> None:
    """Refuse loops whose iterations do not run one after the other from 0, or that move several
    windows.
    """
    for loop_var in above:
        loop = schedule.loop(loop_var)
        if loop.kind not in ("serial", "unrolled") or loop.thread_binding is not None:
            raise refused(
                f"the iterations of loop {loop_var.name} do not run in order",
                "roll in serial loops",
            )
    for window in moving_windows:
        loop = schedule.loop(window.loop)
        if not is_const(loop.min, 0):
            raise refused(
                f"loop {window.loop.name} starts at {loop.min}, not at 0", "write it from 0"
            )
        if [candidate.loop for candidate in windows].count(window.loop) > 1:
            raise refused(
                f"loop {window.loop.name} moves several dimensions",
                "elements would be in the window before in one dimension only",
            )


def _check_window(
    schedule: ScheduleBase,
    key: BlockKey,
    window: _Window,
    refused: _Refusal,
) -> None:
    """Refuse a window unless one inner loop has its elements, each once, in order."""
    realize = schedule.realize(key)
    inner = window.offset
    node = schedule.nodes.get(inner) if type(inner) is Var else None
    is_whole = (
        type(node) is For
        and is_const(node.min, 0)
        and is_const(node.extent, window.size)
        and inner in schedule.loops_above(key)
    )
    used = [value for value in realize.iter_values if {inner} & variables_of(value)]
    moving = [value for value in realize.iter_values if window.loop in variables_of(value)]
    if not is_whole or len(used) != 1 or len(moving) != 1:
        raise refused(
            f"dimension {window.place} is not written by one iterator {window.low} + loop",
            "roll the buffer before its loops are split",
        )


def _check_pure(
    schedule: ScheduleBase,
    key: BlockKey,
    parent: Var,
    loops: Sequence[Var],
    refused: _Refusal,
    seen: set[BlockKey],
) -> None:
    """Refuse a block that may compute another value of an element in a later iteration."""
    if key in seen:
        return
    seen.add(key)
    realize = schedule.realize(key)
    block = realize.block
    outer = {parent, *schedule.loops_above(parent)}
    if outer & variables_of(block):
        raise refused(f"block {key.name} uses a loop around it in its body", "bind an iterator")
    indices = {
        bound.min.a if type(bound.min) is E.FloorMod else bound.min
        for region in block.writes
        for bound in region.region
    }
    for axis, value in zip(block.iter_vars, realize.iter_values, strict=True):
        used = variables_of(value)
        if axis.kind == REDUCTION and used & outer:
            raise refused(
                f"block {key.name} reduces over a loop around the window",
                "have the whole reduction in an iteration",
            )
        if axis.var not in indices and used & {*loops}:
            raise refused(
                f"iterator {axis.var.name} of block {key.name} depends on a loop that moves the "
                "window, and is not an index",
                "make the value of an element depend on its indices alone",
            )
    for buffer in buffers_of(block.reads):
        for writer in writers(schedule, key, buffer):
            if any(around is parent for around in schedule.around(writer)):
                _check_pure(schedule, writer, parent, loops, refused, seen)


def _check_conditions(
    schedule: ScheduleBase,
    key: BlockKey,
    above: Sequence[Var],
    moving_windows: Sequence[_Window],
    refused: _Refusal,
) -> None:
    """Refuse conditions that may hold for an element in one iteration and not in another."""
    realize = schedule.realize(key)
    loops = {*above, *schedule.loops_above(key)}
    outside = {*above} - {window.loop for window in moving_windows}
    analyzer = Analyzer()
    for condition in conjuncts(realize.predicate):
        if variables_of(condition) <= outside:
            continue
        sides = [getattr(condition, name, condition) for name in "ab"]
        is_of_element = type(condition) in COMPARISONS and any(
            not variables_of(other) & loops
            and any(analyzer.can_prove_equal(side, value) for value in realize.iter_values)
            for side, other in (sides, sides[::-1])
        )
        if not is_of_element:
            raise refused(
                f"the block has the condition {condition}",
                "use loops without conditions, or conditions of an iterator",
            )


def _check_readers(
    schedule: ScheduleBase,
    readers: Sequence[BlockKey],
    buffer: Buffer,
    rolled: _Window,
    parent: Var,
    refused: _Refusal,
) -> None:
    """Refuse consumers of elements outside of the window."""
    analyzer = Analyzer()
    for loop_var in (*schedule.loops_above(parent), parent):
        node = schedule.loop(loop_var)
        analyzer.bind(loop_var, Range(node.min, node.extent))
    for key in readers:
        inner: list[Var] = []
        for loop in schedule.around(key):
            if loop is parent:
                break
            if isinstance(loop, Var):
                inner.append(loop)
        for region in schedule.block(key).reads:
            if region.buffer is not buffer:
                continue
            needed = relaxed(schedule, key, region, inner)[rolled.place]
            low, high = needed.min, needed.max
            if (
                low is None
                or high is None
                or not analyzer.can_prove(low >= rolled.low)
                or not analyzer.can_prove(high < rolled.low + rolled.size)
            ):
                raise refused(
                    f"block {key.name} reads {region}, which is not proven to be in the window "
                    f"from {rolled.low} on",
                    "compute_at makes windows of what consumers read",
                )


class _Fold(Swap):
    """Replaces a buffer by a folded one, and does not compute elements of windows again."""

    def __init__(
        self,
        buffer: Buffer,
        folded: Buffer,
        rolled: _Window,
        producer: BlockRealize,
        windows: Sequence[_Window],
    ) -> None:
        super().__init__({buffer: folded}, is_everywhere=True)
        self.buffer, self.rolled, self.producer, self.windows = buffer, rolled, producer, windows

    def _wrapped(self, indices: Sequence[Any], size: int) -> tuple[Any, ...]:
        dimension = self.rolled.place
        index = indices[dimension]
        return (
            *indices[:dimension],
            ops.floormod(index, IntImm(size, index.dtype)),
            *indices[dimension + 1 :],
        )

    def visit_access(self, node: Any) -> Any:
        """Map a load or store."""
        new = self.generic(node)
        if node.buffer is not self.buffer:
            return new
        return replace(new, indices=self._wrapped(new.indices, self.rolled.size))

    visit_BufferLoad = visit_BufferStore = visit_access

    def visit_Block(self, node: Block) -> Any:
        new = super().visit_Block(node)
        allocated = tuple([self.buffers.get(buffer, buffer) for buffer in node.alloc_buffers])
        accessed = buffers_of((*node.reads, *node.writes))
        changed = replace(new, alloc_buffers=allocated) if allocated != new.alloc_buffers else new
        if self.buffer in accessed:
            changed = with_regions(changed)
        return self.note(changed, node)

    def visit_BlockRealize(self, node: BlockRealize) -> BlockRealize:
        new: BlockRealize = self.generic(node)
        axes = tuple(
            [
                replace(axis, kind="Opaque")
                if axis.kind == SPATIAL
                and (number == self.rolled.place or self.rolled.loop in variables_of(value))
                else axis
                for number, (axis, value) in enumerate(
                    zip(new.block.iter_vars, node.iter_values, strict=True)
                )
            ]
        )
        block = self.note(replace(new.block, iter_vars=axes), new.block)
        new = replace(new, block=block)
        if node is not self.producer:
            return new
        predicate = new.predicate
        for window in self.windows:
            predicate = ops.logical_and(predicate, window.condition())
        return replace(new, predicate=predicate)
