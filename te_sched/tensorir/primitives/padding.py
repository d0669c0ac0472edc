"""Primitives that pad: pad_einsum.

An einsum reads and writes every buffer at iterators alone, such as C[i, j] += A[i, k] * B[k, j].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.iter_detect import IterMapLevel
from te_sched.arith.iter_map import detect_iter_map
from te_sched.errors import ScheduleError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.calls import effect_of
from te_sched.ir.dtypes import is_integral
from te_sched.ir.expr import (
    Buffer,
    BufferLoad,
    BufferRegion,
    Call,
    Expr,
    IntImm,
    IterVar,
    Range,
    Var,
)
from te_sched.ir.intrinsic_table import Effect
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import BufferStore, For, LetStmt, SeqStmt, Stmt
from te_sched.ir.structural import plain_of
from te_sched.ir.term_keys import all_same
from te_sched.ir.visitor import Mapper, replace, variables_of, walk
from te_sched.tensorir.base import ScheduleBase, integer, listed, of_block
from te_sched.tensorir.blocks import (
    accessed,
    accessed_outside,
    buffers_of,
    loop_ranges,
    range_of,
    siblings,
)
from te_sched.tensorir.copies import copy_nest
from te_sched.tensorir.facts.axes import REDUCTION, SPATIAL
from te_sched.tensorir.handles import NUMBERS, BlockRV, instruction
from te_sched.tensorir.primitives.finding import check_not_root
from te_sched.tensorir.relaxation import covers
from te_sched.tensorir.rewriting import Swap
from te_sched.tensorir.state import BlockKey, sequence, with_block
from te_sched.tensorir.updates import NEUTRAL, any_update_of

_Refusal = Callable[[str, str], ScheduleError]


class PaddingPrimitives(ScheduleBase):
    """Primitives that pad."""

    __slots__ = ()

    @instruction("Pad the iterators of {block} to multiples of {padding}", padding=NUMBERS)
    def pad_einsum(self, block: BlockRV | str, padding: Sequence[int]) -> None:
        """Pad the iterators of an einsum to multiples of numbers.

        Every buffer that is read is copied before to a larger one, with zeros, and what is written
        is copied back after it.

        Parameters
        ----------
        padding : a number for each iterator of the block; its extent becomes a multiple of it.

        Raises
        ------
        ScheduleError if the block reads or writes something else than elements at its iterators, or
        if zeros would change a result, as in a maximum.

        >>> from te_sched.script import tir as T
        >>> @T.prim_func
        ... def main(A: T.Buffer((10, 13)), B: T.Buffer((10,))):
        ...     for i, k in T.grid(10, 13):
        ...         with T.block("B"):
        ...             vi, vk = T.axis.remap("SR", [i, k])
        ...             with T.init():
        ...                 B[vi] = 0.0
        ...             B[vi] = B[vi] + A[vi, vk]
        >>> sch = tir.Schedule(main)
        >>> sch.pad_einsum("B", [4, 4])
        >>> [block.name for block in sch.get_child_blocks(sch.get_block("root"))]
        ['A_pad', 'B', 'B_pad']
        >>> sch.get(sch.get_block("B")).reads[0].buffer.shape
        (12, 16)
        """
        key = self.block_key(block, "pad_einsum")
        check_not_root(self, key, "apply pad_einsum to")
        own = self.block(key)

        def refused(why: str, help: str) -> ScheduleError:
            return ScheduleError(f"cannot pad block {key.name}", why, help, of_block(key.name))

        factors = [integer(factor, "padding") for factor in listed(padding, "padding")]
        if len(factors) != len(own.iter_vars) or any(factor < 1 for factor in factors):
            raise refused(
                f"padding is {factors}",
                f"give {len(own.iter_vars)} numbers of at least 1, one for each iterator",
            )
        places = _einsum_indices(own, refused)
        padded = _padded_extents(own, factors)
        if not padded:
            return
        plan = _plan(own, places, padded, refused)
        _check_covered(self, key, refused)
        _check_values(own, padded, plan, refused)
        _check_reductions(own, padded, plan, refused)
        above = self.loops_above(key)
        extents = {
            value: padded[axis.var]
            for axis, value in zip(own.iter_vars, self.realize(key).iter_values, strict=True)
            if axis.var in padded and value in {*above}
        }
        _check_nest(self, key, extents, plan, refused)
        pad = _Pad(self, key, plan, padded, extents)
        top = above[0] if above else key
        inside = _written_inside(self, key)
        copies = [
            _zeros(new) if old in inside else _copy(old, new) for old, new in plan.reads.items()
        ]
        backs = [_copy(old, new, is_back=True) for old, new in plan.writes.items()]
        nest = pad.visit(self.nodes[top])
        scope = self.scope(key)
        assert scope is not None
        draft = self.draft
        draft.replace(top, sequence(*copies, nest, *backs), pad.continued)
        links: dict[Block, Block] = {}
        owner = draft.realize(scope)
        buffers = (*owner.block.alloc_buffers, *plan.copies().values())
        draft.replace(scope, with_block(owner, links, alloc_buffers=buffers), links)


_Padded = Mapping[Var, Expr]  # the new extents of iterators
_Places = dict[Buffer, tuple[Expr, ...]]  # the indices at which buffers are accessed


class _PaddedCopies(NamedTuple):
    """The padded copies of the buffers that a block reads or writes."""

    reads: dict[Buffer, Buffer]
    writes: dict[Buffer, Buffer]

    def copies(self) -> dict[Buffer, Buffer]:
        """All copies."""
        return self.reads | self.writes


class _Pad(Swap):
    """Replaces buffers by padded ones, and the extents of loops and of a block's iterators. Other
    blocks in these loops are executed in the iterations that the loops had before.
    """

    def __init__(
        self,
        index: ScheduleBase,
        key: BlockKey,
        plan: _PaddedCopies,
        padded: _Padded,
        extents: Mapping[Any, Expr],
    ) -> None:
        super().__init__(plan.copies(), is_everywhere=True)
        self.block, self.padded, self.extents = index.block(key), padded, extents
        self.old = {loop: range_of(index.loop(loop)) for loop in extents}
        self.changed: list[Var] = []  # the loops around whose extents change

    def visit_For(self, node: For) -> For:
        is_changed = node.loop_var in self.extents
        self.changed += [node.loop_var] * is_changed
        new: For = self.generic(node)
        if not is_changed:
            return new
        self.changed.pop()
        return replace(new, extent=self.extents[node.loop_var])

    def visit_BlockRealize(self, node: BlockRealize) -> Any:
        changed, self.changed = self.changed, []
        new = self.generic(node)
        self.changed = changed
        if node.block is self.block:
            return new
        predicate = new.predicate
        for loop in changed:
            predicate = ops.logical_and(
                predicate, loop < self.old[loop].min + self.old[loop].extent
            )
        return new if predicate is new.predicate else replace(new, predicate=predicate)

    def visit_Block(self, node: Block) -> Any:
        new = super().visit_Block(node)
        if node is not self.block:
            return new
        return self.note(replace(new, iter_vars=tuple(map(self._axis, node.iter_vars))), node)

    def _axis(self, axis: IterVar) -> IterVar:
        extent = self.padded.get(axis.var)
        return axis if extent is None else replace(axis, dom=replace(_dom(axis), extent=extent))


def _padded_extents(block: Block, factors: Sequence[int]) -> dict[Var, Expr]:
    """The new extents of the iterators that are not multiples of their factors."""
    analyzer = Analyzer()
    extents: dict[Var, Expr] = {}
    for axis, factor in zip(block.iter_vars, factors, strict=True):
        extent = _dom(axis).extent
        size = IntImm(factor, extent.dtype)
        new = analyzer.simplify(ops.floordiv(extent + (factor - 1), size) * size)
        if not analyzer.can_prove_equal(new, extent):
            extents[axis.var] = new
    return extents


def _plan(block: Block, places: _Places, padded: _Padded, refused: _Refusal) -> _PaddedCopies:
    """The padded copies of what a block reads and writes."""
    axes = {axis.var: axis for axis in block.iter_vars}
    for var in padded:
        if not is_const(_dom(axes[var]).min, 0):
            raise refused(f"its iterator {var.name} does not begin at 0", "shift it")
    _check_accesses(block, places, refused)

    def copies(buffers: Sequence[Buffer]) -> dict[Buffer, Buffer]:
        padded_copies = {}
        for buffer in buffers:
            indices = places.get(buffer, ())
            if any(index in padded for index in indices):
                padded_copies[buffer] = _padded_copy(buffer, indices, padded, refused)
        return padded_copies

    plan = _PaddedCopies(copies(buffers_of(block.reads)), copies(buffers_of(block.writes)))
    for buffer in plan.writes:
        _check_written(buffer, places[buffer], axes, refused)
    return plan


def _einsum_indices(block: Block, refused: _Refusal) -> _Places:
    """The indices at which a block accesses each buffer: iterators and constants."""
    for buffer in {*buffers_of(block.reads)} & {*buffers_of(block.writes)}:
        raise refused(f"it reads and writes {buffer.name}", "use T.init for the first value")
    iterators = {axis.var for axis in block.iter_vars}
    indices_of: _Places = {}
    for region in (*block.reads, *block.writes):
        indices = tuple([bound.min for bound in region.region])
        for index, bound in zip(indices, region.region, strict=True):
            is_plain = index in iterators or isinstance(index, IntImm)
            if not is_plain or not is_const(bound.extent, 1):
                raise refused(f"it accesses {region}: the indices are not iterators", _HELP)
        if not all_same(indices_of.setdefault(region.buffer, indices), indices):
            raise refused(f"it accesses {region.buffer.name} at two places", _HELP)
    return indices_of


def _check_accesses(block: Block, places: _Places, refused: _Refusal) -> None:
    """Refuse accesses other than those that a block states."""
    if block.match_buffers or block.alloc_buffers:
        raise refused("it allocates or matches buffers", _HELP)
    for part in (block.init, block.body):
        if part is None:
            continue
        _check_statements(part, refused)
        for node in walk(part):
            if isinstance(node, BufferLoad | BufferStore) and not all_same(
                places.get(node.buffer, ()), node.indices
            ):
                raise refused(f"it does not state that it accesses {node.buffer.name}", _HELP)


_HELP = "pad a block such as C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"


def _check_statements(statement: Stmt, refused: _Refusal) -> None:
    """Refuse statements that do not always store."""
    if isinstance(statement, SeqStmt):
        for part in statement.seq:
            _check_statements(part, refused)
    elif isinstance(statement, LetStmt):
        _check_statements(statement.body, refused)
    elif not isinstance(statement, BufferStore) or statement.predicate is not None:
        raise refused("it has statements other than plain stores", _HELP)


def _padded_copy(
    buffer: Buffer, indices: tuple[Expr, ...], padded: _Padded, refused: _Refusal
) -> Buffer:
    """A buffer for the padded iterators that are its indices."""
    shape: list[Expr] = []
    for index, size in zip(indices, buffer.shape, strict=True):
        if isinstance(index, IntImm):
            if index.value:
                raise refused(f"{index} is an index of {buffer.name}", "index with iterators or 0")
            shape.append(IntImm(1, size.dtype))
        else:
            assert isinstance(index, Var)
            shape.append(ops.cast(size.dtype, padded.get(index, size)))
    return decl_buffer(shape, buffer.dtype, f"{buffer.name}_pad", scope=buffer.scope())


def _check_written(
    buffer: Buffer, indices: tuple[Expr, ...], axes: Mapping[Var, IterVar], refused: _Refusal
) -> None:
    """Refuse a buffer of which a block does not write all elements: they are copied back."""
    analyzer = Analyzer()
    for dimension, (index, size) in enumerate(zip(indices, buffer.shape, strict=True)):
        axis = axes.get(index) if isinstance(index, Var) else None
        extent = IntImm(1, size.dtype) if axis is None else _dom(axis).extent
        is_whole = analyzer.can_prove_equal(extent, size)
        if axis is not None:
            is_whole &= axis.kind == SPATIAL and is_const(_dom(axis).min, 0)
            is_whole &= not any(index is earlier_index for earlier_index in indices[:dimension])
        if not is_whole:
            raise refused(
                f"it does not write all elements of {buffer.name}, which has the shape "
                f"{list(buffer.shape)}, at {', '.join(map(str, indices))}",
                "use cache_write first",
            )


def _check_covered(schedule: ScheduleBase, key: BlockKey, refused: _Refusal) -> None:
    """Refuse a block whose loops do not give all values of its iterators."""
    realize = schedule.realize(key)
    ranges = loop_ranges(schedule, schedule.loops_above(key))
    values, axes = realize.iter_values, realize.block.iter_vars
    iter_map = detect_iter_map(values, ranges, realize.predicate, IterMapLevel.SURJECTIVE)
    analyzer = Analyzer()
    for number, (axis, value) in enumerate(zip(axes, values, strict=True)):
        extent: Any = 0
        if not iter_map.errors:
            args = iter_map.indices[number].args
            extent = args[0].extent if args else 1
        if not analyzer.can_prove_equal(ops.convert(extent), _dom(axis).extent):
            raise refused(
                f"its loops do not give all values of iterator {axis.var.name} = {value}",
                "pad a block that computes all elements",
            )


def _check_values(block: Block, padded: _Padded, plan: _PaddedCopies, refused: _Refusal) -> None:
    """Refuse values that cannot be computed with zeros, or for iterators beyond their extents."""
    for node in walk(block.body):
        if isinstance(node, Call) and effect_of(node) > Effect.READ_STATE:
            raise refused(f"it calls {node}, which may have effects", _HELP)
        is_division = isinstance(node, E.Div | E.Mod | E.FloorDiv | E.FloorMod)
        if is_division and is_integral(node.dtype) and _differs(node.b, padded, plan):
            raise refused(f"it divides by {node.b}, which is zero in the padding", _HELP)


def _differs(value: Expr, padded: _Padded, plan: _PaddedCopies) -> bool:
    """Whether the value of an expression may be another one for padding."""
    is_read = any(
        isinstance(node, BufferLoad) and node.buffer in plan.reads for node in walk(value)
    )
    return is_read or bool(variables_of(value) & padded.keys())


def _check_reductions(
    block: Block, padded: _Padded, plan: _PaddedCopies, refused: _Refusal
) -> None:
    """Refuse reductions of which the padding changes the results."""
    reduced = [axis for axis in block.iter_vars if axis.var in padded and axis.kind != SPATIAL]
    if not reduced:
        return
    names = ", ".join([axis.var.name for axis in reduced])
    if block.init is None or any(axis.kind != REDUCTION for axis in reduced):
        raise refused(f"its iterator {names} is padded, and it has no T.init", _HELP)
    update = any_update_of(block, lambda what, why, help: refused(what, help))
    reducer = update.reducer
    for axis in reduced:
        zeros = _Zeros(plan, axis)
        for result, identity, source in zip(
            reducer.result, reducer.identity, update.sources, strict=True
        ):
            neutral = NEUTRAL.get(type(result), plain_of(identity))
            value = Analyzer().simplify(zeros.visit(source))
            plain = plain_of(value)
            if isinstance(plain, Expr) or isinstance(neutral, Expr) or plain != neutral:
                raise refused(
                    f"the padding of iterator {axis.var.name} would add the value {value} to "
                    f"results, in place of {neutral}",
                    f"pad a sum of products, or give 1 for {axis.var.name}",
                )


class _Zeros(Mapper):
    """Replaces elements of buffers that are zero in the padding of an iterator."""

    def __init__(self, plan: _PaddedCopies, axis: IterVar) -> None:
        self.plan, self.axis, self.analyzer = plan, axis, Analyzer()

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        if node.buffer in self.plan.reads:
            for index, size in zip(node.indices, node.buffer.shape, strict=True):
                is_padded = index is self.axis.var
                if is_padded and self.analyzer.can_prove_equal(size, _dom(self.axis).extent):
                    return ops.const(0, node.dtype)
        return node


def _check_nest(
    schedule: ScheduleBase,
    key: BlockKey,
    extents: Mapping[Any, Expr],
    plan: _PaddedCopies,
    refused: _Refusal,
) -> None:
    """Refuse statements outside of blocks in loops whose extents change, and blocks that may not
    access the copies: all statements in the outermost loop do.
    """
    above = schedule.loops_above(key)
    if not above:
        return
    outermost = next((loop for loop in above if loop in extents), None)
    if outermost is not None and not _has_only_blocks(schedule.loop(outermost).body):
        raise refused(
            f"loop {outermost.name} has other statements, too", "compute them in loops of their own"
        )
    for buffer in plan.copies().keys() & accessed_outside(schedule, above[0]):
        raise refused(
            f"a statement in loop {above[0].name} accesses {buffer.name} outside of blocks",
            "make a block of it",
        )
    for block_key in schedule.blocks_of(above[0]):
        if block_key is not key:
            _check_other(schedule, key, block_key, plan, refused)


def _check_other(
    schedule: ScheduleBase, key: BlockKey, other: BlockKey, plan: _PaddedCopies, refused: _Refusal
) -> None:
    """Refuse a block in the same loops if it may access elements that the copies do not have."""
    analyzer = Analyzer()
    order = schedule.blocks_of(schedule.loops_above(key)[0])
    inside = _written_inside(schedule, key)
    for old, new in plan.copies().items():
        reads, writes = [
            [region for region in accessed(schedule, other, kind) if region.buffer is old]
            for kind in (False, True)
        ]
        if not reads and not writes:
            continue
        if old in plan.reads:
            is_right = (old in inside or not writes) and all(
                analyzer.can_prove(a <= b) for a, b in zip(old.shape, new.shape, strict=True)
            )
        else:
            is_right = order.index(key) < order.index(other) and all(
                covers(schedule, key, other, region) for region in (*reads, *writes)
            )
        if not is_right or _has_view(schedule, other, old):
            raise refused(
                f"block {other.name} in the same loops accesses {old.name}, too",
                "compute it in loops of its own",
            )


def _has_only_blocks(statement: Stmt) -> bool:
    """Whether all statements in loops are blocks."""
    if isinstance(statement, SeqStmt):
        return all(map(_has_only_blocks, statement.seq))
    if isinstance(statement, For):
        return _has_only_blocks(statement.body)
    return isinstance(statement, BlockRealize)


def _written_inside(schedule: ScheduleBase, key: BlockKey) -> set[Buffer]:
    """The temporaries that other blocks in the loops of a block write, and no block outside of
    these accesses.
    """
    above, scope = schedule.loops_above(key), schedule.scope(key)
    if not above or scope is None:
        return set()
    own = schedule.blocks_of(above[0])
    written = {
        region.buffer
        for block_key in own
        if block_key is not key
        for region in accessed(schedule, block_key, writes=True)
    }
    outside = {
        region.buffer
        for block_key in siblings(schedule, key)
        if block_key not in own
        for writes in (False, True)
        for region in accessed(schedule, block_key, writes)
    }
    return (written & {*schedule.block(scope).alloc_buffers}) - outside


def _has_view(schedule: ScheduleBase, key: BlockKey, buffer: Buffer) -> bool:
    return any(
        match.source.buffer is buffer
        for node in walk(schedule.block(key))
        if type(node) is Block
        for match in node.match_buffers
    )


def _copy(buffer: Buffer, padded: Buffer, is_back: bool = False) -> Stmt:
    """Loops around a block that copies a buffer to its padded one, or back."""
    analyzer = Analyzer()
    shape = buffer.shape if is_back else padded.shape
    axes = [
        IterVar(Range(IntImm(0, size.dtype), size), Var(f"v{dimension}", size.dtype), SPATIAL)
        for dimension, size in enumerate(shape)
    ]
    there: tuple[Expr, ...] = tuple([axis.var for axis in axes])
    condition: Expr | None = None
    for axis, old, new in zip(axes, buffer.shape, padded.shape, strict=True):
        if not is_back and not analyzer.can_prove_equal(old, new):
            inside = axis.var < old
            condition = inside if condition is None else ops.logical_and(condition, inside)
    return copy_nest(padded.name, axes, padded, buffer, there, is_back, "i", condition)


def _zeros(padded: Buffer) -> Stmt:
    """Loops around a block that sets all elements of a padded buffer to zero."""
    axes = [
        IterVar(Range(IntImm(0, size.dtype), size), Var(f"v{dimension}", size.dtype), SPATIAL)
        for dimension, size in enumerate(padded.shape)
    ]
    indices = tuple([axis.var for axis in axes])
    store = BufferStore(padded, ops.const(0, padded.dtype), indices)
    region = BufferRegion(padded, tuple([Range(v, IntImm(1, v.dtype)) for v in indices]))
    block = Block(tuple(axes), (), (region,), padded.name, None, store)
    loops = [Var(f"i{dimension}", axis.var.dtype) for dimension, axis in enumerate(axes)]
    body: Stmt = BlockRealize(tuple(loops), ops.const(True), block)
    for loop, size in zip(reversed(loops), reversed(padded.shape), strict=True):
        body = For(loop, IntImm(0, loop.dtype), size, "serial", body)
    return body


def _dom(axis: IterVar) -> Range:
    assert axis.dom is not None
    return axis.dom
