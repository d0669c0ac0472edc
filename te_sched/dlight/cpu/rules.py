"""The rules for processors: what is computed for many elements runs in vectors and on all cores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial, reduce
from itertools import groupby, takewhile
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.codegen.target import Target
from te_sched.dlight.base import DefaultRule
from te_sched.dlight.cpu.channel_windows import multiples_of_windows, schedule_channel_windows
from te_sched.dlight.cpu.contraction import (
    PARTITIONED,
    open_tile_of,
    schedule_contraction,
)
from te_sched.dlight.cpu.divisions import with_divisions
from te_sched.dlight.cpu.epilogues import epilogue_of
from te_sched.dlight.cpu.merged_axes import with_merged_axes
from te_sched.dlight.cpu.quotients import with_reciprocals
from te_sched.dlight.cpu.register_tiles import RegisterTile, TileChoice, best_tile
from te_sched.dlight.cpu.row_reductions import is_row, with_padded_reductions
from te_sched.dlight.cpu.transposition import tile_transposed
from te_sched.dlight.cpu.vectors import vectors_of
from te_sched.dlight.cpu.windows import with_padded_windows
from te_sched.dlight.simple_accesses import with_simple_accesses
from te_sched.dlight.structure import (
    SCHEDULED,
    attempt,
    blocks_of,
    inline_injective,
    is_untouched,
    is_worth_sharing,
    loop_of,
    node_of,
    share_among_processors,
    share_as_one,
)
from te_sched.errors import ScheduleError
from te_sched.ir import ops
from te_sched.ir.blocks import Block
from te_sched.ir.choices import choice_of
from te_sched.ir.expr import Buffer, Call, Expr
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.visitor import variables_of, walk
from te_sched.processors import usable_processors
from te_sched.tensorir.facts.axes import (
    REDUCTION,
    SPATIAL,
    assumed_size,
    extent_of,
    largest_divisor,
    multiple_of,
    size_of,
)
from te_sched.tensorir.facts.computations import (
    factors_of,
    is_injective,
    is_reduction,
    loads_of,
)
from te_sched.tensorir.facts.nests import kind_of_loop, loops_of_kind
from te_sched.tensorir.handles import BlockRV
from te_sched.tir.schedule import Schedule

_WORTH = 1 << 16  # elements for which threads pay
_NEAR_COLUMNS = 2048  # of rows that are computed together
_PARTS = 4  # that are combined at once
_MOST_CHOICES = 8  # of the tiles of a contraction
_MOST_ROW = 1 << 13  # elements that one thread computes in a loop of its own
_MOST_STEPS = 32  # of a reduction that is unrolled


class CPURule(DefaultRule):
    """A rule for processors; functions that were scheduled already stay as they are."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Any:
        """A schedule of the function, or None; all that may be the fastest if it is `tunable`."""
        if target.kind.name not in ("llvm", "c"):
            return None
        try:
            sch = Schedule(with_merged_axes(with_simple_accesses(func), vectors_of(target).lanes))
            blocks = blocks_of(sch)
        except ScheduleError:  # loops without blocks
            return None
        if not blocks or not is_untouched(sch, blocks):
            return None
        return self.choices(sch, target) if tunable else self.scheduled(sch, blocks, target)

    def choices(self, sch: Schedule, target: Target) -> list[Schedule]:
        """The schedules of a function without one that may be the fastest, the best guess first."""
        scheduled = self.scheduled(sch, blocks_of(sch), target)
        return [] if scheduled is None else [scheduled]

    def scheduled(self, sch: Schedule, blocks: list[BlockRV], target: Target) -> Schedule | None:
        """The schedule of a function without one; None if the rule does not know it."""
        del blocks
        return schedule_blocks(sch, target, constants_of(sch))


class Default(CPURule):
    """Contractions in tiles, reductions in parts, everything else in vectors.

    >>> import te_sched
    >>> from te_sched import dlight, te, topi
    >>> A, B = (te.placeholder((64, 64), name=name) for name in "AB")
    >>> func = te.create_prim_func([A, B, topi.nn.matmul(A, B)])
    >>> sch = dlight.cpu.Default().apply(func, te_sched.target.Target("llvm"), False)
    >>> "T.vectorized" in str(sch.mod)
    True
    """

    def choices(self, sch: Schedule, target: Target) -> list[Schedule]:
        """The schedules with each of the best tiles."""
        schedules: list[Schedule] = []
        for rank in range(_MOST_CHOICES):
            tiles = _TileOfRank(rank)
            trial = schedule_blocks(sch.copy(), target, constants_of(sch), tiles)
            if rank and not tiles.is_other:
                break
            schedules.append(trial)
        return schedules


class _TileOfRank:
    """Takes the tile of a rank in the order of the model, or the last one; `is_other` tells whether
    there was one of that rank.
    """

    def __init__(self, rank: int) -> None:
        self.rank, self.is_other = rank, False

    def __call__(self, tiles: Sequence[RegisterTile]) -> RegisterTile:
        self.is_other |= self.rank < len(tiles)
        return tiles[min(self.rank, len(tiles) - 1)]


class Fallback(CPURule):
    """Every block in vectors and on all cores; its loops are not tiled."""

    def scheduled(self, sch: Schedule, blocks: list[BlockRV], target: Target) -> Schedule:
        """The schedule of a function that was not scheduled yet."""
        for block in blocks:
            schedule_elements(sch, block, vectors_of(target).lanes)
        return sch


def constants_of(sch: Schedule) -> list[Buffer]:
    """The parameters whose layout is free: they can be packed in advance."""
    func: PrimFunc = sch.mod["main"]
    places = func.attrs.get("layout_free_buffers") or ()
    return [func.buffer_map[func.params[int(number)]] for number in places]


def schedule_blocks(
    sch: Schedule, target: Target, constants: list[Buffer], choice: TileChoice = best_tile
) -> Schedule:
    """The schedule with all blocks of its function scheduled."""
    func: PrimFunc = sch.mod["main"]
    lanes = vectors_of(target).lanes
    multiples = partial(_open_tile_of, target=target, constants=constants)
    padded = with_padded_windows(with_reciprocals(func), multiples)
    padded = with_padded_reductions(padded, vectors_of(target).lanes)
    if padded is not func:
        sch = Schedule(padded)
    inline_injective(sch, constants)
    if (divided := with_divisions(sch)) is not sch:
        sch = Schedule(with_padded_windows(divided.mod["main"], multiples))
    for block in blocks_of(sch):
        if is_reduction(node_of(sch, block)):
            if factors_of(node_of(sch, block)) is None:
                sch = _with_window(sch, block, lanes)
            else:
                sch = _with_contraction(sch, block, target, constants, choice)
    for is_done, blocks in groupby(blocks_of(sch), partial(_is_scheduled, sch)):
        if not is_done:
            _schedule_rest(sch, list(blocks), lanes)
    return sch


def _open_tile_of(node: Block, target: Target, constants: list[Buffer]) -> Mapping[int, int]:
    """The multiples of iterators of open extents that tiles and vectors of windows have."""
    tile = multiples_of_windows(node, vectors_of(target))
    tile = tile or open_tile_of(node, target, constants)
    if tile or not is_reduction(node) or factors_of(node) is not None:
        return tile
    places = [number for number, axis in enumerate(node.iter_vars) if axis.kind == SPATIAL]
    is_window = bool(places) and _is_open_window(node) and _reads_across(node)
    return {places[-1]: vectors_of(target).lanes} if is_window else {}


def _with_window(sch: Schedule, block: BlockRV, lanes: int) -> Schedule:
    """The schedule with a block scheduled, if it reduces windows over rows of an open size, for
    another block that reads the results; else itself.
    """
    node, trial = node_of(sch, block), sch.copy()
    spatial = [axis for axis in node.iter_vars if axis.kind == SPATIAL]
    if factors_of(node) is not None or len(spatial) < 2 or not _is_open_window(node):
        return sch
    is_padded = not multiple_of(spatial[-1]) % lanes
    last = epilogue_of(trial, block) if is_padded or _reads_across(node) else None
    width = lanes if is_padded else 1
    if last is None or not attempt(lambda: _schedule_window(trial, block, last, width)):
        return sch
    return trial


def _schedule_window(sch: Schedule, block: BlockRV, last: BlockRV, lanes: int) -> None:
    """Reduce windows over a row of an open size in the loops of the last block: in vectors, or one
    by one, of which LLVM makes vectors.
    """
    *outer, row = sch.get_loops(last)
    vectors, inner = sch.split(row, [None, lanes]) if lanes > 1 else (row, None)
    sch.compute_at(block, vectors)
    sch.set_scope(block, 0, "local")
    own = loops_of_kind(sch, sch.block_key(block, "dlight"), REDUCTION)
    mine = sch.get_loops(block)[len(outer) + 1 :]
    reduced = [loop for loop in mine if loop.key in own]
    for loop in reduced:
        sch.unroll(loop)
    if inner is not None:
        (lane,) = [loop for loop in mine if loop.key not in own]
        sch.reorder(*reduced, lane)
        sch.vectorize(lane)
        sch.vectorize(inner)
    axes = node_of(sch, block).iter_vars
    shared = share_as_one(sch, _enough(sch, outer), axes, _WORTH // 2)
    sch.annotate(shared, SCHEDULED, 1)
    if reduced:  # windows of more than one element
        sch.decompose_reduction(block, reduced[0])


def _with_contraction(
    sch: Schedule, block: BlockRV, target: Target, constants: list[Buffer], choice: TileChoice
) -> Schedule:
    """The schedule with a block scheduled, if it is a contraction; else the schedule itself."""
    trial = sch.copy()
    with suppress(ScheduleError):
        if schedule_channel_windows(trial, block, vectors_of(target)):
            return trial
    for uses_dot_products in (True, False):
        trial = sch.copy()
        with suppress(ScheduleError):  # a step is not legal for it
            if schedule_contraction(trial, block, target, constants, uses_dot_products, choice):
                return trial
    return sch


def _is_scheduled(sch: Schedule, block: BlockRV) -> bool:
    """Whether a block was scheduled: it is marked, or stands in such loops."""
    marks = [loop_of(sch, loop).annotations for loop in sch.get_loops(block)]
    return SCHEDULED in node_of(sch, block).annotations or any(SCHEDULED in mark for mark in marks)


def _schedule_rest(sch: Schedule, blocks: list[BlockRV], lanes: int) -> None:
    """Schedule blocks other than contractions: those of the same rows together."""
    heads = list(blocks)
    parts: list[tuple[BlockRV, BlockRV]] = []
    steps: dict[BlockRV, int] = {}  # of reductions
    for block in blocks:
        if is_reduction(node_of(sch, block)):
            steps[block] = size_of(node_of(sch, block).iter_vars)
            new_blocks = _in_parts(sch, block, lanes)
            position = heads.index(block)
            heads[position:position] = new_blocks
            parts += [(head, block) for head in reversed(new_blocks)]
    rows = _shared_rows(sch, heads) if len(heads) > 1 else None
    for part, whole in parts:
        _next_to(sch, part, whole, rows)
    first_parts = [part for part, _ in parts]
    for block in heads:
        if rows is not None:
            if block in first_parts:
                _reduce_where_computed(sch, block)
            _reduce_across(sch, block, rows)
            _vectorize_last(sch, block, lanes, rows)
        elif not any(block in pair for pair in parts):
            schedule_elements(sch, block, lanes)
            _copy_where_read(sch, block, lanes)
    for part, whole in parts:
        if rows is None:
            schedule_elements(sch, whole, lanes, steps.get(whole, 0))
        _vectorize_last(sch, part, lanes, rows)
    if rows is not None:
        axes = node_of(sch, heads[-1]).iter_vars
        share_among_processors(sch, rows, axes, _WORTH // 8)  # that several blocks compute
    for part, _ in parts:
        reduced = _loops_of_kind(sch, part, REDUCTION)
        if reduced:
            sch.annotate(reduced[-1], PARTITIONED, 1)
        attempt(lambda target=part, at=reduced: sch.decompose_reduction(target, at[0]))


def _in_parts(sch: Schedule, block: BlockRV, lanes: int) -> list[BlockRV]:
    """Reduce along rows of memory in a vector of parts, and these in shorter ones; the blocks that
    compute parts.
    """
    node = node_of(sch, block)
    last = node.iter_vars[-1]
    size = extent_of(last)
    if last.kind == SPATIAL:
        return []
    widths = [count * lanes // 4 for count in (16, 8, 4, 2, 1)]
    if size is None:
        widths, size = [lanes], 2 * multiple_of(last)
    wide = next(
        (width for width in widths if width > 1 and size % width == 0 and size >= 2 * width), 0
    )
    if not wide:
        return []
    inputs = loads_of(node)
    if not inputs or not all(is_row(load, last.var) for load in inputs):
        return []
    blocks: list[BlockRV] = []

    def step(schedule: Schedule, width: int) -> None:
        loop = schedule.get_loops(block)[-1]
        _, parts = schedule.split(loop, [None, width])
        blocks.append(schedule.rfactor(parts, len(node.writes[0].buffer.shape)))

    if not attempt(lambda: step(sch.copy(), wide)):
        return []
    blocks.clear()
    step(sch, wide)
    while wide > 2 * _PARTS:
        wide //= _PARTS
        step(sch, wide)
    return blocks


def _next_to(sch: Schedule, part: BlockRV, whole: BlockRV, rows: Any) -> None:
    """Compute the parts of an element where they are added, in registers."""
    spatial = _loops_of_kind(sch, whole, SPATIAL)
    shared = [] if rows is None else sch.get_loops(whole)[: _place_of(sch, whole, rows) + 1]
    inner = [loop for loop in spatial if loop.key not in {outer.key for outer in shared}]
    if inner:
        attempt(lambda: sch.reorder(*inner, *_loops_of_kind(sch, whole, REDUCTION)))
        attempt(lambda: sch.compute_at(part, inner[-1]))
    own = sch.get_loops(part)
    reduced = _loops_of_kind(sch, part, REDUCTION)
    lanes = own[-len(reduced) - 1] if len(own) > len(reduced) else None
    if lanes is not None and reduced:
        attempt(lambda: sch.reorder(*reduced, lanes))
    for buffer_index in range(len(node_of(sch, part).writes)):
        attempt(lambda at=buffer_index: sch.set_scope(part, at, "local"))


def _copy_where_read(sch: Schedule, block: BlockRV, lanes: int) -> None:
    """Copy what windows read, with a border, in the loop that processors share: an image at a time,
    which stays in the cache.
    """
    if not is_reduction(node_of(sch, block)) or not sch.get_loops(block):
        return
    images = sch.get_loops(block)[0]
    for maker in sch.get_producers(block):
        node = node_of(sch, maker)
        is_known = None not in [extent_of(axis) for axis in node.iter_vars]
        if not is_known or not is_injective(node) or loop_of(sch, images).kind != "parallel":
            continue
        trial = sch.copy()
        if attempt(lambda t=trial, m=maker: t.compute_at(m, images)) and _runs_once(trial, maker):
            sch.compute_at(maker, images)
            _vectorize_last(sch, maker, lanes)


def _reduce_where_computed(sch: Schedule, part: BlockRV) -> None:
    """Add vectors to parts of a row in the loop that computes them, from registers."""
    for maker in sch.get_producers(part):
        node, loops = node_of(sch, maker), sch.get_loops(maker)[-2:]
        extents = [extent_of(loop_of(sch, loop)) or 0 for loop in loops]
        if is_injective(node) and math.prod(extents) == extent_of(node.iter_vars[-1]):
            attempt(lambda at=loops[0]: sch.reverse_compute_at(part, at))


def _reduce_across(sch: Schedule, block: BlockRV, rows: Any) -> None:
    """Reduce neighbors in memory together, in the loop over `rows`."""
    node, loops = node_of(sch, block), sch.get_loops(block)
    if not is_reduction(node) or node.iter_vars[-1].kind == SPATIAL or not _reads_across(node):
        return
    own = loops[_place_of(sch, block, rows) + 1 :]
    keys = loops_of_kind(sch, sch.block_key(block, "dlight"), REDUCTION)
    reduced = [loop for loop in own if loop.key in keys]
    spatial = [loop for loop in own if loop.key not in keys]
    if reduced and spatial:
        attempt(lambda: sch.reorder(*spatial[:-1], *reduced, spatial[-1]))


def _place_of(sch: Schedule, block: BlockRV, loop: Any) -> int:
    """The number of loops of a block that are around one of them."""
    return [other.key for other in sch.get_loops(block)].index(loop.key)


def _loops_of_kind(sch: Schedule, block: BlockRV, kind: str) -> list[Any]:
    """The loops of a block on which its iterators of a kind depend."""
    loops = loops_of_kind(sch, sch.block_key(block, "dlight"), kind)
    return [loop for loop in sch.get_loops(block) if loop.key in loops]


def _shared_rows(sch: Schedule, heads: list[BlockRV]) -> Any:
    """The loop over the rows of the last block, in which all blocks are computed; None if they do
    not have the same rows, or these are too few. No block is computed again for each row.
    """
    *before, last = heads
    node = node_of(sch, last)
    rows = assumed_size(node.iter_vars[:-1])
    if not is_injective(node) or rows < 2 * usable_processors():
        return None
    results: list[Any] = []

    def step(schedule: Schedule, count: int) -> None:
        outer = schedule.get_loops(last)[:-1]
        is_open = None in [extent_of(loop_of(schedule, loop)) for loop in outer]
        rows = outer[-1] if is_open or len(outer) == 1 else schedule.fuse(*outer)
        if count > 1:
            rows, _ = schedule.split(rows, [None, count])
        for block in reversed(before):
            schedule.compute_at(block, rows)
        results.append(schedule.fuse(*outer) if is_open and len(outer) > 1 else rows)

    def is_legal(count: int) -> bool:
        def trial(schedule: Schedule) -> None:
            step(schedule, count)
            schedule.parallel(results[-1])
            is_whole.extend(_runs_once(schedule, block) for block in before)

        is_whole: list[bool] = []
        return attempt(lambda: trial(sch.copy())) and all(is_whole)

    for count in _numbers_of_rows(node):
        if is_legal(count):
            step(sch, count)
            return results[-1]
    return None


def _numbers_of_rows(node: Block) -> list[int]:
    """How many rows may be computed together: the processor computes one while it waits for the
    result of another one.
    """
    columns = extent_of(node.iter_vars[-1])
    rows = math.prod([extent_of(axis) or 0 for axis in node.iter_vars[:-1]])
    if not columns or not rows:
        return [1]
    most = min(rows // (4 * usable_processors()), _NEAR_COLUMNS // columns)
    return [count for count in (4, 2) if count <= most and rows % count == 0] + [1]


def _runs_once(sch: Schedule, block: BlockRV) -> bool:
    """Whether the loops around a block have an iteration for each of its instances, no more, or
    its condition leaves such iterations.
    """
    around = [loop_of(sch, loop) for loop in sch.get_loops(block)]
    values = sch.realize(sch.block_key(block, "dlight")).iter_values
    if {*map(id, values)} == {id(loop.loop_var) for loop in around}:
        return True
    loops = [loop.extent for loop in around]
    domains = [axis.dom.extent for axis in node_of(sch, block).iter_vars if axis.dom is not None]
    return Analyzer().can_prove_equal(_product(loops), _product(domains))


def _product(extents: list[Expr]) -> Expr:
    return reduce(ops.mul, extents, ops.const(1, "int64"))


def schedule_elements(sch: Schedule, block: BlockRV, lanes: int, steps: int = 0) -> None:
    """Run the outer loops of a block on all cores, and the last one in vectors. There may be other
    blocks in them: `steps` are those of all.
    """
    node = node_of(sch, block)
    loops = sch.get_loops(block)
    kinds = [axis.kind for axis in node.iter_vars]
    if not loops or len(loops) != len(kinds):
        return
    spatial = [loop for loop, kind in zip(loops, kinds, strict=True) if kind == SPATIAL]
    if not spatial:
        return
    reduced = [loop for loop, kind in zip(loops, kinds, strict=True) if kind != SPATIAL]
    is_across = bool(reduced) and kinds[-1] != SPATIAL and _reads_across(node)
    is_window = is_across and _is_open_window(node)
    if is_window:
        for loop in reduced:
            sch.unroll(loop)
    elif is_across:
        attempt(lambda: sch.reorder(*spatial[:-1], *reduced, spatial[-1]))
    if not tile_transposed(sch, block):
        _vectorize_last(sch, block, lanes)
    outer = _without_row(sch, block, _outer(sch, block), lanes)
    if outer and (steps >= _WORTH or is_worth_sharing(node.iter_vars, _WORTH)):
        kept = _enough(sch, outer)
        fused = sch.fuse(*kept) if len(kept) > 1 else kept[0]
        attempt(lambda: share_among_processors(sch, fused, node.iter_vars, _WORTH // 2))
    if is_window:  # only whole reductions are shared
        attempt(lambda: sch.decompose_reduction(block, reduced[0]))


def _without_row(sch: Schedule, block: BlockRV, loops: list[Any], lanes: int) -> list[Any]:
    """The outer loops of a block, of which the last one may be its innermost one that vectors do
    not divide, without the inner part of that: LLVM makes vectors of it, as no index is divided.
    """
    if len(loops) < 2 or loops[-1].key != sch.get_loops(block)[-1].key:
        return loops
    *outer, row = loops
    extent = extent_of(loop_of(sch, row))
    if extent is None or extent < 4 * lanes or size_of([loop_of(sch, loop) for loop in outer]) == 1:
        return loops
    size = largest_divisor(extent, _MOST_ROW)
    if size < 4 * lanes:
        return outer
    first, _ = sch.split(row, [None, size])
    return [*outer, first]


def _enough(sch: Schedule, loops: list[Any]) -> list[Any]:
    """The first loops that have work for all cores; those of open extents may be short. Loops that
    are fused into others have known extents, by which indices are divided. Those that are
    partitioned stay.
    """
    count = 1
    outer_loops: list[Any] = []
    for loop in loops:
        statement = loop_of(sch, loop)
        if outer_loops and (extent_of(statement) is None or statement.annotations):
            break
        outer_loops.append(loop)
        count *= size_of([statement])
        if count >= 4 * usable_processors() or statement.annotations:
            break
    return outer_loops


def _outer(sch: Schedule, block: BlockRV) -> list[Any]:
    """The outer loops of a block that count elements and are not vectors."""
    spatial = loops_of_kind(sch, sch.block_key(block, "dlight"), SPATIAL)
    loops = sch.get_loops(block)
    return [
        *takewhile(lambda loop: loop.key in spatial and loop_of(sch, loop).kind == "serial", loops)
    ]


def _reads_across(node: Any) -> bool:
    """Whether neighboring results read neighboring elements, or the same ones of some inputs."""
    last = [axis for axis in node.iter_vars if axis.kind == SPATIAL][-1].var
    inputs = [load for load in loads_of(node) if last in variables_of(*load.indices)]
    return bool(inputs) and all(last in variables_of(load.indices[-1]) for load in inputs)


def _is_open_window(node: Any) -> bool:
    """Whether few steps reduce each result of a row of an open size: LLVM makes vectors of results
    if the loop of rows is the innermost one that is left.
    """
    *_, last = [axis for axis in node.iter_vars if axis.kind == SPATIAL]
    steps = size_of([axis for axis in node.iter_vars if axis.kind == REDUCTION], _MOST_STEPS + 1)
    return extent_of(last) is None and steps <= _MOST_STEPS


def _vectorize_open(sch: Schedule, block: BlockRV, loop: Any, lanes: int) -> None:
    """Run an innermost loop of an open extent in vectors, and the rest one by one. LLVM makes the
    vectors of plain arithmetic; with masks of rows that tiles read, which are often short.
    """
    node, readers = node_of(sch, block), sch.get_consumers(block)
    if _chooses_along(node):
        if not readers or not all(_is_scheduled(sch, reader) for reader in readers):
            sch.annotate(loop, PARTITIONED, 1)
    elif any(isinstance(part, Call) for part in walk(node.body)):
        outer, inner = sch.split(loop, [None, lanes])
        sch.vectorize(inner)
        sch.annotate(outer, PARTITIONED, 1)


def _chooses_along(node: Any) -> bool:
    """Whether the place along the last iterator decides which value an element gets."""
    last = node.iter_vars[-1].var
    choices = [choice_of(part) for part in walk(node.body)]
    return any(choice is not None and last in variables_of(choice[0]) for choice in choices)


def _vectorize_last(sch: Schedule, block: BlockRV, lanes: int, rows: Any = None) -> None:
    """Run the innermost loop of a block in vectors, if it counts elements, and not `rows`."""
    node = node_of(sch, block)
    if not node.iter_vars or not sch.get_loops(block):
        return
    loop = sch.get_loops(block)[-1]
    statement = loop_of(sch, loop)
    if rows is not None and loop_of(sch, rows) is statement:
        return
    kind = kind_of_loop(sch, sch.block_key(block, "dlight"), loop.key)
    if kind == SPATIAL and extent_of(statement) is None and statement.kind == "serial":
        _vectorize_open(sch, block, loop, lanes)
        return
    extent = extent_of(statement) or 0
    if kind != SPATIAL or extent < 2 or statement.kind != "serial":
        return
    wide = math.gcd(extent, 4 * lanes)
    if extent <= 4 * lanes:
        attempt(lambda: sch.vectorize(loop))
    elif wide >= lanes:
        _, inner = sch.split(loop, [None, wide])
        attempt(lambda: sch.vectorize(inner))
