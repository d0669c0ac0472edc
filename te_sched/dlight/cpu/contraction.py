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
    share_as_one,
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
    contraction = contraction_of(node, constants)
    if contraction is None:
        return False
    vectors, axes = vectors_of(target), node.iter_vars
    is_constant = (
        contraction.is_plain and contraction.operands[contraction.wide].buffer in constants
    )
    is_worth = _is_worth(contraction, axes, constants, vectors.lanes)
    dot = None
    if uses_dot_products:
        dot = dot_product_of(node, contraction, target, is_worth and _is_einsum(contraction))
        if dot is None or not is_worth:
            return False
        vectors = vectors._replace(lanes=dot.lanes)
    line = _line(node, contraction)
    tile = _tile_for(contraction, axes, line, vectors, is_worth, dot is not None, choice)
    if tile is None:
        return False
    is_in_place = contraction.is_plain and contraction.is_contiguous and not is_worth
    if is_in_place and _is_ragged(axes[contraction.column], vectors.lanes):
        return False  # LLVM makes whole vectors of a loop over all columns
    columns, width = tile.columns, extent_of(axes[contraction.column])
    padded = _pad(sch, block, contraction, _multiples(contraction, axes, tile, dot))
    if padded is None:
        return False
    contraction, padding = padded
    node = node_of(sch, block)
    packed = None
    is_packed = not contraction.is_contiguous or dot is not None or is_constant
    is_packed |= padding is not None and not contraction.is_shallow
    if is_packed or _is_packed_anyway(contraction, axes, columns):
        packed = _pack(sch, block, contraction, columns, dot)
        if packed is None and not contraction.is_contiguous:
            return False
    if padding is not None:
        sch.compute_inline(padding)
    if dot is not None:
        pack_groups(sch, block, contraction, dot)
    last = epilogue_of(sch, block)
    is_part = width is not None and width < columns  # of which a reader asks for the part only
    if last is None or (dot is not None and is_part):
        last = sch.cache_write(block, 0, "local")
    else:
        sch.set_scope(block, 0, "local")
    elements = None
    if has_calls_across(node_of(sch, block), contraction.column, node_of(sch, last)):
        elements, last = last, sch.cache_write(last, 0, "local")
    sizes = {line: tile.lines, contraction.row: tile.rows, contraction.column: columns}
    window = _window_of(contraction, axes)
    rolled = None if holds_window(tile, window, vectors) else _innermost_sum(axes)
    _tile(sch, block, elements, last, contraction, sizes, vectors.lanes, dot, rolled)
    if packed is not None:
        if is_constant and None not in map(extent_of, node_of(sch, packed).iter_vars):
            sch.annotate(packed, PACKED, True)  # known in advance
        group = None if dot is None else (_packed_place(node, contraction, dot.depth), dot.group)
        _schedule_packing(
            sch, packed, columns, _packed_place(node, contraction, contraction.column), group
        )
    return True


def open_tile_of(node: Block, target: Target, constants: Collection[Buffer] = ()) -> dict[int, int]:
    """The rows and columns of a tile of windows, by their iterators, as far as calls give their
    number, or it pays to pad them: `pad_einsum` cannot pad those. Of a product they are its rows,
    which need no copy.
    """
    contraction = contraction_of(node, constants)
    if contraction is None:
        return {}
    axes, is_einsum = node.iter_vars, _is_einsum(contraction)
    if is_einsum and (
        contraction.row is None or dot_product_of(node, contraction, target, True) is not None
    ):
        return {}
    rows = 1 if contraction.row is None else extent_of(axes[contraction.row])
    columns = extent_of(axes[contraction.column])
    vectors, is_window = vectors_of(target), contraction.is_plain and not is_einsum
    depth, window = _transposed_depth(contraction, axes), _window_of(contraction, axes)
    plain_tile = tile_of(columns, rows, vectors, transposed_depth=depth, window=window)
    is_narrow = is_window and (plain_tile is None or plain_tile.columns % vectors.lanes > 0)
    is_low = is_narrow or (plain_tile is not None and plain_tile.rows < _LOW)
    tile = tile_of(
        columns,
        rows,
        vectors,
        pads_columns=(is_einsum or is_narrow)
        and _is_worth(contraction, axes, constants, vectors.lanes),
        pads_rows=is_window and is_low,
        is_plain=contraction.is_plain,
        transposed_depth=depth,
        window=window,
    )
    if tile is None or (is_einsum and (columns is None or columns % tile.columns)):
        return {}
    sizes = {contraction.column: tile.columns}
    if contraction.row is not None:
        sizes[contraction.row] = tile.rows
    open_axes = {at for at in sizes if extent_of(axes[at]) is None}
    if is_window:
        open_axes |= {at for at, size in sizes.items() if multiple_of(axes[at]) % size}
    return {at: size for at, size in sizes.items() if size > 1 and at in open_axes}


def _window_of(contraction: Contraction, axes: Any) -> InnermostWindow:
    """The window of the innermost sum, if neighboring rows share its elements."""
    innermost = _innermost_sum(axes)
    if not contraction.is_plain or contraction.row is None or innermost is None:
        return InnermostWindow()
    size, pair = extent_of(axes[innermost]), [axes[contraction.row].var, axes[innermost].var]
    for index in contraction.operands[1 - contraction.wide].indices:
        if variables_of(index).issuperset(pair):
            step, dilation, _ = detect_linear_equation(index, pair) or (None, None, None)
            if isinstance(step, IntImm) and isinstance(dilation, IntImm) and size is not None:
                return InnermostWindow(size, step.value, dilation.value)
    return InnermostWindow()


def _innermost_sum(axes: Any) -> int | None:
    """The last iterator along which more than one product is added."""
    sums = [at for at, axis in enumerate(axes) if axis.kind == REDUCTION and extent_of(axis) != 1]
    return sums[-1] if sums else None


def _transposed_depth(contraction: Contraction, axes: Any) -> int | None:
    """The products that are added for a result, if columns of results are not side by side."""
    last = max(at for at, axis in enumerate(axes) if axis.kind == SPATIAL)
    if contraction.column == last:
        return None
    return assumed_size([axis for axis in axes if axis.kind == REDUCTION])


def _is_worth(
    contraction: Contraction, axes: Any, constants: Collection[Buffer], lanes: int
) -> bool:
    """Whether it pays to pack the wide operand, and so to pad its columns."""
    if contraction.is_plain and contraction.operands[contraction.wide].buffer in constants:
        return True
    least = _SOME_ROWS if _is_ragged(axes[contraction.column], lanes) else _FEW_ROWS + 1
    return _uses(contraction, axes) >= least


def _is_ragged(axis: IterVar, lanes: int) -> bool:
    """Whether columns have no divisor that fills most of a vector."""
    width = extent_of(axis)
    return width is not None and width > lanes and 2 * largest_divisor(width, 4 * lanes) <= lanes


def _is_einsum(contraction: Contraction) -> bool:
    """Whether all indices are iterators or numbers, so that rows and columns can be padded."""
    indices = [index for load in contraction.operands for index in load.indices]
    return all(isinstance(index, Var | IntImm) for index in indices)


def _tile_for(
    contraction: Contraction,
    axes: Any,
    line: int | None,
    vectors: VectorRegisters,
    is_worth: bool,
    is_of_dots: bool,
    choice: TileChoice,
) -> RegisterTile | None:
    """The tile of a contraction, by what of it can be padded; of columns if that `is_worth` it."""
    is_einsum = _is_einsum(contraction)
    columns = extent_of(axes[contraction.column])
    rows = 1 if contraction.row is None else extent_of(axes[contraction.row])
    if not is_einsum:  # they cannot be padded here
        columns = columns or multiple_of(axes[contraction.column])
        if columns == 1:
            return None
        if rows is None:  # they were padded for a tile of one line
            rows, line = multiple_of(axes[contraction.row]), None
    return tile_of(
        columns,
        rows,
        vectors,
        lines=1 if line is None else extent_of(axes[line]) or 1,
        pads_columns=is_einsum and is_worth,
        pads_rows=is_einsum,
        is_of_dots=is_of_dots,
        is_plain=contraction.is_plain,
        transposed_depth=_transposed_depth(contraction, axes),
        window=_window_of(contraction, axes),
        choice=choice,
    )


def _multiples(
    contraction: Contraction, axes: Any, tile: RegisterTile, dot: DotProduct | None
) -> dict[int, int]:
    """The columns and rows of a tile, and the groups of dot products, by their iterators, which
    must be padded to multiples.
    """
    sizes = {contraction.column: tile.columns}
    if contraction.row is not None:
        sizes[contraction.row] = tile.rows
    multiples = {
        at: size for at, size in sizes.items() if size > 1 and multiple_of(axes[at]) % size
    }
    if dot is not None and (extent_of(axes[dot.depth]) or 0) % dot.group:
        multiples[dot.depth] = dot.group
    return multiples


def _line(node: Any, contraction: Contraction) -> int | None:
    """The iterator that counts lines of rows for which the wide operand is the same."""
    if not contraction.is_plain or contraction.row is None:
        return None
    used = variables_of(*contraction.operands[contraction.wide].indices)
    axes = enumerate(node.iter_vars[: contraction.row])
    places = [at for at, axis in axes if axis.kind == SPATIAL and axis.var not in used]
    places = [at for at in places if (extent_of(node.iter_vars[at]) or 1) > 1]
    return places[-1] if places else None


def _is_packed_anyway(contraction: Contraction, axes: Any, columns: int) -> bool:
    """Whether packing pays though the columns lie side by side."""
    if not contraction.is_plain or contraction.row is None:
        return False
    width = extent_of(axes[contraction.column]) or 0
    return _uses(contraction, axes) > _FEW_ROWS and width > 4 * columns


def _uses(contraction: Contraction, axes: Any) -> int:
    """How often each element of the wide operand is used, as far as that is known."""
    used = variables_of(*contraction.operands[contraction.wide].indices)
    return size_of([axis for axis in axes if axis.kind == SPATIAL and axis.var not in used])


def _pad(
    sch: Schedule, block: BlockRV, contraction: Contraction, multiples: dict[int, int]
) -> tuple[Contraction, BlockRV | None] | None:
    """Compute columns and rows up to multiples of those of a tile, which the next block leaves out.

    Returns the contraction, and the block that pads the wide operand, if there is one; None if
    padding is not possible.
    """
    if not multiples:
        return contraction, None
    before = {node_of(sch, producer) for producer in sch.get_producers(block)}
    count = len(node_of(sch, block).iter_vars)
    padding = [multiples.get(at, 1) for at in range(count)]
    if not attempt(lambda: sch.pad_einsum(block, padding)):
        return None
    for crop in sch.get_consumers(block):
        if len(sch.get_consumers(crop)) == 1:
            sch.compute_inline(crop)
    operands = factors_of(node_of(sch, block))
    assert operands is not None  # other sizes change nothing of its form
    wide = operands[contraction.wide].buffer
    producers = [
        producer for producer in sch.get_producers(block) if node_of(sch, producer) not in before
    ]
    pads = [producer for producer in producers if node_of(sch, producer).writes[0].buffer is wide]
    return replace(contraction, operands=operands), pads[0] if pads else None


def _pack(
    sch: Schedule, block: BlockRV, contraction: Contraction, columns: int, dot: DotProduct | None
) -> BlockRV | None:
    """Read the wide operand from a copy in panels; the block that makes it."""
    node = node_of(sch, block)
    order = _packed_iterators(node, contraction)
    spatial = [
        number
        for number in order
        if node.iter_vars[number].kind == SPATIAL and number != contraction.column
    ]
    reduced = [number for number in order if node.iter_vars[number].kind == REDUCTION]

    def panel(*at: Any) -> list[Any]:
        column, outer, inner = at[contraction.column], [*at], []
        if dot is not None:
            outer[dot.depth], inner = at[dot.depth] // dot.group, [at[dot.depth] % dot.group]
        return [
            *[at[number] for number in spatial],
            column // columns,
            *[outer[number] for number in reduced],
            column % columns,
            *inner,
        ]

    buffers = [region.buffer for region in node.reads]
    number = buffers.index(contraction.operands[contraction.wide].buffer)
    copies: list[BlockRV] = []
    if attempt(lambda: copies.append(sch.reindex_cache_read(block, number, "global", panel))):
        return copies[0]
    return None


def _packed_iterators(node: Any, contraction: Contraction) -> list[int]:
    used = variables_of(*contraction.operands[contraction.wide].indices)
    return [number for number, axis in enumerate(node.iter_vars) if axis.var in used]


def _packed_place(node: Any, contraction: Contraction, iterator: int) -> int:
    """The place of an iterator among those of the block that packs the wide operand."""
    return _packed_iterators(node, contraction).index(iterator)


def _tile(
    sch: Schedule,
    block: BlockRV,
    elements: BlockRV | None,
    last: BlockRV,
    contraction: Contraction,
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
    node, columns = node_of(sch, block), sizes[contraction.column]
    axes = [axis.var for axis in node.iter_vars if axis.kind == SPATIAL]
    is_parallel = is_worth_sharing(node.iter_vars, _WORTH)
    loops = _split_into_tiles(sch, last, node, contraction, sizes)
    outer, innermost = order_tiles(sch, node, contraction, loops, sizes, is_parallel)
    turned = _transposed_of(sch, elements or block, last, contraction, node, sizes, lanes)
    if turned is not None:
        sch.compute_at(turned, innermost)
    if elements is not None:
        sch.compute_at(elements, innermost)
    sch.compute_at(block, innermost)  # before loops are fused: their extents bound its iterators
    while len(outer) > 1 and loop_extent(sch, outer[0].key) == 1:
        outer = outer[1:]  # no index of the others is a remainder then
    fused = sch.fuse(*outer) if len(outer) > 1 else outer[0]
    tile = _loops_of(sch, block, [at for at, size in sizes.items() if size > 1])
    reduced = [at for at, axis in enumerate(node.iter_vars) if axis.kind == REDUCTION]
    sums = _loops_of(sch, block, reduced)
    group = []
    if dot is not None:
        sums[dot.depth], part = sch.split(sums[dot.depth], [None, dot.group])
        group = [part]
    sch.reorder(*sums.values(), *tile.values(), *group)
    if rolled in sums:
        sch.annotate(sums[rolled], NOT_UNROLLED, 1)
    column = axes.index(node.iter_vars[contraction.column].var)
    if column != len(axes) - 1:
        _put_columns_last(sch, block, column, columns)
    if elements is not None:
        _schedule_elements(sch, elements, node, contraction, sizes, lanes)
    if turned is not None:
        _schedule_transposed(sch, turned, node, contraction, sizes, lanes)
    if dot is None:
        _in_vectors(sch, tile[contraction.column], columns, lanes)
    else:
        sch.unroll(sch.split(tile[contraction.column], [None, lanes])[0])
    for axis, loop in tile.items():
        if axis != contraction.column:
            sch.unroll(loop)
    if is_parallel:
        share_among_processors(sch, fused, node.iter_vars, _WORTH // 2)
    if column == len(axes) - 1:
        _in_vectors(sch, loops.column, columns, lanes)
    elif contraction.row is not None and node.iter_vars[contraction.row].var is axes[-1]:
        sch.reorder(loops.column, *loops.inner)
        for loop in (loops.column, *loops.inner[:-1]):
            sch.unroll(loop)
        sch.vectorize(loops.inner[-1])
        if extent_of(node.iter_vars[contraction.row]) is None:  # store vectors where a tile is full
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
    sch: Schedule, last: BlockRV, node: Any, contraction: Contraction, sizes: dict[int | None, int]
) -> TileLoops:
    """Split the loops of the last block, one for each spatial iterator of the contraction."""
    axes = [at for at, axis in enumerate(node.iter_vars) if axis.kind == SPATIAL]
    loops = dict(zip(axes, sch.get_loops(last), strict=True))
    used = variables_of(*contraction.operands[contraction.wide].indices)
    panels, column = sch.split(loops.pop(contraction.column), [None, sizes[contraction.column]])
    rows, inner = None, []
    if contraction.row is not None:
        rows, row = sch.split(loops.pop(contraction.row), [None, sizes[contraction.row]])
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
        others = [index for at, index in enumerate(indices) if at != column]
        return [*others[:-1], indices[column] // width, others[-1], indices[column] % width]

    transform_layout: Any = sch.transform_layout
    transform_layout(block, ("write", 0), panel)


def _transposed_of(
    sch: Schedule,
    block: BlockRV,
    last: BlockRV,
    contraction: Contraction,
    node: Block,
    sizes: dict[int | None, int],
    lanes: int,
) -> BlockRV | None:
    """The block that copies a tile with its rows side by side, before the last block reads it; None
    if they are not, or there is no intrinsic for it.
    """
    axes = [at for at, axis in enumerate(node.iter_vars) if axis.kind == SPATIAL]
    if contraction.row is None or contraction.row != axes[-1] or sizes[contraction.column] % lanes:
        return None
    written = node_of(sch, block).writes[0].buffer
    own = [axis for axis in node_of(sch, block).iter_vars if axis.kind == SPATIAL]
    if multiple_of(own[axes.index(contraction.column)]) % sizes[contraction.column]:
        return None  # the last tile is not whole
    rows = extent_of(node_of(sch, last).iter_vars[-1])
    if rows is None or rows % sizes[contraction.row]:
        return None
    if transposition(sizes[contraction.row], lanes, written.dtype) is None:
        return None
    number = [region.buffer for region in node_of(sch, last).reads].index(written)
    return sch.cache_read(last, number, "local")


def _copied_tile(
    sch: Schedule,
    block: BlockRV,
    node: Block,
    contraction: Contraction,
    sizes: dict[int | None, int],
) -> tuple[int, dict[int | None, Any]]:
    """The dimension of a copy of the sums that counts columns, and its loops over a tile by the
    dimensions.
    """
    dimensions = [at for at, axis in enumerate(node.iter_vars) if axis.kind == SPATIAL]
    inner = [dimensions.index(at) for at, size in sizes.items() if at is not None and size > 1]
    return dimensions.index(contraction.column), _loops_of(sch, block, inner)


def _schedule_transposed(
    sch: Schedule,
    turned: BlockRV,
    node: Block,
    contraction: Contraction,
    sizes: dict[int | None, int],
    lanes: int,
) -> None:
    """Transpose a tile in registers."""
    column, tile = _copied_tile(sch, turned, node, contraction, sizes)

    def rows_last(*indices: Any) -> list[Any]:
        others = [index for at, index in enumerate(indices) if at != column]
        return [*others[:-1], indices[column], others[-1]]

    transform_layout: Any = sch.transform_layout
    transform_layout(turned, ("write", 0), rows_last)
    across, row = tile.pop(column), tile.pop(len(node_of(sch, turned).iter_vars) - 1)
    parts, lane = sch.split(across, [None, lanes])
    sch.reorder(*tile.values(), parts, lane, row)
    for loop in (*tile.values(), parts):
        sch.unroll(loop)
    dtype = node_of(sch, turned).writes[0].buffer.dtype
    sch.tensorize(lane, str(transposition(sizes[contraction.row], lanes, dtype)))


def _schedule_elements(
    sch: Schedule,
    elements: BlockRV,
    node: Block,
    contraction: Contraction,
    sizes: dict[int | None, int],
    lanes: int,
) -> None:
    """Compute elements of a tile in vectors of columns, before they are copied."""
    column, tile = _copied_tile(sch, elements, node, contraction, sizes)
    across = tile.pop(column)
    transform_layout: Any = sch.transform_layout
    transform_layout(
        elements, ("write", 0), lambda *at: [*at[:column], *at[column + 1 :], at[column]]
    )
    sch.reorder(*tile.values(), across)
    for loop in tile.values():
        sch.unroll(loop)
    _in_vectors(sch, across, loop_extent(sch, across.key) or sizes[contraction.column], lanes)


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
    axis_loops: dict[int | None, Any] = {}
    for number in places:
        if number is None:
            continue
        used = [var for var in order if var in variables_of(realize_values[number])]
        if used:
            axis_loops[number] = loops[used[-1]]
    return axis_loops


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
        position = [loop_of(sch, loop).loop_var for loop in loops].index(
            loop_of(sch, across).loop_var
        )
        outer, inner = sch.split(across, [None, columns])
        loops[position] = outer
        if group is not None:
            depth, size_of_group = group
            loops[depth], within = sch.split(loops[depth], [None, size_of_group])
            sch.reorder(*loops, inner, within)
            sch.unroll(within)
        else:
            sch.reorder(*loops, inner)
    if is_worth_sharing(axes, _WORTH):
        share_as_one(sch, loops[:2], axes, _WORTH // 2)
