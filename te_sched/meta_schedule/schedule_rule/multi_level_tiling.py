"""The rule that tiles blocks at several levels, with caches of what they read and write.

A structure such as "SSRSRS" names the levels from outside: at an S all data parallel loops of the
block have a tile, at an R all its reduction loops (Ansor, OSDI 2020, calls the rule multi-level
tiling).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from te_sched.errors import DeclarationError, repr_of
from te_sched.ir.dtypes import bits
from te_sched.ir.stmt import For, SeqStmt
from te_sched.meta_schedule.schedule_rule.base import ScheduleRule
from te_sched.meta_schedule.schedule_rule.block_properties import TILING, needs_multi_level_tiling
from te_sched.meta_schedule.schedule_rule.targets import can_copy_asynchronously
from te_sched.signatures import is_sequence
from te_sched.tensorir.facts.axes import SPATIAL, letter_of
from te_sched.tensorir.facts.computations import follows
from te_sched.tensorir.facts.nests import kind_of_loop, loop_extent
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tir.schedule import Schedule

if TYPE_CHECKING:
    from te_sched.codegen.target import Target
    from te_sched.meta_schedule.tune_context import TuneContext

_LEVELS = "meta_schedule.write_cache_level"
_REQUESTS = ("no", "may", "must")
_STAGES = (4, 5)  # of software pipelines whose copies to shared memory are asynchronous


class ReuseType(NamedTuple):
    """Where a tiled block caches what it reads or writes.

    `req`: "no", "may" (spaces with and without) or "must". `levels`: the numbers of the levels,
    from 1, whose innermost loop computes the cache. `scope`: of its memory.
    """

    req: str
    levels: list[int]
    scope: str

    def as_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return self._asdict()


@dataclass
class TilingState:
    """A schedule whose block is being tiled, the loops of each level, and the copies of what the
    block reads.
    """

    sch: Schedule
    block: BlockRV
    tiles: list[list[LoopRV]] = field(default_factory=list)
    caches: list[BlockRV] = field(default_factory=list)

    def copy(self) -> Self:
        """A state of a copy of the schedule."""
        return replace(self, sch=self.sch.copy(), tiles=[*self.tiles], caches=[*self.caches])

    def last_loop(self, level: int) -> LoopRV:
        """The innermost loop of a level; levels are counted from 1."""
        return self.tiles[level - 1][-1]


States = list[TilingState]


class MultiLevelTiling(ScheduleRule):
    """Tiles reductions that read elements several times.

    Parameters
    ----------
    structure : the levels, outermost first, as "SSRSRS".
    tile_binds : the thread axes of the first levels, each of which becomes one loop.
    max_innermost_factor : the largest innermost tile; None for any.
    vector_load_lens : how many elements a thread may copy at once, of which one is sampled for each
        cache of what is read.
    reuse_read, reuse_write : the caches; a `ReuseType`, or its fields in a dictionary.
    filter_fn : a function of a schedule and a block that accepts other blocks, too.
    """

    def __init__(
        self,
        structure: str,
        tile_binds: Sequence[str] | None = None,
        max_innermost_factor: int | None = None,
        vector_load_lens: Sequence[int] | None = None,
        reuse_read: Any = None,
        reuse_write: Any = None,
        filter_fn: Callable[[Schedule, BlockRV], bool] | None = None,
    ) -> None:
        _check_structure(structure)
        self.structure, self.tile_binds = structure, list(tile_binds or ())
        self.max_innermost_factor = max_innermost_factor
        self.vector_load_lens = [int(length) for length in vector_load_lens or ()]
        self.reuse_read = _reuse("reuse_read", reuse_read, ("no", "must"), len(structure))
        self.reuse_write = _reuse("reuse_write", reuse_write, _REQUESTS, len(structure))
        self.filter_fn = filter_fn
        self._target: Target | None = None

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._target = context.target

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """Schedules of the block with tiles, one for each choice of caches."""
        return self.tiled(sch, block) if self.accepts(sch, block) else [sch]

    def tiled(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedules of a block that the rule accepts."""
        self.mark(sch, block)
        return [state.sch for state in self.apply_steps([TilingState(sch, block)])]

    def mark(self, sch: Schedule, block: BlockRV) -> None:
        """Annotate a block as tiled."""
        sch.annotate(block, TILING, self.structure)

    def accepts(self, sch: Schedule, block: BlockRV) -> bool:
        """Whether the rule applies to a block."""
        if self.filter_fn is not None and self.filter_fn(sch, block):
            return True
        return needs_multi_level_tiling(sch, sch.block_key(block, "MultiLevelTiling"))

    def apply_steps(self, states: States) -> States:
        """The states after each step in turn."""
        for step in self.steps():
            states = [new for state in states for new in step(state)]
        return states

    def steps(self) -> list[Callable[[TilingState], States]]:
        """The steps of the rule; each makes states of a state."""
        return [self.tile_loops, self.cache_writes, self.cache_reads, self.pipeline_copies]

    # -- tiles -------------------------------------------------------------------------------------

    def tile_loops(self, state: TilingState) -> States:
        """Split the loops of the block, reorder the tiles, and bind the outer ones to threads."""
        sch, block = state.sch, state.block
        spatial = self._spatial_size(sch, block)
        outer, inner = self.divide(sch.get_loops(block))
        state.tiles = self._tiled(sch, block, inner)
        sch.reorder(*[loop for tile in state.tiles for loop in tile])
        state.tiles[0] = [*outer, *state.tiles[0]]
        for level, axis in enumerate(self.tile_binds[: len(state.tiles)]):
            fused = sch.fuse(*state.tiles[level])
            sch.bind(fused, axis)
            state.tiles[level] = [fused]
        self._limit_threads(sch, block, spatial)
        return [state]

    def divide(self, loops: list[LoopRV]) -> tuple[list[LoopRV], list[LoopRV]]:
        """The loops that belong to the outermost level as they are, and those to split."""
        return [], loops

    def _tiled(self, sch: Schedule, block: BlockRV, loops: Iterable[LoopRV]) -> list[list[LoopRV]]:
        """The loops of each level."""
        key = sch.block_key(block, "MultiLevelTiling")
        tiles: list[list[LoopRV]] = [[] for _ in self.structure]
        for loop in loops:
            kind = kind_of_loop(sch, key, loop.key)
            letter = letter_of(kind)
            levels = [
                level for level, tile_kind in enumerate(self.structure) if tile_kind == letter
            ]
            new_loops = self.split_loop(sch, block, loop, len(levels))
            for level, tile in zip(levels, new_loops, strict=True):
                tiles[level].append(tile)
        return tiles

    def split_loop(self, sch: Schedule, block: BlockRV, loop: LoopRV, count: int) -> list[LoopRV]:
        """A loop of a block split into tiles of sampled sizes."""
        if count < 2:
            return [loop] * count
        factors = sch.sample_perfect_tile(loop, count, self.max_innermost_factor or 0)
        return list(sch.split(loop, factors))

    def _spatial_size(self, sch: Schedule, block: BlockRV) -> int:
        """The number of data parallel iterations of a block."""
        key = sch.block_key(block, "MultiLevelTiling")
        size = 1
        for loop in sch.loops_above(key):
            if kind_of_loop(sch, key, loop) == SPATIAL:
                size *= loop_extent(sch, loop) or 1
        return size

    def _limit_threads(self, sch: Schedule, block: BlockRV, spatial: int) -> None:
        """Annotate the block with the numbers of threads that make sense on a GPU, if the target
        says how many it has.
        """
        if self._target is None or "max_threads_per_block" not in self._target.options:
            return
        warp, most = self._target.thread_warp_size, self._target.max_threads_per_block
        fewest = warp if spatial > 2 * warp else 1
        sch.annotate(block, "meta_schedule.thread_extent_low_inclusive", fewest)
        sch.annotate(block, "meta_schedule.thread_extent_high_inclusive", most)

    # -- caches ------------------------------------------------------------------------------------

    def cache_writes(self, state: TilingState) -> States:
        """States with a cache of what the block writes, or with its consumer in its place."""
        reuse = self.reuse_write
        stated = state.sch.block(state.block.key).annotations.get(_LEVELS)
        if stated is not None:
            reuse = ReuseType("must", [int(level) for level in stated], self._write_scope())
        if reuse is None or reuse.req == "no":
            return [state]
        states: States = []
        if reuse.req == "may":
            readers = state.sch.get_consumers(state.block)
            if len(readers) == 1 and _is_copy_like(state.sch, readers[0]):
                for level in reuse.levels:
                    new = state.copy()
                    new.sch.reverse_compute_at(readers[0], new.last_loop(level), True)
                    states.append(new)
                return [*states, state]
            states.append(state.copy())
        for level in reuse.levels:
            new = state.copy()
            cache = new.sch.cache_write(new.block, 0, reuse.scope)
            new.sch.reverse_compute_at(cache, new.last_loop(level), True)
            states.append(new)
        return states

    def _write_scope(self) -> str:
        return "global" if self.reuse_write is None else self.reuse_write.scope

    def cache_reads(self, state: TilingState) -> States:
        """States with caches of what the block reads."""
        reuse = self.reuse_read
        if reuse is None or reuse.req == "no":
            return [state]
        states: States = []
        for level in reuse.levels:
            new = state.copy()
            for number, region in enumerate(new.sch.block(new.block.key).reads):
                cache = new.sch.cache_read(new.block, number, reuse.scope, [new.block])
                new.sch.compute_at(cache, new.last_loop(level), True)
                loops = new.sch.get_loops(cache)
                new.sch.fuse(*loops[len(loops) - len(region.region) :])
                self.fetch_together(new.sch, cache)
                new.caches.append(cache)
            states.append(new)
        return states

    def fetch_together(self, sch: Schedule, block: BlockRV) -> None:
        """Annotate a copy with how many elements each thread moves at once."""
        (written,) = sch.block(block.key).writes
        choices = [
            length for length in self.vector_load_lens if _is_vector(written.buffer.dtype, length)
        ]
        if choices:
            lanes = sch.sample_categorical(choices, [1.0 / len(choices)] * len(choices))
            sch.annotate(block, "meta_schedule.cooperative_fetch", lanes)

    # -- pipelines ---------------------------------------------------------------------------------

    def pipeline_copies(self, state: TilingState) -> States:
        """The state, and states whose outermost reduction loop is a software pipeline with
        asynchronous copies, if the GPU has them and two copies precede the computation.
        """
        level = self.structure.find("R")
        if not can_copy_asynchronously(self._target) or level < 0 or self.reuse_read is None:
            return [state]
        loop = state.sch.get(state.last_loop(level + 1))
        assert isinstance(loop, For)
        if loop.thread_binding is not None or type(loop.body) is not SeqStmt:
            return [state]
        if len(loop.body.seq) != 3:
            return [state]
        states = [state]
        for stage in _STAGES:
            new = state.copy()
            fused = new.sch.fuse(*new.tiles[level])
            new.tiles[level] = [fused]
            new.sch.annotate(fused, "software_pipeline_stage", [0, 0, stage - 2])
            new.sch.annotate(fused, "software_pipeline_order", [0, 1, 2])
            new.sch.annotate(fused, "software_pipeline_async_stages", [0])
            states.append(new)
        return states


def _is_vector(dtype: str, lanes: int) -> bool:
    """Whether a GPU moves that many elements at once: at most 128 bits; pairs of float16."""
    is_paired = lanes == 1 or lanes % 2 == 0 or bits(dtype) != 16
    return lanes * bits(dtype) <= 128 and is_paired


def _is_copy_like(sch: Schedule, reader: BlockRV) -> bool:
    """Whether a consumer writes each element where it reads it, so that it takes the place of a
    cache.
    """
    block = sch.block(reader.key)
    return follows(block.reads, block.writes)


def _check_structure(structure: Any) -> None:
    if not structure or {*structure} - {*"SR"}:
        raise DeclarationError(
            f"{repr_of(structure)} is not a tiling structure",
            "its letters are the levels, outermost first: S of data parallel loops, R of "
            "reduction loops",
            'give a text such as "SSRSRS"',
        )


def _reuse(name: str, value: Any, requests: Sequence[str], levels: int) -> ReuseType | None:
    if value is None:
        return None
    try:
        reuse = value if isinstance(value, ReuseType) else ReuseType(**value)
    except TypeError:
        raise DeclarationError(
            f"{name} is {repr_of(value)}, expected a ReuseType",
            "",
            'give ReuseType(req="must", levels=[1], scope="global")',
        ) from None
    if reuse.req not in requests:
        raise DeclarationError(
            f"{name} cannot be required as {repr_of(reuse.req)}",
            "",
            f"give one of {', '.join(map(repr, requests))}",
        )
    if not is_sequence(reuse.levels) or not all(
        1 <= int(level) <= levels for level in reuse.levels
    ):
        raise DeclarationError(
            f"{name} has levels {repr_of(reuse.levels)}",
            f"the structure has the levels 1 to {levels}",
            "give numbers of levels",
        )
    return reuse._replace(levels=[int(level) for level in reuse.levels])
