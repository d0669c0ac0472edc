"""Multi-level tiling for the units of a GPU that multiply matrices.

The block becomes a product of two matrices whose tiles are fragments: its iterators are fused to
those of the intrinsic, the operands are copied to buffers of two dimensions, to shared memory and
to fragments, and the result back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import prod
from operator import add
from typing import Any, NamedTuple

from te_sched.errors import DeclarationError, ScheduleError, repr_of
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.dtypes import bits
from te_sched.ir.expr import BufferRegion, Expr, IterVar, Var
from te_sched.ir.index_map import IndexMap
from te_sched.ir.stmt import BufferStore
from te_sched.ir.storage_scopes import storage_scope
from te_sched.ir.visitor import substitute, walk
from te_sched.meta_schedule.schedule_rule.block_properties import AUTO_TENSORIZE, split_factor
from te_sched.meta_schedule.schedule_rule.multi_level_tiling import (
    MultiLevelTiling,
    States,
    TilingState,
)
from te_sched.tensorir.facts.axes import extent_of
from te_sched.tensorir.facts.computations import loads_of
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tensorir.intrinsics import BlockIntrin, Mismatch, matched, unknown
from te_sched.tensorir.tiling import tile_with_tensor_intrin
from te_sched.tir.schedule import Schedule

_FRAGMENTS = ("wmma.matrix_a", "wmma.matrix_b")
_ALIGNED = 32  # elements of a row of shared memory, apart from an offset that avoids conflicts
_OFFSET_BITS = 128


class IntrinGroup(NamedTuple):
    """The names of intrinsics that work together."""

    init: str
    load_a: str
    load_b: str
    compute: str
    store: str


@dataclass
class TensorCoreState(TilingState):
    """A state with the intrinsics of its tiles, and the block that copies the result back."""

    group: IntrinGroup = field(default_factory=lambda: IntrinGroup("", "", "", "", ""))
    result: BlockRV | None = None


class MultiLevelTilingTensorCore(MultiLevelTiling):
    """Tiles products of matrices, and blocks that are such products after their iterators are
    fused, for the intrinsics of each group that computes them.

    Parameters
    ----------
    intrin_groups : dictionaries with the names of intrinsics, as `get_wmma_intrin_group` makes.
    structure, tile_binds, ... : as of `MultiLevelTiling`. Caches in shared memory are required.
    use_software_pipeline : overlap copies with computation.
    """

    def __init__(
        self,
        intrin_groups: Sequence[Mapping[str, str]],
        structure: str,
        tile_binds: Sequence[str] | None = None,
        max_innermost_factor: int | None = None,
        vector_load_lens: Sequence[int] | None = None,
        reuse_read: Any = None,
        reuse_write: Any = None,
        use_software_pipeline: bool = False,
    ) -> None:
        super().__init__(
            structure,
            tile_binds,
            max_innermost_factor,
            vector_load_lens,
            reuse_read,
            reuse_write,
        )
        for name, reuse in (("reuse_read", self.reuse_read), ("reuse_write", self.reuse_write)):
            if reuse is None or reuse.req != "must" or storage_scope(reuse.scope).owner != "block":
                raise DeclarationError(
                    f"{name} of MultiLevelTilingTensorCore is {repr_of(reuse)}",
                    "fragments are copied from and to shared memory",
                    'give ReuseType(req="must", levels=[...], scope="shared")',
                )
        self.groups = [_group(group) for group in intrin_groups]
        self.use_software_pipeline = use_software_pipeline

    def tiled(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        states: States = [
            TensorCoreState(sch.copy(), block, group=group)
            for group in reversed(self.groups)
            if _computes(sch, block, group)
        ]
        for state in states:
            self.mark(state.sch, block)
        return [state.sch for state in self.apply_steps(states)] or [sch]

    def steps(self) -> list[Callable[[TilingState], States]]:
        return [
            _step(self.make_product),
            self.tile_loops,
            _step(self.lay_out_result),
            _step(self.cache_result),
            self.cache_reads,
            _step(self.load_fragments),
            _step(self.align_caches),
            _step(self.annotate_pipeline),
        ]

    def divide(self, loops: list[LoopRV]) -> tuple[list[LoopRV], list[LoopRV]]:
        return loops[:-3], loops[-3:]

    def make_product(self, state: TensorCoreState) -> None:
        """Make a block of the tile of the intrinsic."""
        state.result = _as_product(state.sch, state.block, state.group)
        state.block = _tile(state.sch, state.block, state.group.compute)
        state.sch.annotate(state.block, f"{AUTO_TENSORIZE}_init", state.group.init)
        state.sch.annotate(state.block, "warp_execution", 1)

    def lay_out_result(self, state: TensorCoreState) -> None:
        """Order the elements of the result by the tiles that a thread computes."""
        levels = [level for level, tile_kind in enumerate(self.structure) if tile_kind == "S"]
        inner = levels[len(self.tile_binds) :]
        sch = state.sch
        counts = [
            prod([split_factor(sch, state.tiles[level][axis].key) for level in inner], start=1)
            for axis in (0, 1)
        ]
        (written,) = sch.block(state.block.key).writes
        rank = len(written.region)
        indices = [Var(f"i{number}") for number in range(rank)]
        sizes = [_fragment(state.group, axis) for axis in (0, 1)]
        tiles = [index // size for index, size in zip(indices[-2:], sizes, strict=True)]
        new: list[Any] = [
            *indices[:-2],
            *[tile // count for tile, count in zip(tiles, counts, strict=True)],
            *[tile % count for tile, count in zip(tiles, counts, strict=True)],
            *[index % size for index, size in zip(indices[-2:], sizes, strict=True)],
        ]
        mapping = IndexMap(tuple(indices), tuple(new))
        change: Any = sch.transform_layout
        change(state.block, ("write", 0), mapping, assume_injective_transform=True)

    def cache_result(self, state: TensorCoreState) -> None:
        """Copy the result from fragments to shared memory, and from there to where it belongs."""
        state.sch = state.sch.copy()
        sch, reuse = state.sch, self.reuse_write
        assert reuse is not None
        assert state.result is not None
        shared = sch.cache_write(state.block, 0, reuse.scope)
        sch.reverse_compute_at(shared, state.last_loop(reuse.levels[0]), True)
        fragments = sch.cache_write(state.block, 0, "wmma.accumulator")
        first, second, rows, columns, _, _ = sch.get_loops(shared)[-6:]
        sch.reorder(rows, first, second, columns)
        sch.compute_at(fragments, rows, True)
        loops = sch.get_loops(fragments)
        sch.bind(sch.fuse(*loops[-6:-4]), self.tile_binds[-1])
        sch.reverse_compute_inline(state.result)
        stored = sch.blockize(sch.get_loops(fragments)[-2])
        sch.annotate(stored, AUTO_TENSORIZE, state.group.store)
        sch.fuse(*sch.get_loops(shared)[-5:])
        self.fetch_together(sch, shared)

    def load_fragments(self, state: TensorCoreState) -> None:
        """Copy the operands from shared memory to fragments."""
        levels = [level for level, tile_kind in enumerate(self.structure) if tile_kind == "R"]
        names = (state.group.load_a, state.group.load_b)
        for number, (scope, name) in enumerate(zip(_FRAGMENTS, names, strict=True)):
            cache = state.sch.cache_read(state.block, number, scope)
            state.sch.compute_at(cache, state.last_loop(levels[1] + 1), True)
            _tile(state.sch, cache, name)

    def align_caches(self, state: TensorCoreState) -> None:
        """Inline the copies to two dimensions, and align the rows in shared memory."""
        sch = state.sch
        for cache in state.caches:
            (copy,) = sch.get_producers(cache)
            sch.compute_inline(copy)
            (written,) = sch.block(cache.key).writes
            offset = _OFFSET_BITS // bits(written.buffer.dtype)
            sch.storage_align(cache, 0, axis=-2, factor=_ALIGNED, offset=offset)

    def annotate_pipeline(self, state: TensorCoreState) -> None:
        """Annotate the reduction loops as software pipelines."""
        if not self.use_software_pipeline:
            return
        sch = state.sch
        for cache in state.caches:
            sch.annotate(cache, "tir.manifest_shared_memory_local_stage", 1)
            sch.annotate(cache, "double_buffer_scope", 0)
        levels = [level for level, tile_kind in enumerate(self.structure) if tile_kind == "R"]
        outer, inner = [state.last_loop(level + 1) for level in levels[:2]]
        sch.annotate(inner, "software_pipeline_stage", [0, 0, 1])
        sch.annotate(inner, "software_pipeline_order", [0, 1, 2])
        sch.annotate(outer, "software_pipeline_stage", [0, 0, 0, 0, 0, 1, 1])
        sch.annotate(outer, "software_pipeline_order", [0, 3, 1, 4, 5, 2, 6])


def _step(change: Callable[[TensorCoreState], None]) -> Callable[[TilingState], States]:
    """A step that changes a state."""

    def step(state: TilingState) -> States:
        assert isinstance(state, TensorCoreState)
        change(state)
        return [state]

    return step


def _group(intrinsics: Mapping[str, str]) -> IntrinGroup:
    try:
        group = IntrinGroup(**intrinsics)
    except TypeError:
        raise DeclarationError(
            f"{repr_of(intrinsics)} is not a group of intrinsics",
            "",
            "give a dictionary with init, load_a, load_b, compute and store",
        ) from None
    for name in group:
        if BlockIntrin.get(name, allow_missing=True) is None:
            raise unknown(DeclarationError, name)
    return group


def _described(group: IntrinGroup) -> Block:
    """The innermost block of the description of a product."""
    intrinsic = BlockIntrin.get(group.compute)
    assert intrinsic is not None
    return [node for node in walk(intrinsic.desc.body) if type(node) is Block][-1]


def _fragment(group: IntrinGroup, axis: int) -> int:
    """The extent of an axis of a fragment."""
    extent = extent_of(_described(group).iter_vars[axis])
    assert extent is not None
    return extent


def _tile(sch: Schedule, block: BlockRV, name: str) -> BlockRV:
    """A block of the tile of an intrinsic, marked for `RewriteTensorize`."""
    loop = tile_with_tensor_intrin(sch, block, name, allow_padding=True)
    if loop is None:
        raise ScheduleError(
            f"block {block.name} has no tile of intrinsic {name}",
            "its loops do not correspond to those of the description",
            "leave the block to other rules",
        )
    tile = sch.blockize(loop)
    sch.annotate(tile, AUTO_TENSORIZE, name)
    return tile


def _computes(sch: Schedule, block: BlockRV, group: IntrinGroup) -> bool:
    """Whether a block is a product of matrices that a group of intrinsics computes."""
    intrinsic = BlockIntrin.get(group.compute)
    assert intrinsic is not None
    own, described = sch.block(block.key), intrinsic.desc.body
    assert isinstance(described, BlockRealize)
    dtypes = [intrinsic.desc.buffer_map[param].dtype for param in intrinsic.desc.params]
    regions = [*own.reads, *own.writes]
    if [region.buffer.dtype for region in regions] != dtypes:
        return False
    trial = Schedule(sch.mod)
    trial.work_on(sch.function_of(block.key))
    try:
        again = trial.get_block(block.name)
        _as_product(trial, again, group)
        tile = trial.block(_tile(trial, again, group.compute).key)
        matched(described.block.body, tile.body, any_scope=True)
    except (ScheduleError, Mismatch):
        return False
    return True


def _as_product(sch: Schedule, block: BlockRV, group: IntrinGroup) -> BlockRV:
    """Fuse the iterators of a block to those of a product, and copy its operands and result to
    buffers whose indices these are; returns the block that copies the result back.
    """
    places = (("write", 0), ("read", 0), ("read", 1))
    copies = [sch.reindex(block, side) for side in places]
    own = sch.block(block.key)
    operands = [_indices(region) for region in (own.writes[0], *own.reads)]
    described = _described(group)
    theirs = _operands_of(described)
    fused = {
        axis.var: [
            iter_var.var for iter_var in own.iter_vars if _alike(iter_var, axis, operands, theirs)
        ]
        for axis in described.iter_vars
    }
    if not all(fused.values()):
        raise ScheduleError(
            f"block {block.name} is not a product of matrices",
            "an iterator of the product has no counterpart",
            "leave the block to other rules",
        )
    extents = {axis.var: axis.dom.extent for axis in own.iter_vars if axis.dom is not None}
    exprs = {var: _joined(parts, extents) for var, parts in fused.items()}
    taken = {var for parts in fused.values() for var in parts}

    def mapping(indices: Sequence[Var], wanted: Sequence[Var]) -> IndexMap:
        names = [Var(var.name, var.dtype) for var in indices]
        fresh: dict[Var, Expr] = dict(zip(indices, names, strict=True))
        new = [*[var for var in indices if var not in taken], *[exprs[var] for var in wanted]]
        return IndexMap(tuple(names), tuple([substitute(expr, fresh) for expr in new]))

    maps = [mapping(*pair) for pair in zip(operands, theirs, strict=True)]
    change: Any = sch.transform_layout
    for access, index_map in ((places[1], maps[1]), (places[2], maps[2]), (places[0], maps[0])):
        change(block, access, index_map, assume_injective_transform=True)
    for copy, index_map in zip(copies, maps, strict=True):
        sch.transform_block_layout(copy, index_map)
    axes = [axis.var for axis in own.iter_vars]
    sch.transform_block_layout(block, mapping(axes, [*fused]))
    return copies[0]


def _indices(region: BufferRegion) -> list[Var]:
    """The iterators that are the indices of a region after `reindex`."""
    return [bound.min for bound in region.region if isinstance(bound.min, Var)]


def _operands_of(described: Block) -> list[list[Var]]:
    """The iterators of the result and the two operands of a description."""
    store = described.body
    assert isinstance(store, BufferStore)
    places = [store.indices, *[load.indices for load in loads_of(described)]]
    return [[index for index in indices if isinstance(index, Var)] for indices in places]


def _alike(
    own: IterVar, theirs: IterVar, operands: Sequence[list[Var]], described: Sequence[list[Var]]
) -> bool:
    """Whether an iterator is one of those that a description's stands for: of the same kind, and
    an index of the same operands.
    """
    return own.kind == theirs.kind and all(
        (own.var in mine) == (theirs.var in other)
        for mine, other in zip(operands, described, strict=True)
    )


def _joined(parts: Sequence[Var], extents: Mapping[Var, Expr]) -> Expr:
    """Iterators as one, the first the most significant."""
    sizes = [extents[var] for var in parts]
    scaled = [
        var if number == len(parts) - 1 else var * prod(sizes[number + 1 :], start=ops.const(1))
        for number, var in enumerate(parts)
    ]
    return reduce(add, scaled)
