"""The postprocessor that stores weights in the order in which a block reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from te_sched.arith.index_map import with_types_of
from te_sched.arith.iter_expr import IterMark, IterSplitExpr, IterSumExpr
from te_sched.arith.iter_map import detect_iter_map
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Buffer, BufferLoad, Expr, IntImm, Var
from te_sched.ir.index_map import IndexMap
from te_sched.ir.stmt import BufferStore
from te_sched.ir.visitor import substitute
from te_sched.meta_schedule.postproc.base import Postproc
from te_sched.signatures import is_sequence
from te_sched.tensorir.blocks import accessed_outside, loop_ranges
from te_sched.tensorir.facts.nests import blocks_inside
from te_sched.tensorir.handles import BlockRV
from te_sched.tensorir.relaxation import binding_of
from te_sched.tensorir.state import BlockKey
from te_sched.tir.schedule import Schedule

_FREE = "layout_free_buffers"
_PREPARES = "meta_schedule.layout_rewrite_preproc"


class RewriteLayout(Postproc):
    """Copies the parameters that the attribute "layout_free_buffers" of a function numbers to a
    layout in which their reader goes through memory in order. Layouts that would not hold each
    element once are left.

    >>> RewriteLayout().apply(tir.Schedule(matmul_relu))
    True
    """

    def apply(self, sch: Schedule) -> bool:
        """Change the layouts; False if a parameter is written, or accessed outside of blocks."""
        for name, func in list(sch.functions.items()):
            numbers = func.attrs.get(_FREE, ()) if func.attrs else ()
            for number in map(int, numbers if is_sequence(numbers) else ()):
                if not 0 <= number < len(func.params):
                    return False
                buffer = func.buffer_map.get(func.params[number])
                if buffer is None or not _rewrite(sch, name, buffer):
                    return False
        return True


class _ReadingBlock(NamedTuple):
    """The block that reads a buffer, or the last one of copies of it, which blocks make."""

    key: BlockKey
    place: int
    copies: list[BlockKey]


def _rewrite(sch: Schedule, function: str, buffer: Buffer) -> bool:
    """Change the layout of a parameter; False if that is impossible."""
    roots = sch.blocks_in(sch.functions[function].body)
    if len(roots) != 1 or buffer in accessed_outside(sch, roots[0]):
        return False
    keys = [*blocks_inside(sch, roots[0])]
    if any(region.buffer is buffer for key in keys for region in sch.block(key).writes):
        return False
    reader = _reader(sch, keys[1:], buffer)
    layout = None if reader is None else _layout(sch, reader)
    if reader is None or layout is None:
        return True
    if reader.copies:
        _found(sch, reader.copies[-1], function)
        block = _found(sch, reader.key, function)
        sch.transform_layout(block, ("read", reader.place), layout)  # type: ignore[arg-type]
    last = [*reader.copies[:0:-1], reader.copies[0] if reader.copies else reader.key]
    for key in last:
        block = _found(sch, key, function)
        index = 0 if reader.copies else reader.place
        if key is last[-1]:
            copy = sch.cache_read(block, index, "global")
            sch.annotate(copy, _PREPARES, True)
        sch.transform_layout(block, ("read", index), layout)  # type: ignore[arg-type]
    return True


def _found(sch: Schedule, key: BlockKey, function: str) -> BlockRV:
    return sch.get_block(sch.block(key).name_hint, func_name=function)


def _reader(sch: Schedule, keys: Sequence[BlockKey], buffer: Buffer) -> _ReadingBlock | None:
    """The last block that reads a buffer or a copy of it."""
    copies: list[BlockKey] = []
    reader: tuple[BlockKey, int] | None = None
    for key in keys:
        block = sch.block(key)
        places = [index for index, region in enumerate(block.reads) if region.buffer is buffer]
        if not places:
            continue
        copy = _copied_to(block)
        if copy is None:
            reader = key, places[0]
        else:
            copies.append(key)
            buffer = copy
    return None if reader is None else _ReadingBlock(*reader, copies)


def _copied_to(block: Block) -> Buffer | None:
    """The buffer to which a block copies elements to the same indices; None for other blocks."""
    body = block.body
    if type(body) is not BufferStore or type(body.value) is not BufferLoad or block.init:
        return None
    pairs = zip(body.indices, body.value.indices, strict=False)
    is_same = len(body.indices) == len(body.value.indices) and all(
        index is other and type(index) is Var for index, other in pairs
    )
    return body.buffer if is_same else None


class _Digit(NamedTuple):
    """A part of an index that one loop, or a part of it, takes through its values."""

    loop: int
    coarseness: int  # outer parts of a loop come first
    dimension: int
    extent: int
    scale: int

    def of(self, index: Expr, size: int) -> Expr:
        """The digit of an index."""
        rest = index % (self.scale * self.extent) if self.scale * self.extent < size else index
        return rest // self.scale if self.scale > 1 else rest


def _layout(sch: Schedule, reader: _ReadingBlock) -> IndexMap | None:
    """The map of the indices of a buffer to those of the loops that read it, in their order; None
    if loops do not read each element.
    """
    realize = sch.realize(reader.key)
    region = realize.block.reads[reader.place]
    shape, values = region.buffer.shape, binding_of(realize)
    ranges = loop_ranges(sch, sch.loops_above(reader.key))
    detected = detect_iter_map(
        [substitute(dim_range.min, dict(values)) for dim_range in region.region], ranges
    )
    if detected.errors:
        return None
    digits: list[_Digit] = []
    sizes: list[int] = []
    for dimension, (whole, size) in enumerate(zip(detected.indices, shape, strict=True)):
        if not isinstance(size, IntImm):
            return None
        index_digits = _digits(whole, dimension, [*ranges])
        if index_digits is None or not _are_all(index_digits, size.value):
            return None
        digits += index_digits
        sizes.append(size.value)
    indices = [Var(f"i{dim}", size.dtype) for dim, size in enumerate(shape)]
    final = [digit.of(indices[digit.dimension], sizes[digit.dimension]) for digit in sorted(digits)]
    if not final:
        return None
    return with_types_of(IndexMap(tuple(indices), tuple(final)), shape)


def _are_all(digits: Sequence[_Digit], size: int) -> bool:
    """Whether digits of an index take it through all values below a size."""
    scale = 1
    for loop_digit in sorted(digits, key=lambda digit: digit.scale):
        if loop_digit.scale != scale:
            return False
        scale *= loop_digit.extent
    return scale == size


def _digits(whole: IterSumExpr, dimension: int, loops: Sequence[Var]) -> list[_Digit] | None:
    """The digits of an index, as parts of loops; None if it is none of these."""
    if whole.base != 0:
        return None
    places = {loop: depth for depth, loop in enumerate(loops)}
    digits = []
    for split, scale in _parts(whole, 1):
        loop = split.source.source
        if type(loop) is not Var or not isinstance(split.extent, int):
            return None
        digits.append(_Digit(places[loop], -split.lower_factor, dimension, split.extent, scale))
    return digits


def _parts(whole: IterSumExpr, scale: int) -> Iterator[tuple[IterSplitExpr, Any]]:
    """The parts of loops in a sum, with their scales; what divides a sum is a part itself."""
    for split in whole.args:
        mark: IterMark = split.source
        is_undivided = split.lower_factor == 1 and split.extent == mark.extent
        if isinstance(mark.source, IterSumExpr) and mark.source.base == 0 and is_undivided:
            yield from _parts(mark.source, scale * split.scale)
        else:
            yield split, scale * split.scale
