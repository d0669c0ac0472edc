"""Products of matrices and convolutions on a processor: tiles of sums in registers.

The operand that is read in vectors is packed into panels of the columns of a tile, unless its
columns lie side by side already and are few. A tile is summed over the whole reduction, then the
elementwise rest is applied to it. Blocks of rows are chosen so that what they read stays in the
second-level cache while the panels pass by.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from te_sched.arith.detect import detect_linear_equation
from te_sched.codegen.llvm.loops import NOT_UNROLLED
from te_sched.codegen.target import Target
from te_sched.dlight.cpu.dot_products import (
    DotProduct,
    dot_product_of,
    narrow_copies,
    pack_groups,
    tensorized,
)
from te_sched.dlight.cpu.epilogues import epilogue_of, has_calls_across
from te_sched.dlight.cpu.register_tiles import (
    InnermostWindow,
    RegisterTile,
    TileChoice,
    best_tile,
    holds_window,
    tile_of,
)
from te_sched.dlight.cpu.tile_loops import TileLoops, order_tiles
from te_sched.dlight.cpu.vectors import VectorRegisters, vectors_of
from te_sched.dlight.structure import (
    SCHEDULED,
    Contraction,
    attempt,
    contraction_of,
    is_worth_sharing,
    loop_of,
    node_of,
    share_among_processors,
)
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Buffer, IntImm, IterVar, Var
from te_sched.ir.visitor import variables_of
from te_sched.tensorir.facts.axes import (
    REDUCTION,
    SPATIAL,
    assumed_size,
    extent_of,
    largest_divisor,
    multiple_of,
    size_of,
)
from te_sched.tensorir.facts.computations import factors_of
from te_sched.tensorir.facts.nests import loop_extent
from te_sched.tensorir.handles import BlockRV
from te_sched.tensorir.tensor_intrin.transpositions import transposition
from te_sched.tir.schedule import Schedule

PACKED = "meta_schedule.layout_rewrite_preproc"  # the block can be computed with the constants
PARTITIONED = "pragma_loop_partition_hint"  # a loop becomes several, by the conditions in it
_WORTH = 1 << 18  # multiplications for which threads pay
_LOW = 4  # rows of a tile below which it can pay to pad them
_FEW_ROWS = 16  # up to which columns side by side are read in place
_SOME_ROWS = 4  # from which on columns that vectors do not divide are packed


def schedule_contraction(
    sch: Schedule,
    block: BlockRV,
    target: Target,
    constants: Collection[Buffer] = (),
    uses_dot_products: bool = False,
    choice: TileChoice = best_tile,
) -> bool:
    """Schedule a block that is a contraction; whether it is one, and was scheduled.

    Parameters
    ----------
    constants : parameters that can be packed in advance.
    uses_dot_products : whether instructions add several products at once; other contractions are
        left.
    choice : which tile of several is taken.
    """
    if uses_dot_products:
        narrow_copies(sch, block, target)
    node = node_of(sch, block)
    found = contraction_of(node, constants)
    if found is None:
        return False
    vectors, axes = vectors_of(target), node.iter_vars
    is_constant = found.is_plain and found.operands[found.wide].buffer in constants
    is_worth = _is_worth(found, axes, constants, vectors.lanes)
    dot = None
    if uses_dot_products:
        dot = dot_product_of(node, found, target, is_worth and _is_einsum(found))
        if dot is None or not is_worth:
            return False
        vectors = vectors._replace(lanes=dot.lanes)
    line = _line(node, found)
    tile = _tile_for(found, axes, line, vectors, is_worth, dot is not None, choice)
    if tile is None:
        return False
    is_in_place = found.is_plain and found.is_contiguous and not is_worth
    if is_in_place and _is_ragged(axes[found.column], vectors.lanes):
        return False  # LLVM makes whole vectors of a loop over all columns
    columns, width = tile.columns, extent_of(axes[found.column])
    padded = _pad(sch, block, found, _multiples(found, axes, tile, dot))
    if padded is None:
        return False
    found, padding = padded
    node = node_of(sch, block)
    packed = None
    is_packed = not found.is_contiguous or dot is not None or is_constant
    is_packed |= padding is not None and not found.is_shallow
    if is_packed or _is_packed_anyway(found, axes, columns):
        packed = _pack(sch, block, found, columns, dot)
        if packed is None and not found.is_contiguous:
            return False
    if padding is not None:
        sch.compute_inline(padding)
    if dot is not None:
        pack_groups(sch, block, found, dot)
    last = epilogue_of(sch, block)
    is_part = width is not None and width < columns  # of which a reader asks for the part only
    if last is None or (dot is not None and is_part):
        last = sch.cache_write(block, 0, "local")
    else:
        sch.set_scope(block, 0, "local")
    elements = None
    if has_calls_across(node_of(sch, block), found.column, node_of(sch, last)):
        elements, last = last, sch.cache_write(last, 0, "local")
    sizes = {line: tile.lines, found.row: tile.rows, found.column: columns}
    window = _window_of(found, axes)
    rolled = None if holds_window(tile, window, vectors) else _innermost_sum(axes)
    _tile(sch, block, elements, last, found, sizes, vectors.lanes, dot, rolled)
    if packed is not None:
        if is_constant and None not in map(extent_of, node_of(sch, packed).iter_vars):
            sch.annotate(packed, PACKED, True)  # known in advance
        group = None if dot is None else (_packed_place(node, found, dot.depth), dot.group)
        _schedule_packing(sch, packed, columns, _packed_place(node, found, found.column), group)
    return True


def open_tile_of(node: Block, target: Target, constants: Collection[Buffer] = ()) -> dict[int, int]:
    """The rows and columns of a tile of windows, by their iterators, as far as calls give their
    number, or it pays to pad them: `pad_einsum` cannot pad those. Of a product they are its rows,
    which need no copy.
    """
    found = contraction_of(node, constants)
    if found is None:
        return {}
    axes, is_einsum = node.iter_vars, _is_einsum(found)
    if is_einsum and (found.row is None or dot_product_of(node, found, target, True) is not None):
        return {}
    rows = 1 if found.row is None else extent_of(axes[found.row])
    columns = extent_of(axes[found.column])
    vectors, is_window = vectors_of(target), found.is_plain and not is_einsum
    depth, window = _transposed_depth(found, axes), _window_of(found, axes)
    given = tile_of(columns, rows, vectors, transposed_depth=depth, window=window)
    is_narrow = is_window and (given is None or given.columns % vectors.lanes > 0)
    is_low = is_narrow or (given is not None and given.rows < _LOW)
    tile = tile_of(
        columns,
        rows,
        vectors,
        pads_columns=(is_einsum or is_narrow) and _is_worth(found, axes, constants, vectors.lanes),
        pads_rows=is_window and is_low,
        is_plain=found.is_plain,
        transposed_depth=depth,
        window=window,
    )
    if tile is None or (is_einsum and (columns is None or columns % tile.columns)):
        return {}
    sizes = {found.column: tile.columns}
    if found.row is not None:
        sizes[found.row] = tile.rows
    open_axes = {at for at in sizes if extent_of(axes[at]) is None}
    if is_window:
        open_axes |= {at for at, size in sizes.items() if multiple_of(axes[at]) % size}
    return {at: size for at, size in sizes.items() if size > 1 and at in open_axes}


def _window_of(found: Contraction, axes: Any) -> InnermostWindow:
    """The window of the innermost sum, if neighboring rows share its elements."""
    place = _innermost_sum(axes)
    if not found.is_plain or found.row is None or place is None:
        return InnermostWindow()
    size, pair = extent_of(axes[place]), [axes[found.row].var, axes[place].var]
    for index in found.operands[1 - found.wide].indices:
        if variables_of(index).issuperset(pair):
            step, dilation, _ = detect_linear_equation(index, pair) or (None, None, None)
            if isinstance(step, IntImm) and isinstance(dilation, IntImm) and size is not None:
                return InnermostWindow(size, step.value, dilation.value)
    return InnermostWindow()


def _innermost_sum(axes: Any) -> int | None:
    """The last iterator along which more than one product is added."""
    sums = [at for at, axis in enumerate(axes) if axis.kind == REDUCTION and extent_of(axis) != 1]
    return sums[-1] if sums else None


def _transposed_depth(found: Contraction, axes: Any) -> int | None:
    """The products that are added for a result, if columns of results are not side by side."""
    last = max(at for at, axis in enumerate(axes) if axis.kind == SPATIAL)
    if found.column == last:
        return None
    return assumed_size([axis for axis in axes if axis.kind == REDUCTION])


def _is_worth(found: Contraction, axes: Any, constants: Collection[Buffer], lanes: int) -> bool:
    """Whether it pays to pack the wide operand, and so to pad its columns."""
    if found.is_plain and found.operands[found.wide].buffer in constants:
        return True
    least = _SOME_ROWS if _is_ragged(axes[found.column], lanes) else _FEW_ROWS + 1
    return _uses(found, axes) >= least


def _is_ragged(axis: IterVar, lanes: int) -> bool:
    """Whether columns have no divisor that fills most of a vector."""
    width = extent_of(axis)
    return width is not None and width > lanes and 2 * largest_divisor(width, 4 * lanes) <= lanes


def _is_einsum(found: Contraction) -> bool:
    """Whether all indices are iterators or numbers, so that rows and columns can be padded."""
    indices = [one for load in found.operands for one in load.indices]
    return all(isinstance(one, Var | IntImm) for one in indices)


def _tile_for(
    found: Contraction,
    axes: Any,
    line: int | None,
    vectors: VectorRegisters,
    is_worth: bool,
    is_of_dots: bool,
    choice: TileChoice,
) -> RegisterTile | None:
    """The tile of a contraction, by what of it can be padded; of columns if that `is_worth` it."""
    is_einsum = _is_einsum(found)
    columns = extent_of(axes[found.column])
    rows = 1 if found.row is None else extent_of(axes[found.row])
    if not is_einsum:  # they cannot be padded here
        columns = columns or multiple_of(axes[found.column])
        if columns == 1:
            return None
        if rows is None:  # they were padded for a tile of one line
            rows, line = multiple_of(axes[found.row]), None
    return tile_of(
        columns,
        rows,
        vectors,
        lines=1 if line is None else extent_of(axes[line]) or 1,
        pads_columns=is_einsum and is_worth,
        pads_rows=is_einsum,
        is_of_dots=is_of_dots,
        is_plain=found.is_plain,
        transposed_depth=_transposed_depth(found, axes),
        window=_window_of(found, axes),
        choice=choice,
    )


def _multiples(
    found: Contraction, axes: Any, tile: RegisterTile, dot: DotProduct | None
) -> dict[int, int]:
    """The columns and rows of a tile, and the groups of dot products, by their iterators, which
    must be padded to multiples.
    """
    sizes = {found.column: tile.columns}
    if found.row is not None:
        sizes[found.row] = tile.rows
    multiples = {
        at: size for at, size in sizes.items() if size > 1 and multiple_of(axes[at]) % size
    }
    if dot is not None and (extent_of(axes[dot.depth]) or 0) % dot.group:
        multiples[dot.depth] = dot.group
    return multiples


def _line(node: Any, found: Contraction) -> int | None:
    """The iterator that counts lines of rows for which the wide operand is the same."""
    if not found.is_plain or found.row is None:
        return None
    used = variables_of(*found.operands[found.wide].indices)
    axes = enumerate(node.iter_vars[: found.row])
    places = [at for at, one in axes if one.kind == SPATIAL and one.var not in used]
    places = [at for at in places if (extent_of(node.iter_vars[at]) or 1) > 1]
    return places[-1] if places else None


def _is_packed_anyway(found: Contraction, axes: Any, columns: int) -> bool:
    """Whether packing pays though the columns lie side by side."""
    if not found.is_plain or found.row is None:
        return False
    width = extent_of(axes[found.column]) or 0
    return _uses(found, axes) > _FEW_ROWS and width > 4 * columns


def _uses(found: Contraction, axes: Any) -> int:
    """How often each element of the wide operand is used, as far as that is known."""
    used = variables_of(*found.operands[found.wide].indices)
    return size_of([one for one in axes if one.kind == SPATIAL and one.var not in used])


def _pad(
    sch: Schedule, block: BlockRV, found: Contraction, multiples: dict[int, int]
) -> tuple[Contraction, BlockRV | None] | None:
    """Compute columns and rows up to multiples of those of a tile, which the next block leaves out.

    Returns the contraction, and the block that pads the wide operand, if there is one; None if
    padding is not possible.
    """
    if not multiples:
        return found, None
    before = {node_of(sch, one) for one in sch.get_producers(block)}
    count = len(node_of(sch, block).iter_vars)
    padding = [multiples.get(at, 1) for at in range(count)]
    if not attempt(lambda: sch.pad_einsum(block, padding)):
        return None
    for crop in sch.get_consumers(block):
        if len(sch.get_consumers(crop)) == 1:
            sch.compute_inline(crop)
    operands = factors_of(node_of(sch, block))
    assert operands is not None  # other sizes change nothing of its form
    wide = operands[found.wide].buffer
    made = [one for one in sch.get_producers(block) if node_of(sch, one) not in before]
    pads = [one for one in made if node_of(sch, one).writes[0].buffer is wide]
    return replace(found, operands=operands), pads[0] if pads else None


def _pack(
    sch: Schedule, block: BlockRV, found: Contraction, columns: int, dot: DotProduct | None
) -> BlockRV | None:
    """Read the wide operand from a copy in panels; the block that makes it."""
    node = node_of(sch, block)
    order = _packed_iterators(node, found)
    spatial = [one for one in order if node.iter_vars[one].kind == SPATIAL and one != found.column]
    reduced = [one for one in order if node.iter_vars[one].kind == REDUCTION]

    def panel(*at: Any) -> list[Any]:
        column, outer, inner = at[found.column], [*at], []
        if dot is not None:
            outer[dot.depth], inner = at[dot.depth] // dot.group, [at[dot.depth] % dot.group]
        return [
            *[at[one] for one in spatial],
            column // columns,
            *[outer[one] for one in reduced],
            column % columns,
            *inner,
        ]

    buffers = [region.buffer for region in node.reads]
    number = buffers.index(found.operands[found.wide].buffer)
    made: list[BlockRV] = []
    if attempt(lambda: made.append(sch.reindex_cache_read(block, number, "global", panel))):
        return made[0]
    return None


def _packed_iterators(node: Any, found: Contraction) -> list[int]:
    used = variables_of(*found.operands[found.wide].indices)
    return [place for place, one in enumerate(node.iter_vars) if one.var in used]


def _packed_place(node: Any, found: Contraction, iterator: int) -> int:
    """The place of an iterator among those of the block that packs the wide operand."""
    return _packed_iterators(node, found).index(iterator)


def _tile(
    sch: Schedule,
    block: BlockRV,
    elements: BlockRV | None,
    last: BlockRV,
    found: Contraction,
    sizes: dict[int | None, int],
    lanes: int,
    dot: DotProduct | None = None,
    rolled: int | None = None,
) -> None:
    """Tile the loops of the last block, and compute the sums of a tile in it, and what of them the
    last block copies, if it copies `elements`.

    `sizes` are those of a tile by the iterators of the block: lines, rows, and columns. The sum
    over the iterator `rolled` is not unrolled: LLVM would keep all of a window in registers.
    """
    node, columns = node_of(sch, block), sizes[found.column]
    axes = [one.var for one in node.iter_vars if one.kind == SPATIAL]
    is_parallel = is_worth_sharing(node.iter_vars, _WORTH)
    loops = _split_into_tiles(sch, last, node, found, sizes)
    outer, innermost = order_tiles(sch, node, found, loops, sizes, is_parallel)
    turned = _transposed_of(sch, elements or block, last, found, node, sizes, lanes)
    if turned is not None:
        sch.compute_at(turned, innermost)
    if elements is not None:
        sch.compute_at(elements, innermost)
    sch.compute_at(block, innermost)  # before loops are fused: their extents bound its iterators
    while len(outer) > 1 and loop_extent(sch, outer[0].key) == 1:
        outer = outer[1:]  # no index of the others is a remainder then
    fused = sch.fuse(*outer) if len(outer) > 1 else outer[0]
    tile = _loops_of(sch, block, [at for at, size in sizes.items() if size > 1])
    reduced = [at for at, one in enumerate(node.iter_vars) if one.kind == REDUCTION]
    sums = _loops_of(sch, block, reduced)
    group = []
    if dot is not None:
        sums[dot.depth], part = sch.split(sums[dot.depth], [None, dot.group])
        group = [part]
    sch.reorder(*sums.values(), *tile.values(), *group)
    if rolled in sums:
        sch.annotate(sums[rolled], NOT_UNROLLED, 1)
    column = axes.index(node.iter_vars[found.column].var)
    if column != len(axes) - 1:
        _put_columns_last(sch, block, column, columns)
    if elements is not None:
        _schedule_elements(sch, elements, node, found, sizes, lanes)
    if turned is not None:
        _schedule_transposed(sch, turned, node, found, sizes, lanes)
    if dot is None:
        _in_vectors(sch, tile[found.column], columns, lanes)
    else:
        sch.unroll(sch.split(tile[found.column], [None, lanes])[0])
    for axis, loop in tile.items():
        if axis != found.column:
            sch.unroll(loop)
    if is_parallel:
        share_among_processors(sch, fused, node.iter_vars, _WORTH // 2)
    if column == len(axes) - 1:
        _in_vectors(sch, loops.column, columns, lanes)
    elif found.row is not None and node.iter_vars[found.row].var is axes[-1]:
        sch.reorder(loops.column, *loops.inner)
        for loop in (loops.column, *loops.inner[:-1]):
            sch.unroll(loop)
        sch.vectorize(loops.inner[-1])
        if extent_of(node.iter_vars[found.row]) is None:  # store vectors where a tile is full
            sch.annotate(loops.inner[-1], PARTITIONED, 1)
    else:
        sch.reorder(loops.column, *loops.inner)
        for loop in (loops.column, *loops.inner):
            sch.unroll(loop)
    sch.annotate(fused, SCHEDULED, 1)
    if dot is not None:
        tensorized(sch, block, list(sums.values()), dot.intrinsic)
    elif sums:
        sch.decompose_reduction(block, next(iter(sums.values())))


def _split_into_tiles(
    sch: Schedule, last: BlockRV, node: Any, found: Contraction, sizes: dict[int | None, int]
) -> TileLoops:
    """Split the loops of the last block, one for each spatial iterator of the contraction."""
    axes = [at for at, one in enumerate(node.iter_vars) if one.kind == SPATIAL]
    loops = dict(zip(axes, sch.get_loops(last), strict=True))
    used = variables_of(*found.operands[found.wide].indices)
    panels, column = sch.split(loops.pop(found.column), [None, sizes[found.column]])
    rows, inner = None, []
    if found.row is not None:
        rows, row = sch.split(loops.pop(found.row), [None, sizes[found.row]])
        inner = [row]
    for axis, size in sizes.items():
        if axis in loops and size > 1:
            loops[axis], line = sch.split(loops[axis], [None, size])
            inner.insert(0, line)
    before = [loop for at, loop in loops.items() if node.iter_vars[at].var in used]
    after = [loop for at, loop in loops.items() if node.iter_vars[at].var not in used]
    return TileLoops(panels, before, after, rows, inner, column)


def _put_columns_last(sch: Schedule, block: BlockRV, column: int, width: int) -> None:
    """Store the sums of a block with the columns of a tile side by side."""

    def panel(*indices: Any) -> list[Any]:
        others = [one for at, one in enumerate(indices) if at != column]
        return [*others[:-1], indices[column] // width, others[-1], indices[column] % width]

    transform_layout: Any = sch.transform_layout
    transform_layout(block, ("write", 0), panel)


def _transposed_of(
    sch: Schedule,
    block: BlockRV,
    last: BlockRV,
    found: Contraction,
    node: Block,
    sizes: dict[int | None, int],
    lanes: int,
) -> BlockRV | None:
    """The block that copies a tile with its rows side by side, before the last block reads it; None
    if they are not, or there is no intrinsic for it.
    """
    axes = [at for at, axis in enumerate(node.iter_vars) if axis.kind == SPATIAL]
    if found.row is None or found.row != axes[-1] or sizes[found.column] % lanes:
        return None
    written = node_of(sch, block).writes[0].buffer
    own = [axis for axis in node_of(sch, block).iter_vars if axis.kind == SPATIAL]
    if multiple_of(own[axes.index(found.column)]) % sizes[found.column]:
        return None  # the last tile is not whole
    rows = extent_of(node_of(sch, last).iter_vars[-1])
    if rows is None or rows % sizes[found.row]:
        return None
    if transposition(sizes[found.row], lanes, written.dtype) is None:
        return None
    number = [region.buffer for region in node_of(sch, last).reads].index(written)
    return sch.cache_read(last, number, "local")


def _copied_tile(
    sch: Schedule,
    block: BlockRV,
    node: Block,
    found: Contraction,
    sizes: dict[int | None, int],
) -> tuple[int, dict[int | None, Any]]:
    """The dimension of a copy of the sums that counts columns, and its loops over a tile by the
    dimensions.
    """
    dimensions = [at for at, axis in enumerate(node.iter_vars) if axis.kind == SPATIAL]
    inner = [dimensions.index(at) for at, size in sizes.items() if at is not None and size > 1]
    return dimensions.index(found.column), _loops_of(sch, block, inner)


def _schedule_transposed(
    sch: Schedule,
    turned: BlockRV,
    node: Block,
    found: Contraction,
    sizes: dict[int | None, int],
    lanes: int,
) -> None:
    """Transpose a tile in registers."""
    column, tile = _copied_tile(sch, turned, node, found, sizes)

    def rows_last(*indices: Any) -> list[Any]:
        others = [one for at, one in enumerate(indices) if at != column]
        return [*others[:-1], indices[column], others[-1]]

    transform_layout: Any = sch.transform_layout
    transform_layout(turned, ("write", 0), rows_last)
    across, row = tile.pop(column), tile.pop(len(node_of(sch, turned).iter_vars) - 1)
    parts, lane = sch.split(across, [None, lanes])
    sch.reorder(*tile.values(), parts, lane, row)
    for loop in (*tile.values(), parts):
        sch.unroll(loop)
    dtype = node_of(sch, turned).writes[0].buffer.dtype
    sch.tensorize(lane, str(transposition(sizes[found.row], lanes, dtype)))


def _schedule_elements(
    sch: Schedule,
    elements: BlockRV,
    node: Block,
    found: Contraction,
    sizes: dict[int | None, int],
    lanes: int,
) -> None:
    """Compute elements of a tile in vectors of columns, before they are copied."""
    column, tile = _copied_tile(sch, elements, node, found, sizes)
    across = tile.pop(column)
    transform_layout: Any = sch.transform_layout
    transform_layout(
        elements, ("write", 0), lambda *at: [*at[:column], *at[column + 1 :], at[column]]
    )
    sch.reorder(*tile.values(), across)
    for loop in tile.values():
        sch.unroll(loop)
    _in_vectors(sch, across, loop_extent(sch, across.key) or sizes[found.column], lanes)


def _in_vectors(sch: Schedule, loop: Any, extent: int, lanes: int) -> None:
    """Vectorize a loop over the columns of a tile, in registers."""
    if extent > lanes and extent % lanes == 0 and extent & (extent - 1):
        outer, loop = sch.split(loop, [None, lanes])
        sch.unroll(outer)
    sch.vectorize(loop)


def _loops_of(sch: Schedule, block: BlockRV, places: Iterable[int | None]) -> dict[int | None, Any]:
    """The innermost loop of each of some iterators of a block, as far as it has one."""
    realize_values = sch.realize(sch.block_key(block, "dlight")).iter_values
    loops = {loop_of(sch, loop).loop_var: loop for loop in sch.get_loops(block)}
    order = list(loops)
    found: dict[int | None, Any] = {}
    for place in places:
        if place is None:
            continue
        used = [var for var in order if var in variables_of(realize_values[place])]
        if used:
            found[place] = loops[used[-1]]
    return found


def _schedule_packing(
    sch: Schedule,
    packed: BlockRV,
    columns: int,
    column: int,
    group: tuple[int, int] | None = None,
) -> None:
    """Write panels side by side: the columns of a panel are the innermost loop, but for groups
    along an iterator: its place, and the size of a group.
    """
    sch.annotate(packed, SCHEDULED, 1)
    axes, loops = node_of(sch, packed).iter_vars, sch.get_loops(packed)
    across = _loops_of(sch, packed, [column]).get(column)
    if across is not None:
        place = [loop_of(sch, one).loop_var for one in loops].index(loop_of(sch, across).loop_var)
        outer, inner = sch.split(across, [None, columns])
        loops[place] = outer
        if group is not None:
            depth, size_of_group = group
            loops[depth], within = sch.split(loops[depth], [None, size_of_group])
            sch.reorder(*loops, inner, within)
            sch.unroll(within)
        else:
            sch.reorder(*loops, inner)
    if is_worth_sharing(axes, _WORTH):
        shared = sch.fuse(*loops[:2]) if len(loops) > 1 else loops[0]
        share_among_processors(sch, shared, axes, _WORTH // 2)
