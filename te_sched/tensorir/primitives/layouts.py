"""Primitives that change the order of elements and of instances: transform_layout,
transform_block_layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any

from te_sched.arith import index_map as maps
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.index_functions import map_of
from te_sched.errors import DeclarationError, ScheduleError, kind_of
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Buffer, BufferRegion, Expr, IntImm, IterVar, Range, Var
from te_sched.ir.index_map import IndexMap
from te_sched.ir.stmt import For, PrimFunc, Stmt
from te_sched.ir.visitor import replace, variables_of, walk
from te_sched.tensorir.accesses import BUFFER, place_from
from te_sched.tensorir.base import ScheduleBase, integer, listed, of_block, of_loop
from te_sched.tensorir.handles import (
    ATTRIBUTE,
    FLAG,
    INDEX_MAP,
    INDEX_MAP_TEXT,
    NUMBERS,
    BlockRV,
    instruction,
)
from te_sched.tensorir.primitives.finding import check_not_root
from te_sched.tensorir.rewriting import SimplifiedValues, Swap
from te_sched.tensorir.state import BlockKey, outermost_blocks


class LayoutInstructions(ScheduleBase):
    """The instructions of `LayoutPrimitives`."""

    __slots__ = ()

    @instruction(
        "Change the layout of a buffer of {block}",
        buffer=BUFFER,
        index_map=INDEX_MAP,
        pad_value=ATTRIBUTE,
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
            one-to-one map onto the elements of the new buffer.
        pad_value : accepted as in TVM; maps that need padding are refused.
        assume_injective_transform : do not check that the map is one-to-one.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.transform_layout("C", ("write", 0), lambda i, j: [i // 4, j, i % 4])
        >>> sch.get(sch.get_block("D")).reads
        (C[vi // 4, vj, vi % 4],)
        """
        key = self.block_key(block, "transform_layout")
        old = place_from(self, key, buffer).buffer_in(self.block(key))
        mapping = checked_map(key, index_map, old.shape, f"dimensions of {old.name}")

        def refused(why: str, help: str) -> ScheduleError:
            fault = f"cannot transform the layout of {old.name} of block {key.name}"
            return ScheduleError(fault, why, help, of_block(key.name))

        name = self.function_of(key)
        func = self.functions[name]
        _check_plain(func, old, refused)
        try:
            shape = maps.map_shape(mapping, old.shape)
            if not assume_injective_transform:
                maps.inverse(mapping, _domains(old.shape))
        except DeclarationError as error:
            raise refused(
                f"{error.fault}{f': {error.why}' if error.why else ''}",
                "give a map that is one-to-one and onto, for example lambda i: [i // 4, i % 4] "
                "where 4 divides the extent",
            ) from None
        new = replace(old, shape=tuple(shape), axis_separators=())
        mapper = _Moved(old, new, mapping)
        body = mapper.visit(func.body)
        if old in func.buffer_map.values():
            buffers = {p: new if one is old else one for p, one in func.buffer_map.items()}
            self.draft.functions[name] = replace(func, buffer_map=buffers)
        self.draft.set_body(name, body, mapper.continued)

    @instruction("Separate the axes of a buffer of {block}", buffer=BUFFER, axis_separators=NUMBERS)
    def set_axis_separator(
        self, block: BlockRV | str, buffer: Any, axis_separators: Sequence[int]
    ) -> None:
        """Divide the dimensions of a buffer into groups, each of which has one index into memory.

        Parameters
        ----------
        buffer : ("read", number) or ("write", number), the name of the buffer, or the buffer.
        axis_separators : the positions before which a group begins, in ascending order.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.set_axis_separator("C", ("write", 0), [1])
        >>> sch.get(sch.get_block("C")).writes[0].buffer.axis_separators
        (1,)
        """
        key = self.block_key(block, "set_axis_separator")
        old = place_from(self, key, buffer).buffer_in(self.block(key))
        positions = [
            integer(one, "an axis separator") for one in listed(axis_separators, "axis_separators")
        ]
        if positions != sorted({*positions}) or not all(
            0 <= one <= len(old.shape) for one in positions
        ):
            raise ScheduleError(
                f"the axis separators of {old.name} are {positions}",
                f"it has {len(old.shape)} dimensions",
                f"give numbers from 0 to {len(old.shape)} in ascending order, each once",
                of_block(key.name),
            )
        name = self.function_of(key)
        func = self.functions[name]
        if any(
            match.source.buffer is old
            for node in walk(func.body)
            if type(node) is Block
            for match in node.match_buffers
        ):
            raise ScheduleError(
                f"cannot set the axis separators of {old.name}",
                "a view of it would have other dimensions",
                "set them before blockize and tensorize",
                of_block(key.name),
            )
        new = replace(old, axis_separators=tuple(positions))
        mapper = Swap({old: new})
        body = mapper.visit(func.body)
        if old in func.buffer_map.values():
            buffers = {p: new if one is old else one for p, one in func.buffer_map.items()}
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
        shape = tuple([self.loop(one).extent for one in loops])
        mapping = checked_map(key, index_map, shape, f"iterators of {key.name}")
        try:
            extents = maps.map_shape(mapping, shape)
            back = maps.inverse(mapping, _domains(shape))
        except DeclarationError as error:
            raise refused(
                f"{error.fault}{f': {error.why}' if error.why else ''}",
                "give a map that is one-to-one and onto, for example lambda i, j: [i * 8 + j]",
            ) from None
        kinds = dict(zip(mapping.initial_indices, [a.kind for a in own.iter_vars], strict=True))
        axes: list[IterVar] = []
        for place, (index, extent) in enumerate(zip(mapping.final_indices, extents, strict=True)):
            found = {kinds[var] for var in variables_of(index) if var in kinds} or {"DataPar"}
            if len(found) > 1:
                raise refused(
                    f"new iterator {index} is made of iterators of several kinds",
                    "make each new iterator of spatial or of reduction iterators",
                )
            dtype = extent.dtype
            domain = Range(IntImm(0, dtype), extent)
            axes.append(IterVar(domain, Var(f"v{place}", dtype), found.pop()))
        analyzer = Analyzer()
        for axis in axes:
            assert axis.dom is not None
            analyzer.bind(axis.var, axis.dom)
        given = maps.map_indices(back, [axis.var for axis in axes])
        values = {a.var: one for a, one in zip(own.iter_vars, given, strict=True)}
        mapper = SimplifiedValues(values, analyzer)
        made = replace(mapper.visit_parts(own), iter_vars=tuple(axes))
        mapper.continued[made] = own
        variables = [Var(f"ax{place}", axis.dtype) for place, axis in enumerate(axes)]
        body: Stmt = BlockRealize(tuple(variables), ops.const(True), made)
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
        given = bound.arguments["index_map"]
        separators: list[int] = []
        if callable(given):
            block = bound.arguments["block"]
            handle = self.get_block(block) if isinstance(block, str) else block
            key = self.block_key(handle, "transform_layout")
            place = place_from(self, key, bound.arguments["buffer"])
            count = len(place.buffer_in(self.block(key)).shape)
            bound.arguments |= {"block": handle, "buffer": place}
            bound.arguments["index_map"], separators = map_of(given, count)
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


def checked_map(key: BlockKey, given: Any, shape: tuple[Expr, ...], what: str) -> IndexMap:
    """The index map that the user gave, of indices of the types of a shape."""
    if not isinstance(given, IndexMap):
        raise ScheduleError(
            f"index_map is {kind_of(given)}, expected a function or an IndexMap",
            "",
            "give a function of the indices: lambda i, j: [j, i]",
            of_block(key.name),
        )
    count = len(shape)
    if len(given.initial_indices) != count:
        raise ScheduleError(
            f"the index map takes {len(given.initial_indices)} indices, expected {count}",
            f"it is for the {what}",
            "take one argument for each",
            of_block(key.name),
        )
    return maps.with_types_of(given, shape)


def _domains(shape: tuple[Expr, ...]) -> tuple[Range, ...]:
    return tuple([Range(IntImm(0, one.dtype), one) for one in shape])


def _check_plain(func: PrimFunc, buffer: Buffer, refused: Any) -> None:
    """Refuse a buffer whose memory is also accessed otherwise."""
    if buffer.strides or not ops.is_const(buffer.elem_offset, 0):
        raise refused("it has strides or an offset", "transform a compact buffer")
    others = [one for one in func.buffer_map.values() if one is not buffer]
    if any(one.data is buffer.data for one in others):
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
    if list(realize.iter_values) != loops and not (
        len(loops) == len(realize.iter_values)
        and all(a is b for a, b in zip(loops, realize.iter_values, strict=True))
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


class _Moved(Swap):
    """Replaces a buffer by one in another order."""

    def __init__(self, old: Buffer, new: Buffer, mapping: IndexMap) -> None:
        super().__init__({old: new})
        self.old, self.new, self.mapping = old, new, mapping
        self.analyzer = Analyzer()

    def visit_For(self, node: For) -> For:
        if not ops.is_const(node.extent, 1):  # unit loops stay in the indices
            self.analyzer.bind(node.loop_var, Range(node.min, node.extent))
        return self.generic(node)

    def visit_Block(self, node: Block) -> Any:
        for axis in node.iter_vars:
            if axis.dom is not None and not ops.is_const(axis.dom.extent, 1):
                self.analyzer.bind(axis.var, axis.dom)
        return super().visit_Block(node)

    def _mapped(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        found = maps.substituted(self.mapping, indices)
        return tuple([self.analyzer.simplify(one) for one in found])

    def visit_access(self, node: Any) -> Any:
        """Map a load or store."""
        new = self.generic(node)
        return (
            new if node.buffer is not self.old else replace(new, indices=self._mapped(new.indices))
        )

    visit_BufferLoad = visit_BufferStore = visit_access

    def visit_BufferRegion(self, node: BufferRegion) -> BufferRegion:
        if node.buffer is not self.old:
            return self.generic(node)
        if all(ops.is_const(one.extent, 1) for one in node.region):
            low = self._mapped(tuple([one.min for one in node.region]))
            ranges = [Range(one, IntImm(1, one.dtype)) for one in low]
        else:
            ranges = list(maps.map_ranges(self.mapping, node.region))
        return BufferRegion(self.new, tuple(ranges))
