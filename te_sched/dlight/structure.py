"""What rules share: blocks and loops of handles, functions without a schedule, inlining, tiles of
products. Facts about blocks are those of `te_sched.tensorir.facts`. Must not know targets or rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from te_sched.errors import ScheduleError
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Add, Buffer, BufferLoad, IntImm, IterVar, Mul, Var
from te_sched.ir.stmt import For
from te_sched.ir.visitor import variables_of, walk
from te_sched.tensorir.facts.axes import (
    SPATIAL,
    assumed_size,
    extent_of,
    largest_divisor,
    size_of,
)
from te_sched.tensorir.facts.computations import (
    factors_of,
    is_affine_copy,
    is_copy,
    is_injective,
    is_transposition,
    stored,
)
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tir.schedule import Schedule

SCHEDULED = "dlight.scheduled"  # marks loops and blocks that a rule has scheduled
_NEAR = 4  # elements, up to which the lanes of vectors may be apart
_ROWS = 8  # enough for a tile
_SHALLOW = 32  # products that are added for a result
_SHALLOW_OPEN = 256  # if calls give the number of neighbors, of which a tile is not always full
_FIT = 0.9  # the least part of columns in whole vectors for which they run along rows of results
_COLUMNS = 16  # of a vector, so that as few as possible of its lanes are unused


def blocks_of(sch: Schedule) -> list[BlockRV]:
    """The blocks directly in the function, in order."""
    return list(sch.get_child_blocks(sch.get_block("root")))


def loop_of(sch: Schedule, loop: LoopRV) -> For:
    """The loop itself."""
    node: Any = sch.get(loop)
    return node  # type: ignore[no-any-return]


def node_of(sch: Schedule, block: BlockRV) -> Block:
    """The block itself."""
    node: Any = sch.get(block)
    return node  # type: ignore[no-any-return]


def is_untouched(sch: Schedule, blocks: list[BlockRV]) -> bool:
    """Whether a function is as it was written: plain loops, one for each iterator of a block.

    Blocks of external operations do not say what they write, so that nothing can move past them.
    """
    for block in blocks:
        if not node_of(sch, block).writes:
            return False
        loops = [loop_of(sch, loop) for loop in sch.get_loops(block)]
        values = sch.realize(sch.block_key(block, "dlight")).iter_values
        used = [loop.loop_var for loop in loops]
        if any(loop.kind != "serial" or loop.annotations for loop in loops):
            return False
        if [value for value in values if isinstance(value, Var)] != used or sch.get_child_blocks(
            block
        ):
            return False
        if node_of(sch, block).annotations.keys() & _MARKS:
            return False
    return True


_MARKS = {"meta_schedule.tiling_structure", "script_parsing_detect_access", SCHEDULED}


def share_among_processors(
    sch: Schedule, loop: LoopRV, axes: Iterable[IterVar], least: int
) -> None:
    """Run a loop in parallel. If calls give extents of the iterators `axes` of its block, fewer
    processors run it, so that each stores at least a number of elements.
    """
    sch.parallel(loop)
    if any(extent_of(axis) is None for axis in axes):
        sch.annotate(loop, "pragma_parallel_work", least)


def share_as_one(
    sch: Schedule, loops: Sequence[LoopRV], axes: Iterable[IterVar], least: int
) -> LoopRV:
    """Fuse loops, and run them as `share_among_processors` does."""
    shared = sch.fuse(*loops) if len(loops) > 1 else loops[0]
    share_among_processors(sch, shared, axes, least)
    return shared


def is_worth_sharing(axes: Collection[IterVar], least: int) -> bool:
    """Whether it can pay that processors share a block: its elements are many, or calls give their
    number, which `share_among_processors` compares with a limit then.
    """
    return size_of(axes) >= least or any(extent_of(axis) is None for axis in axes)


def inline_injective(sch: Schedule, constants: Collection[Buffer] = ()) -> None:
    """Inline injective blocks into injective ones that read them, and into all those that transpose
    or that copy one of the `constants`. Copies along rows, also with casts, are inlined into all
    but sums of products, which read them often.

    Blocks between a reduction and the result become one block. Other copies stay before a
    reduction, which reads them along its iterators. A block whose elements would be computed
    several times in a large expression stays: a chain of such blocks doubles at each.
    """
    is_changed = True
    while is_changed:
        is_changed = False
        for block in blocks_of(sch):
            node = node_of(sch, block)
            if not is_injective(node) or not sch.get_consumers(block):
                continue
            readers = [node_of(sch, consumer) for consumer in sch.get_consumers(block)]
            is_inner = is_transposition(node) or (
                is_copy(node) and node.reads[0].buffer in constants
            )
            is_inner |= is_affine_copy(node) and not any(map(factors_of, readers))
            if is_inner or (
                all(is_injective(reader) for reader in readers) and not _is_repeated(node, readers)
            ):
                is_changed |= attempt(lambda target=block: sch.compute_inline(target))


_MOST_NODES = 2048  # of all copies of an expression


def _is_repeated(block: Block, readers: Iterable[Block]) -> bool:
    """Whether readers, of which one may be inlined into another, would have several copies of what
    a block computes, with many nodes in all.
    """
    buffers = {region.buffer for region in block.writes}
    copies = sum(
        isinstance(part, BufferLoad) and part.buffer in buffers
        for reader in readers
        for part in walk(reader.body)
    )
    return copies > 1 and copies * sum(1 for _ in walk(block.body)) > _MOST_NODES


def _is_between_copies(sch: Schedule, block: BlockRV) -> bool:
    """Whether a block is read several times, or reads another one so, and is too large for it."""
    node = node_of(sch, block)
    return _is_repeated(node, [node_of(sch, reader) for reader in sch.get_consumers(block)]) or any(
        _is_repeated(node_of(sch, maker), [node]) for maker in sch.get_producers(block)
    )


def attempt(action: Any) -> bool:
    """Whether a step of a schedule was done; one that is not legal changes nothing."""
    try:
        action()
    except ScheduleError:
        return False
    return True


def inline_all(
    sch: Schedule, blocks: Iterable[BlockRV], *ways: Callable[[BlockRV], object]
) -> list[BlockRV]:
    """Inline blocks by the first of some primitives that is legal, as long as one is, and without
    large expressions several times; the rest.
    """
    left, count = list(blocks), -1
    while len(left) != count:
        count = len(left)
        left = [
            block
            for block in left
            if _is_between_copies(sch, block)
            or not any(attempt(lambda f=f, at=block: f(at)) for f in ways)
        ]
    return left


@dataclass(frozen=True)
class Contraction:
    """A sum of products of two arrays, and the iterators along which it is tiled.

    wide : the number of the operand that is read in vectors, of its columns.
    column : the iterator of the block that counts columns.
    row : the iterator that counts rows, for which the columns are read once; None without one.
    is_plain : whether the columns are an index of the wide operand, so that it can be packed.
    is_contiguous : whether columns lie side by side in memory, or near each other, for windows.
    is_shallow : whether so few products are added that copies and transpositions would take longer.
    """

    wide: int
    column: int
    row: int | None
    is_plain: bool
    is_contiguous: bool
    is_shallow: bool
    operands: tuple[BufferLoad, BufferLoad]


def contraction_of(node: Block, constants: Collection[Buffer] = ()) -> Contraction | None:
    """How a block is a sum of products; None for other blocks. `constants` can be packed freely."""
    factors = factors_of(node)
    if factors is None:
        return None
    spatial = {
        axis.var: number for number, axis in enumerate(node.iter_vars) if axis.kind == SPATIAL
    }
    written = stored(node)
    if written is None or [*map(id, written.indices)] != [*map(id, spatial)]:
        return None  # the loops of its results are not those of its iterators
    used = [variables_of(*factor.indices) for factor in factors]
    reduced = {axis.var for axis in node.iter_vars if axis.kind != SPATIAL}
    candidates = []
    depth = size_of([axis for axis in node.iter_vars if axis.kind != SPATIAL])
    last = max(spatial.values(), default=None)
    for wide, other in ((0, 1), (1, 0)):
        load = factors[wide]
        reuse = assumed_size([axis for axis in node.iter_vars if axis.var not in used[wide]])
        for var, axis_number in spatial.items():
            if (
                var not in used[wide]
                or var in used[other]
                or extent_of(node.iter_vars[axis_number]) in (0, 1)
            ):
                continue
            step = step_along(load, var)
            beside = variables_of(*[index for index in load.indices if var in variables_of(index)])
            is_plain = not beside & reduced
            is_contiguous = _is_contiguous(step, is_plain)
            is_worth = reuse >= 4 or load.buffer in constants
            if not is_contiguous and not (is_plain and is_worth):
                continue
            extent = extent_of(node.iter_vars[axis_number])
            is_free = is_contiguous or load.buffer in constants
            fit = 0.0 if extent is None else extent / (-(-extent // _COLUMNS) * _COLUMNS)
            is_open = extent is None and is_plain
            is_shallow = depth <= (_SHALLOW_OPEN if is_open else _SHALLOW)
            is_along_rows = is_shallow and step == 1 and axis_number == last
            is_along_rows &= extent is None or fit > _FIT
            # Windows are not padded here, so that vectors must divide their columns.
            is_along_rows &= (
                is_plain or extent is None or largest_divisor(extent, _COLUMNS) >= _ROWS
            )
            rank = is_along_rows, extent is not None, is_plain, is_free, fit, not is_contiguous
            candidates.append((*rank, axis_number, wide))
    if not candidates:
        return None
    is_along_rows, _, is_plain, _, _, _, column, wide = max(candidates)
    is_shallow = is_along_rows or depth <= _SHALLOW
    is_contiguous = _is_contiguous(step_along(factors[wide], node.iter_vars[column].var), is_plain)
    rows = [
        number
        for var, number in spatial.items()
        if var not in used[wide] and (extent_of(node.iter_vars[number]) or 2) > 1
    ]
    if not is_plain:  # of a convolution of single channels: rows of the same image
        rows = [
            number
            for var, number in spatial.items()
            if var in used[wide] and number < column and var not in used[1 - wide]
        ]
    ranks = {number: _rank(node.iter_vars[number], number == last) for number in rows}
    row = max(rows, key=lambda number: (ranks[number], number)) if rows else None
    return Contraction(wide, column, row, is_plain, is_contiguous, is_shallow, factors)


def _is_contiguous(step: int | None, is_plain: bool) -> bool:
    """Whether vectors are read in place along an iterator: in one part, or those of windows, which
    cannot be packed, in a few.
    """
    return step is not None and 1 <= step <= (1 if is_plain else _NEAR)


def _rank(axis: IterVar, is_last: bool) -> int:
    """The worth of an iterator as rows: many before unknown ones, which may be one, but for those
    whose results lie side by side.
    """
    extent = extent_of(axis)
    return 1 + is_last if extent is None else 2 * (extent >= _ROWS)


def is_along(load: BufferLoad, var: Var) -> bool:
    """Whether neighbors along a variable are neighbors in memory."""
    return step_along(load, var) == 1


def step_along(load: BufferLoad, var: Var) -> int | None:
    """How far neighbors along a variable are apart in a row of memory, if it is known; None if they
    are in different rows.
    """
    if not load.indices:
        return None
    *before, last = load.indices
    if var in variables_of(*before):
        return None
    terms = ((last.a, last.b), (last.b, last.a)) if isinstance(last, Add) else ((last, None),)
    for term, rest in terms:
        if rest is not None and var in variables_of(rest):
            continue
        if term is var:
            return 1
        if isinstance(term, Mul) and term.a is var and isinstance(term.b, IntImm):
            return int(term.b.value)
    return None
