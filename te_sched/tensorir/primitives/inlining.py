"""Primitives that inline blocks: compute_inline, reverse_compute_inline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.iter_detect import IterMapLevel
from te_sched.arith.iter_expr import IterSumExpr
from te_sched.arith.iter_map import detect_iter_map, inverse_affine_iter_map
from te_sched.errors import ScheduleError
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Buffer, BufferLoad, Expr, FloorDiv, IterVar, Mul, Range, Var
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import BufferStore, For, Stmt
from te_sched.ir.term_keys import all_same, same
from te_sched.ir.visitor import children, replace, substitute, variables_of, walk
from te_sched.tensorir.base import ScheduleBase, of_block
from te_sched.tensorir.blocks import (
    consumers,
    producers,
    range_of,
    why_not_complete,
    why_not_reduction,
)
from te_sched.tensorir.dependences import mentioned
from te_sched.tensorir.handles import BlockRV, instruction
from te_sched.tensorir.primitives.finding import check_not_root
from te_sched.tensorir.regions import with_regions
from te_sched.tensorir.removal import without
from te_sched.tensorir.rewriting import BlockMapper, BufferMapper
from te_sched.tensorir.stage_pipeline import PIPELINE_HELP, why_not_pipeline
from te_sched.tensorir.state import BlockIndex, BlockKey, mapped_parts, with_block


class InliningPrimitives(ScheduleBase):
    """Primitives that inline blocks."""

    __slots__ = ()

    @instruction("Inline {block} into the blocks that read it")
    def compute_inline(self, block: BlockRV | str) -> None:
        """Compute the elements of a block's buffer where they are read, and remove the block.

        The block stores one element, `B[vi, vj] = ...`, in a buffer of its scope.

        Raises
        ------
        ScheduleError if it writes a result of the function, is a reduction, or is the only block.

        >>> from te_sched.script import tir as T
        >>> @T.prim_func
        ... def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        ...     B = T.alloc_buffer((8,), "float32")
        ...     for i in range(8):
        ...         with T.block("B"):
        ...             vi = T.axis.spatial(8, i)
        ...             B[vi] = A[vi] * 2.0
        ...     for i in range(8):
        ...         with T.block("C"):
        ...             vi = T.axis.spatial(8, i)
        ...             C[vi] = B[vi] + 1.0
        >>> sch = tir.Schedule(main)
        >>> sch.compute_inline("B")
        >>> print(sch.mod.script().splitlines()[-1].strip())
        C[vi] = A[vi] * T.float32(2) + T.float32(1)
        """
        key = self.block_key(block, "compute_inline")
        store = _store(self, key, "inline")
        realize, scope = self.realize(key), self.scope(key)
        why = why_not_complete(self, key)
        if why:
            raise _refused(key, "inline", why, "")
        assert scope is not None
        buffer = store.buffer
        _check_allocated(self, key, scope, buffer)
        values = _values_of_indices(key, realize.block, store)
        links: dict[Block, Block] = {}
        rest = _removed(self, key, scope, buffer, links)
        inliner = _Inline(buffer, values, store)
        inliner.check(rest, key)
        _check_pipeline(self, key, "inline")
        new = with_block(rest, links, **mapped_parts(rest.block, inliner))
        self.draft.replace(scope, new, links | inliner.continued, f"block {key.name} was inlined")

    @instruction("Inline {block} into the block whose result it reads")
    def reverse_compute_inline(self, block: BlockRV | str) -> None:
        """Compute a block where its only producer stores what it reads, and remove the block.

        >>> from te_sched.script import tir as T
        >>> @T.prim_func
        ... def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        ...     B = T.alloc_buffer((8,), "float32")
        ...     for i in range(8):
        ...         with T.block("B"):
        ...             vi = T.axis.spatial(8, i)
        ...             B[vi] = A[vi] * 2.0
        ...     for i in range(8):
        ...         with T.block("C"):
        ...             vi = T.axis.spatial(8, i)
        ...             C[vi] = B[vi] + 1.0
        >>> sch = tir.Schedule(main)
        >>> sch.reverse_compute_inline("C")
        >>> print(sch.mod.script().splitlines()[-1].strip())
        C[vi] = A[vi] * T.float32(2) + T.float32(1)
        """
        key = self.block_key(block, "reverse_compute_inline")
        action = "inline into its producer"
        store = _store(self, key, action)
        realize, scope = self.realize(key), self.scope(key)
        why = why_not_complete(self, key)
        if why:
            raise _refused(key, action, why, "")
        if not is_const(realize.predicate, 1):
            raise _refused(key, action, f"it runs only where {realize.predicate}", "")
        assert scope is not None
        makers = producers(self, key)
        if len(makers) != 1:
            names = ", ".join([maker.name for maker in makers]) or "none"
            raise _refused(key, action, f"it must have one producer, and has {names}", "")
        (maker,) = makers
        _check_producer(self, maker, key, action)
        written = self.block(maker).body
        assert type(written) is BufferStore
        buffer = written.buffer
        _check_allocated(self, key, scope, buffer)
        others = [consumer.name for consumer in consumers(self, maker) if consumer is not key]
        if others:
            raise _refused(
                key,
                action,
                f"{', '.join(others)} reads {buffer.name}, too",
                "compute_inline inlines a producer",
            )
        loads = [
            load for load in walk(store.value) if type(load) is BufferLoad and load.buffer is buffer
        ]
        for load in loads:
            _check_element(key, action, load)
        if not loads or any(not all_same(load.indices, loads[0].indices) for load in loads):
            raise _refused(key, action, f"it does not read one element of {buffer.name}", "")
        ranges = {axis.var: _dom(axis) for axis in realize.block.iter_vars}
        inverse = _inverse(key, loads[0], ranges, written.indices)
        _check_covered(self, key, maker, loads[0], written.indices)
        predicate = _reached(self, maker, inverse, ranges, loads[0], written.indices)
        _check_pipeline(self, key, action)
        value = _Read(buffer, written.value).visit(substitute(store.value, inverse))
        indices = tuple([substitute(index, inverse) for index in store.indices])
        old = self.block(maker)
        fused = with_regions(replace(old, body=BufferStore(store.buffer, value, indices)))
        new = replace(self.realize(maker), predicate=predicate, block=fused)
        draft = self.draft
        draft.replace(maker, new, {fused: old})
        links: dict[Block, Block] = {}
        rest = _removed(draft, key, scope, buffer, links)
        draft.replace(scope, rest, links, f"block {key.name} was inlined")


def _refused(key: BlockKey, action: str, why: str, help: str) -> ScheduleError:
    verb, _, rest = action.partition(" ")
    text = f"cannot {verb} block {key.name}" + (f" {rest}" if rest else "")
    return ScheduleError(text, why, help or _INSTEAD[bool(rest)], of_block(key.name))


# What else moves a block near its consumers, or its producer.
_INSTEAD = (
    "compute_at computes it in a loop of its consumers",
    "reverse_compute_at computes it in a loop of its producer",
)


def _check_pipeline(schedule: ScheduleBase, key: BlockKey, action: str) -> None:
    why = why_not_pipeline(schedule, key)
    if why:
        raise _refused(key, action, why, PIPELINE_HELP)


def _store(schedule: ScheduleBase, key: BlockKey, action: str) -> BufferStore:
    """The only statement of a block."""
    check_not_root(schedule, key, action)
    block = schedule.block(key)
    if block.init is not None:
        near = "producer (reverse_compute_at)" if "into" in action else "consumer (compute_at)"
        help = f"move it into the loops of its {near}"
        raise _refused(key, action, "it is a reduction: it has T.init", help)
    if type(block.body) is not BufferStore or block.body.predicate is not None:
        raise _refused(key, action, "it is not one store to an element", "")
    if block.match_buffers or block.alloc_buffers:
        raise _refused(key, action, "it allocates or matches buffers", "")
    return block.body


def _check_element(key: BlockKey, action: str, load: BufferLoad) -> None:
    if load.predicate is not None or load.dtype != load.buffer.dtype:
        raise _refused(
            key,
            action,
            f"a vector of elements of {load.buffer.name} is read at once",
            "inline before loops are vectorized",
        )


def _check_allocated(
    schedule: ScheduleBase, key: BlockKey, scope: BlockKey, buffer: Buffer
) -> None:
    if buffer not in schedule.block(scope).alloc_buffers:
        raise _refused(
            key,
            "inline",
            f"{buffer.name} is needed outside: it is not allocated in block {scope.name}, so this "
            "is an output block",
            "inline blocks of intermediate buffers",
        )


class _Inverse(NamedTuple):
    """The iterators of a block, as expressions of new variables for the indices of its store."""

    indices: tuple[Var, ...]
    values: dict[Var, Expr]


def _values_of_indices(key: BlockKey, block: Block, store: BufferStore) -> _Inverse:
    """The iterators of a block by the indices of its store. An iterator of one value is the index
    at its place, if that is 0 of a dimension of one element.
    """
    indices = tuple([Var(f"i{number}", index.dtype) for number, index in enumerate(store.indices)])
    axes = {axis.var: axis for axis in block.iter_vars}
    used = variables_of(*store.indices)
    values: dict[Var, Expr] = {}
    is_plain = True
    for position, (index, index_var) in enumerate(zip(store.indices, indices, strict=True)):
        if type(index) is Var and index in axes and index not in values:
            values[index] = index_var
        elif is_const(index, 0) and _is_unit_at(block, store, position, used):
            values[block.iter_vars[position].var] = index_var
        elif not (is_const(index, 0) and is_const(store.buffer.shape[position], 1)):
            is_plain = False
    if not is_plain:
        values = _inverted(key, block, store, indices)
    for var in variables_of(store.value) & axes.keys():
        if var not in values:
            dom = _dom(axes[var])
            if not is_const(dom.extent, 1):
                raise _refused(key, "inline", f"its iterator {var.name} is not an index", "")
            values[var] = dom.min
    return _Inverse(indices, values)


def _inverted(
    key: BlockKey, block: Block, store: BufferStore, indices: Sequence[Var]
) -> dict[Var, Expr]:
    """The iterators of a block whose store is to an affine map of them."""
    domains = {axis.var: _dom(axis) for axis in block.iter_vars}
    iter_map = detect_iter_map(store.indices, domains, None, IterMapLevel.BIJECTIVE)
    if iter_map.errors:
        raise _refused(
            key,
            "inline",
            f"the indices of {store.buffer.name}[{', '.join(map(str, store.indices))}] are not "
            "different iterators, or one-to-one sums of them",
            "",
        )
    return inverse_affine_iter_map(iter_map.indices, indices)


def _is_unit_at(block: Block, store: BufferStore, position: int, used: set[Var]) -> bool:
    """Whether the iterator and the dimension at a place have one value."""
    if position >= len(block.iter_vars) or not is_const(store.buffer.shape[position], 1):
        return False
    axis = block.iter_vars[position]
    return axis.var not in used and is_const(_dom(axis).extent, 1) and is_const(_dom(axis).min, 0)


def _dom(axis: Any) -> Range:
    assert axis.dom is not None
    return axis.dom  # type: ignore[no-any-return]


def _removed(
    schedule: BlockIndex,
    key: BlockKey,
    scope: BlockKey,
    buffer: Buffer,
    links: dict[Block, Block],
) -> BlockRealize:
    """The scope without a block and a buffer that is not used anymore."""
    rest = without(schedule, key, scope, links)
    if rest is None:
        raise _refused(key, "inline", f"it is the only block of {scope.name}", "")
    kept = [alloc_buffer for alloc_buffer in rest.block.alloc_buffers if alloc_buffer is not buffer]
    return with_block(rest, links, alloc_buffers=tuple(kept))


class _Inline(BufferMapper):
    """Replaces loads of a buffer by the value that was stored."""

    def __init__(self, buffer: Buffer, inverse: _Inverse, store: BufferStore) -> None:
        super().__init__()
        self.buffer, self.inverse, self.store = buffer, inverse, store
        self.own: set[Buffer | Var] = {buffer, buffer.data}
        self.sought = self.own

    def check(self, scope: BlockRealize, key: BlockKey) -> None:
        """Refuse accesses by pointers and views."""
        for node in self._concerned(scope.block.body):
            is_view = type(node) is Block and any(
                match.source.buffer is self.buffer for match in node.match_buffers
            )
            if is_view or node is self.buffer.data:
                raise _refused(
                    key, "inline", f"{self.buffer.name} is accessed by a pointer or a view", ""
                )
            if type(node) is BufferLoad and node.buffer is self.buffer:
                _check_element(key, "inline", node)

    def _concerned(self, body: Stmt) -> Iterator[Any]:
        """The nodes of the loops and blocks that mention the buffer, and those around them."""
        stack: list[Any] = [body]
        while stack:
            node = stack.pop()
            if type(node) is not For and type(node) is not BlockRealize:
                yield node
                stack += children(node)
            elif not mentioned(node).isdisjoint(self.own):
                yield from walk(node)

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        new = self.generic(node)
        if new.buffer is not self.buffer:
            return new
        index_values = dict(zip(self.inverse.indices, new.indices, strict=True))
        values = {
            var: substitute(value, index_values) for var, value in self.inverse.values.items()
        }
        return substitute(self.store.value, values)

    def visit_Block(self, node: Block) -> Any:
        new = self.generic(node)
        if any(region.buffer is self.buffer for region in node.reads):
            new = with_regions(new)
        return self.note(new, node)


class _Read(BlockMapper):
    """Replaces loads of a buffer by a value."""

    def __init__(self, buffer: Buffer, value: Expr) -> None:
        super().__init__()
        self.buffer, self.value = buffer, value

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        return self.value if node.buffer is self.buffer else self.generic(node)


def _check_producer(schedule: ScheduleBase, maker: BlockKey, key: BlockKey, action: str) -> None:
    block = schedule.block(maker)
    why = why_not_complete(schedule, maker)
    if why and why_not_reduction(schedule, maker):
        raise _refused(key, action, f"its producer {maker.name} is not complete: {why}", "")
    is_reduction = bool(why) or block.init is not None
    if is_reduction or type(block.body) is not BufferStore or block.body.predicate is not None:
        raise _refused(
            key,
            action,
            f"its producer {maker.name} "
            + ("is a reduction" if is_reduction else "is not one store to an element"),
            "reverse_compute_at computes it near its producer",
        )


def _inverse(
    key: BlockKey,
    load: BufferLoad,
    ranges: Mapping[Var, Range],
    indices: Sequence[Expr],
) -> dict[Var, Expr]:
    """The iterators of a consumer in terms of the indices of its producer's store."""
    used = variables_of(*load.indices)
    domains = {var: bound for var, bound in ranges.items() if var in used}
    units = {var: bound.min for var, bound in ranges.items() if var not in used}
    iter_map = detect_iter_map(load.indices, domains, None, IterMapLevel.NO_CHECK, keeps_units=True)
    why = next(
        (
            f"its iterator {var.name} is not determined by {load}"
            for var in units
            if not is_const(ranges[var].extent, 1)
        ),
        "",
    )
    if iter_map.errors:
        why = f"{load} is not an affine map of its iterators"
    elif not why and not _is_injective(load, iter_map.indices, domains):
        why = f"its iterators are not determined by {load}"
    if why:
        raise _refused(key, "inline into its producer", why, "")
    return units | inverse_affine_iter_map(iter_map.indices, indices)


def _is_injective(
    load: BufferLoad, sums: Sequence[IterSumExpr], domains: Mapping[Var, Range]
) -> bool:
    """Whether the indices of a load, which are these sums, determine the iterators."""
    analyzer = Analyzer()
    for var, bound in domains.items():
        analyzer.bind(var, bound)
    values = inverse_affine_iter_map(sums, load.indices)
    if all(var in values and analyzer.can_prove_equal(values[var], var) for var in domains):
        return True
    bijective = IterMapLevel.BIJECTIVE
    return not detect_iter_map(load.indices, domains, None, bijective, keeps_units=True).errors


def _check_covered(
    schedule: ScheduleBase,
    key: BlockKey,
    maker: BlockKey,
    load: BufferLoad,
    indices: Sequence[Expr],
) -> None:
    """Refuse a consumer that reads elements which its producer does not store."""
    analyzer = Analyzer()
    for axis in schedule.block(key).iter_vars:
        analyzer.bind(axis.var, _dom(axis))
    ranges = {axis.var: _dom(axis) for axis in schedule.block(maker).iter_vars}
    for read, index in zip(load.indices, indices, strict=True):
        bound = ranges.get(index) if type(index) is Var else None
        if bound is not None and not (
            analyzer.can_prove(read >= bound.min)
            and _is_below(analyzer, read, bound.min + bound.extent, schedule.block(key).iter_vars)
        ):
            raise _refused(
                key,
                "inline into its producer",
                f"it reads {load}, of which block {maker.name} does not store all elements",
                "compute_inline inlines the producer",
            )


def _is_below(analyzer: Analyzer, index: Expr, limit: Expr, axes: Sequence[IterVar]) -> bool:
    """Whether an index is less than a limit, which may be a size rounded up to a multiple."""
    if analyzer.can_prove(index < limit):
        return True
    size = next((_dom(axis).extent for axis in axes if axis.var is index), None)
    return size is not None and analyzer.can_prove(size <= _Remainders().visit(limit))


class _Remainders(BlockMapper):
    """Writes multiples as what is left of a number: n // c * c as n - n % c."""

    def visit_Mul(self, node: Mul) -> Expr:
        new = self.generic(node)
        part = new.a
        if type(part) is FloorDiv and same(part.b, new.b):
            return part.a - ops.floormod(part.a, part.b)
        return new


def _reached(
    schedule: ScheduleBase,
    maker: BlockKey,
    inverse: dict[Var, Expr],
    ranges: Mapping[Var, Range],
    load: BufferLoad,
    indices: Sequence[Expr],
) -> Expr:
    """The condition under which a store of the producer is read, in terms of the loops: values of
    the consumer's iterators are in their ranges, and with them it reads this element.
    """
    realize = schedule.realize(maker)
    bindings = {
        axis.var: value
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
    }
    analyzer, written = Analyzer(), Analyzer()  # in the text, loops of one iteration stay
    for loop_var in schedule.loops_above(maker):
        loop = schedule.loop(loop_var)
        analyzer.bind(loop_var, range_of(loop))
        if not is_const(loop.extent, 1):
            written.bind(loop_var, range_of(loop))
    for axis in realize.block.iter_vars:
        for each in (analyzer, written):
            each.bind(axis.var, _dom(axis))
    conditions: list[Expr] = []
    for var, bound in ranges.items():
        value = inverse[var]
        conditions += [value >= bound.min, value < bound.min + bound.extent]
    for read, index in zip(load.indices, indices, strict=True):
        conditions.append(ops.equal(substitute(read, inverse), index))

    def added(assumption: Expr) -> Expr:
        """The conditions that do not follow from a given one."""
        predicate: Expr = ops.const(True)
        with analyzer.constraint(assumption), written.constraint(assumption):
            for needed in conditions:
                if not analyzer.can_prove(needed):
                    here = written.simplify(substitute(needed, bindings))
                    if not analyzer.can_prove(here):
                        predicate = ops.logical_and(predicate, here)
        return predicate

    own, new = realize.predicate, added(ops.const(True))
    with analyzer.constraint(new):
        if analyzer.can_prove(own):
            return new
    return ops.logical_and(own, added(own))
