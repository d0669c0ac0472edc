"""Primitives that change the order of elements and of instances: transform_layout,
transform_block_layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from inspect import signature
from math import prod
from typing import TYPE_CHECKING, Any

from te_sched.arith import index_map as maps
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.index_functions import map_of
from te_sched.errors import DeclarationError, ScheduleError, counted, kind_of
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Buffer, BufferRegion, Expr, IntImm, IterVar, Range, Var
from te_sched.ir.index_map import IndexMap
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import BufferStore, For, PrimFunc, SeqStmt, Stmt
from te_sched.ir.visitor import replace, substitute, variables_of, walk
from te_sched.tensorir.accesses import BUFFER, place_from
from te_sched.tensorir.base import ScheduleBase, integer, listed, of_block, of_loop
from te_sched.tensorir.dependences import outermost_blocks
from te_sched.tensorir.facts.axes import SPATIAL
from te_sched.tensorir.handles import (
    FLAG,
    INDEX_MAP_TEXT,
    MAYBE_INDEX_MAP,
    NUMBERS,
    BlockRV,
    index_types,
    instruction,
    widest,
)
from te_sched.tensorir.layout_padding import (
    LayoutPadding,
    assumption_block,
    check_value,
    has_stores,
    padded_nest,
    padding_block,
)
from te_sched.tensorir.primitives.finding import check_not_root
from te_sched.tensorir.regions import with_regions
from te_sched.tensorir.rewriting import BlockMapper, IndexMapper, SimplifiedValues, Swap
from te_sched.tensorir.state import BlockKey, with_block


class LayoutInstructions(ScheduleBase):
    """The instructions of `LayoutPrimitives`."""

    __slots__ = ()

    @instruction(
        "Change the layout of a buffer of {block}",
        buffer=BUFFER,
        pad_value=MAYBE_INDEX_MAP,
        assume_injective_transform=FLAG,
    )
    def transform_layout(
        self,
        block: BlockRV | str,
        buffer: Any,
        index_map: Any,
        pad_value: Any = None,
        *,
        assume_injective_transform: bool = False,
    ) -> None:
        """Store a buffer in another order: the element at indices x is at the indices index_map(x).

        All blocks of the function access the new buffer. A buffer that is a parameter changes its
        shape for the callers of the function.

        Parameters
        ----------
        buffer : ("read", number) or ("write", number), the name of the buffer, or the buffer.
        index_map : a function of the indices that gives the new indices, or an IndexMap: a
            one-to-one map to the indices of the new buffer.
        pad_value : the value of elements of the new buffer to which no old one is mapped: a number
            of the buffer's type, or a function of the new indices. The function writes them, or
            assumes them of a buffer that it only reads. Without it, maps that add such elements are
            refused.
        assume_injective_transform : do not check that the map is one-to-one; what it adds is not
            written.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.transform_layout("C", ("write", 0), lambda i, j: [i // 4, j, i % 4])
        >>> sch.get(sch.get_block("D")).reads
        (C[vi // 4, vj, vi % 4],)
        >>> sch.transform_layout("D", "D", lambda i, j: [i, j // 3, j % 3], pad_value=0.0)
        >>> sch.get(sch.get_block("D")).writes
        (D[v_axis0, v_axis1, v_axis2],)
        """
        key = self.block_key(block, "transform_layout")
        old = place_from(self, key, buffer).buffer_in(self.block(key))
        mapping = checked_map(self, key, index_map, old.shape, f"dimensions of {old.name}")

        def refused(why: str, help: str) -> ScheduleError:
            fault = f"cannot transform the layout of {old.name} of block {key.name}"
            return ScheduleError(fault, why, help, of_block(key.name))

        name = self.function_of(key)
        func = self.functions[name]
        if _is_identity(mapping):
            return
        _check_plain(func, old, refused)
        try:
            new = replace(old, shape=maps.map_shape(mapping, old.shape))
            if assume_injective_transform:
                padding = None
                _check_room(old, new, refused)
            else:
                padding = _padding_of(mapping, old, new, pad_value, refused)
        except DeclarationError as error:
            raise refused(
                f"{error.fault}{f': {error.why}' if error.why else ''}",
                "give a map that is one-to-one, for example lambda i: [i // 4, i % 4]",
            ) from None
        if new.axis_separators and new.axis_separators[-1] > len(new.shape):
            raise refused(
                f"its axis separators are {list(new.axis_separators)}, but it would have "
                f"{counted(len(new.shape), 'dimension')}",
                "set others with set_axis_separator first",
            )
        mapper = _Moved(old, new, mapping, padding)
        body = mapper.visit(func.body)
        if padding is not None and not mapper.is_padded:
            body = _with_padding(padding, mapper.has_stores, body, mapper.continued)
        if old in func.buffer_map.values():
            buffers = {p: new if buffer is old else buffer for p, buffer in func.buffer_map.items()}
            self.draft.functions[name] = replace(func, buffer_map=buffers)
        self.draft.set_body(name, body, mapper.continued, f"the layout of {old.name} was changed")

    @instruction("Separate the axes of a buffer of {block}", buffer=BUFFER, axis_separators=NUMBERS)
    def set_axis_separator(
        self, block: BlockRV | str, buffer: Any, axis_separators: Sequence[int]
    ) -> None:
        """Divide the dimensions of a buffer into groups, each of which has one index into memory.

        Parameters
        ----------
        buffer : ("read", number) or ("write", number), the name of the buffer, or the buffer.
        axis_separators : the positions before which a group begins, in ascending order. A group
            without dimensions has extent 1.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.set_axis_separator("C", ("write", 0), [1])
        >>> sch.get(sch.get_block("C")).writes[0].buffer.axis_separators
        (1,)
        """
        key = self.block_key(block, "set_axis_separator")
        old = place_from(self, key, buffer).buffer_in(self.block(key))
        positions = [
            integer(separator, "an axis separator")
            for separator in listed(axis_separators, "axis_separators")
        ]
        rank = len(old.shape)
        if positions != sorted(positions) or not all(
            0 <= position <= rank for position in positions
        ):
            raise ScheduleError(
                f"the axis separators of {old.name} are {positions}",
                f"it has {counted(rank, 'dimension')}",
                f"give positions from 0 to {rank}, in ascending order",
                of_block(key.name),
            )
        name = self.function_of(key)
        func = self.functions[name]
        new = replace(old, axis_separators=tuple(positions))
        mapper = _Separated({old: new})
        body = mapper.visit(func.body)
        if old in func.buffer_map.values():
            buffers = {p: new if buffer is old else buffer for p, buffer in func.buffer_map.items()}
            self.draft.functions[name] = replace(func, buffer_map=buffers)
        self.draft.set_body(name, body, mapper.continued)

    @instruction("Change the iterators and loops of {block}", index_map=INDEX_MAP_TEXT)
    def transform_block_layout(self, block: BlockRV | str, index_map: Any) -> None:
        """Compute the instances of a block in another order: new loops and iterators replace those
        of the block, the instance with iterators x is the one with the iterators index_map(x).

        Parameters
        ----------
        index_map : a function of the iterators, or an IndexMap, one-to-one and onto. A new iterator
            is made of spatial iterators or of reduction iterators alone.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.transform_block_layout("D", lambda i, j: [i * 8 + j])
        >>> [(loop.name, sch.get(loop).extent) for loop in sch.get_loops("D")]
        [('ax0', 64)]
        """
        key = self.block_key(block, "transform_block_layout")
        check_not_root(self, key, "apply transform_block_layout to")
        realize = self.realize(key)
        own = realize.block

        def refused(why: str, help: str) -> ScheduleError:
            fault = f"cannot transform the order of block {key.name}"
            return ScheduleError(fault, why, help, of_block(key.name))

        loops = _own_loops(self, key, refused)
        shape = tuple([self.loop(loop).extent for loop in loops])
        mapping = checked_map(self, key, index_map, shape, f"iterators of {key.name}")
        try:
            extents = maps.map_shape(mapping, shape)
            back = maps.inverse(mapping, _domains(shape))
        except DeclarationError as error:
            raise refused(
                f"{error.fault}{f': {error.why}' if error.why else ''}",
                "give a map that is one-to-one and onto, for example lambda i, j: [i * 8 + j]",
            ) from None
        kinds = {
            var: axis.kind
            for var, axis, extent in zip(mapping.initial_indices, own.iter_vars, shape, strict=True)
            if not is_const(extent, 1)  # an iterator of one value reduces nothing
        }
        axes: list[IterVar] = []
        for number, (index, extent) in enumerate(zip(mapping.final_indices, extents, strict=True)):
            index_kinds = {kinds[var] for var in variables_of(index) if var in kinds} or {SPATIAL}
            if len(index_kinds) > 1:
                raise refused(
                    f"new iterator {index} is made of iterators of several kinds",
                    "make each new iterator of spatial or of reduction iterators",
                )
            dtype = extent.dtype
            domain = Range(IntImm(0, dtype), extent)
            axes.append(IterVar(domain, Var(f"v{number}", dtype), index_kinds.pop()))
        old_indices = maps.map_indices(back, [axis.var for axis in axes])
        values = {a.var: old_index for a, old_index in zip(own.iter_vars, old_indices, strict=True)}
        mapper = SimplifiedValues(values, {a.var: a.dom for a in axes if a.dom is not None})
        new_block = replace(mapper.visit_parts(own), iter_vars=tuple(axes))
        mapper.continued[new_block] = own
        variables = [Var(f"ax{position}", axis.dtype) for position, axis in enumerate(axes)]
        body: Stmt = BlockRealize(tuple(variables), ops.const(True), new_block)
        for var, extent in reversed(list(zip(variables, extents, strict=True))):
            body = For(var, IntImm(0, var.dtype), extent, "serial", body)
        top = loops[0] if loops else key
        self.draft.replace(top, body, mapper.continued)


class LayoutPrimitives(LayoutInstructions):
    """Primitives that change the order of elements and of instances."""

    __slots__ = ()

    @wraps(LayoutInstructions.transform_layout)
    def transform_layout(self, *args: Any, **named: Any) -> None:  # type: ignore[override]
        bound = signature(LayoutInstructions.transform_layout).bind(self, *args, **named)
        index_map = bound.arguments["index_map"]
        separators: list[int] = []
        if callable(index_map):
            block = bound.arguments["block"]
            handle = self.get_block(block) if isinstance(block, str) else block
            key = self.block_key(handle, "transform_layout")
            buffer_place = place_from(self, key, bound.arguments["buffer"])
            types = index_types(buffer_place.buffer_in(self.block(key)))
            bound.arguments |= {"block": handle, "buffer": buffer_place}
            new_map, separators = map_of(index_map, len(types), dtype=widest(types))
            bound.arguments["index_map"] = new_map
            if len({*separators}) != len(separators):
                raise ScheduleError(
                    "index_map has AXIS_SEPARATOR twice at one place",
                    "a group of dimensions would be empty",
                    "leave one out",
                    of_block(key.name),
                )
        super().transform_layout(*bound.args[1:], **bound.kwargs)
        if separators:
            self.set_axis_separator(bound.arguments["block"], bound.arguments["buffer"], separators)

    if TYPE_CHECKING:

        def get_block(self, name: str) -> BlockRV: ...


def checked_map(
    schedule: ScheduleBase, key: BlockKey, index_map: Any, shape: tuple[Expr, ...], what: str
) -> IndexMap:
    """The index map that the user gave, of indices of the types of a shape; sampled integers have
    their values.
    """
    if not isinstance(index_map, IndexMap):
        raise ScheduleError(
            f"index_map is {kind_of(index_map)}, expected a function or an IndexMap",
            "",
            "give a function of the indices: lambda i, j: [j, i]",
            of_block(key.name),
        )
    count = len(shape)
    if len(index_map.initial_indices) != count:
        raise ScheduleError(
            f"the index map takes {len(index_map.initial_indices)} indices, expected {count}",
            f"it is for the {what}",
            "take one argument for each",
            of_block(key.name),
        )
    sampled = variables_of(index_map) & schedule.values.keys()
    values: dict[Var, Expr] = {var: IntImm(schedule.values[var], var.dtype) for var in sampled}
    mapping = substitute(index_map, values)
    func = schedule.functions[schedule.function_of(key)]
    sizes = variables_of(*func.params, *[s for b in func.buffer_map.values() for s in b.shape])
    for var in variables_of(*mapping.final_indices) - {*mapping.initial_indices} - sizes:
        raise ScheduleError(
            f"the index map uses {var.name}",
            "it is neither an index, nor a size of the function, nor a sampled integer",
            "use what a sample_ primitive of this schedule returned, or a number",
            of_block(key.name),
        )
    return maps.with_types_of(mapping, shape)


def _is_identity(mapping: IndexMap) -> bool:
    pairs = zip(mapping.initial_indices, mapping.final_indices, strict=False)
    is_same = len(mapping.initial_indices) == len(mapping.final_indices)
    return is_same and all([a is b for a, b in pairs])


def _padding_of(
    mapping: IndexMap, old: Buffer, new: Buffer, value: Any, refused: Any
) -> LayoutPadding | None:
    """The padding that a map adds to a buffer; None if it adds none."""
    inverse, condition = maps.non_surjective_inverse(mapping, _domains(old.shape))
    if ops.is_const(condition, 0):
        return None
    if value is None:
        raise refused(
            f"the new shape {list(new.shape)} has elements to which none of {list(old.shape)} is "
            f"mapped: those with {condition}",
            "give pad_value, their value; or a map onto, whose divisors divide the extents",
        )
    assert isinstance(value, IndexMap)  # what the primitive makes of numbers and functions
    why = check_value(value, old, new.shape)
    if why:
        raise refused(why, f"give a value of type {old.dtype}, or a function of the new indices")
    return LayoutPadding(old, new, inverse, condition, value)


def _with_padding(
    padding: LayoutPadding, is_written: bool, body: Stmt, links: dict[Block, Block]
) -> Stmt:
    """A body with a block that writes the padding after all others that write the buffer; or one
    that assumes it, before all others.
    """
    new_part = padding_block(padding) if is_written else assumption_block(padding)
    owner = _owner(body, padding.new)
    parts = owner.block.body.seq if type(owner.block.body) is SeqStmt else (owner.block.body,)
    position = len(parts) if is_written else 0
    while position and not has_stores(parts[position - 1], padding.new):
        position -= 1
    parts = (*parts[:position], new_part, *parts[position:])
    new = with_block(owner, links, body=SeqStmt(parts))
    links[new.block] = links.get(owner.block, owner.block)
    return new if owner is body else _Exchanged(owner, new, links).visit(body)


def _owner(body: Stmt, buffer: Buffer) -> BlockRealize:
    """The block that allocates a buffer, or the root block."""
    blocks = (realize for realize in walk(body) if type(realize) is BlockRealize)
    root = next(blocks)
    if buffer in root.block.alloc_buffers:
        return root
    return next((realize for realize in blocks if buffer in realize.block.alloc_buffers), root)


class _Exchanged(BlockMapper):
    """Replaces a block, and notes the old ones of blocks around it."""

    def __init__(self, old: BlockRealize, new: BlockRealize, links: dict[Block, Block]) -> None:
        super().__init__()
        self.old, self.new, self.continued = old, new, links

    def visit_BlockRealize(self, node: BlockRealize) -> BlockRealize:
        return self.new if node is self.old else self.generic(node)

    def note(self, new: Block, old: Block) -> Block:
        if new is not old:
            self.continued[new] = self.continued.get(old, old)
        return new


def _check_room(old: Buffer, new: Buffer, refused: Any) -> None:
    """Refuse a map to fewer elements than a buffer has, which is not one-to-one."""
    sizes = [size.value for size in (*old.shape, *new.shape) if isinstance(size, IntImm)]
    if len(sizes) == len(old.shape) + len(new.shape):
        count, room = prod(sizes[: len(old.shape)]), prod(sizes[len(old.shape) :])
        if room < count:
            raise refused(
                f"the map takes its {count} elements to {room}",
                "give a map that is one-to-one, for example lambda i: [i // 4, i % 4]",
            )


def _domains(shape: tuple[Expr, ...]) -> tuple[Range, ...]:
    return tuple([Range(IntImm(0, size.dtype), size) for size in shape])


def _check_plain(func: PrimFunc, buffer: Buffer, refused: Any) -> None:
    """Refuse a buffer whose memory is also accessed otherwise."""
    if buffer.strides or not ops.is_const(buffer.elem_offset, 0):
        raise refused("it has strides or an offset", "transform a compact buffer")
    others = [
        param_buffer for param_buffer in func.buffer_map.values() if param_buffer is not buffer
    ]
    if any(param_buffer.data is buffer.data for param_buffer in others):
        raise refused("another parameter is a view of it", "use cache_read or cache_write")
    for node in walk(func.body):
        if node is buffer.data:
            raise refused("its address is used", "use cache_read or cache_write")
        if type(node) is Block:
            for match in node.match_buffers:
                if match.source.buffer is buffer:
                    raise refused(
                        f"{match.buffer.name} in block {node.name_hint} is a view of it",
                        "transform the layout before blockize and tensorize",
                    )


def _own_loops(schedule: ScheduleBase, key: BlockKey, refused: Any) -> list[Var]:
    """The loops of a block, which are its iterators, in their order."""
    realize = schedule.realize(key)
    loops = schedule.loops_above(key)
    if len(loops) != len(realize.iter_values) or not all(
        a is b for a, b in zip(loops, realize.iter_values, strict=True)
    ):
        raise refused(
            "its iterators are not its loops, one for each, in their order",
            "apply it before the loops of the block are split, fused or reordered",
        )
    if not ops.is_const(realize.predicate, 1):
        raise refused(f"it has the condition {realize.predicate}", "remove the condition")
    for loop in loops:
        node = schedule.loop(loop)
        if len(outermost_blocks(node)) != 1:
            raise ScheduleError(
                f"cannot transform the order of block {key.name}",
                f"loop {loop.name} has other blocks in it, too",
                "compute them elsewhere",
                [of_block(key.name), of_loop(loop.name)],
            )
        if not ops.is_const(node.min, 0):
            raise refused(
                f"loop {loop.name} begins at {node.min}", "transform the order of loops from 0"
            )
    return loops


class _Separated(Swap):
    """Replaces a buffer by one with other axis separators, and views of it by views with those of
    their dimensions, which are the last ones of the buffer.
    """

    def visit_Block(self, node: Block) -> Any:
        for match in node.match_buffers:
            target = self.buffers.get(match.source.buffer)
            if target is not None:
                dropped = len(target.shape) - len(match.buffer.shape)
                own = tuple([max(0, separator - dropped) for separator in target.axis_separators])
                self.replace_view(match.buffer, replace(match.buffer, axis_separators=own))
        return BlockMapper.visit_Block(self, node)


class _Moved(Swap, IndexMapper):
    """Replaces a buffer by one in another order. `is_padded` tells whether a nest that writes it
    also writes its padding, `has_stores` whether others write it.
    """

    def __init__(
        self, old: Buffer, new: Buffer, mapping: IndexMap, padding: LayoutPadding | None = None
    ) -> None:
        super().__init__({old: new})
        self.old, self.new, self.mapping, self.padding = old, new, mapping, padding
        self.is_padded = self.has_stores = False
        self.known: dict[Any, tuple[Expr, ...]] = {}  # new indices of old ones, with conditions

    def visit_For(self, node: For) -> Stmt:
        nest = None if self.padding is None else padded_nest(self.padding, node)
        if nest is not None:
            self.is_padded = True
            self.continued |= nest[1]
            return nest[0]
        self.ranges[node.loop_var] = Range(node.min, node.extent)
        return self.visit_nest(node)  # type: ignore[no-any-return]

    def visit_Block(self, node: Block) -> Any:
        for axis in node.iter_vars:
            if axis.dom is not None:
                self.ranges[axis.var] = axis.dom
        new = super().visit_Block(node)
        return new if new is node else self.note(self._with_found_regions(new), node)

    def _with_found_regions(self, block: Block) -> Block:
        """A block with the regions of the new buffer that its body accesses."""
        if not any(region.buffer is self.new for region in (*block.reads, *block.writes)):
            return block
        exact_block = with_regions(block)
        reads, writes = [
            tuple(
                [
                    next((a for a in exact if a.buffer is self.new), region)
                    if region.buffer is self.new
                    else region
                    for region in stated
                ]
            )
            for stated, exact in (
                (block.reads, exact_block.reads),
                (block.writes, exact_block.writes),
            )
        ]
        return replace(block, reads=reads, writes=writes)

    def _mapped(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        result = self.known.get((indices, self.conditions))
        if result is None:
            analyzer = Analyzer()
            new_indices = maps.substituted(self.mapping, indices)
            result = self.simplified_indices(
                tuple([analyzer.simplify(index) for index in new_indices])
            )
            self.known[indices, self.conditions] = result
        return result

    def visit_access(self, node: Any) -> Any:
        """Map a load or store."""
        new = self.generic(node)
        return (
            new if node.buffer is not self.old else replace(new, indices=self._mapped(new.indices))
        )

    visit_BufferLoad = visit_access

    def visit_BufferStore(self, node: BufferStore) -> Any:
        self.has_stores |= node.buffer is self.old
        return self.visit_access(node)

    def visit_BufferRegion(self, node: BufferRegion) -> BufferRegion:
        if node.buffer is not self.old:
            return self.generic(node)
        if all(ops.is_const(bound.extent, 1) for bound in node.region):
            low = self._mapped(tuple([bound.min for bound in node.region]))
            ranges = [Range(index, IntImm(1, index.dtype)) for index in low]
        else:
            ranges = list(maps.map_ranges(self.mapping, node.region))
        return BufferRegion(self.new, tuple(ranges))
