"""Multi-level tiling with an innermost tile of a given size: of an intrinsic, or of a vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from te_sched.errors import DeclarationError, ScheduleError, repr_of
from te_sched.ir.blocks import BlockRealize
from te_sched.ir.dtypes import bits
from te_sched.ir.expr import Var
from te_sched.ir.visitor import variables_of
from te_sched.meta_schedule.schedule_rule.block_properties import AUTO_TENSORIZE
from te_sched.meta_schedule.schedule_rule.multi_level_tiling import (
    MultiLevelTiling,
    States,
    TilingState,
)
from te_sched.signatures import is_index
from te_sched.tensorir.facts.nests import loop_extent
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tensorir.intrinsics import BlockIntrin, Mismatch, matched, unknown
from te_sched.tensorir.tiling import tile_with_tensor_intrin
from te_sched.tir.schedule import Schedule


class MultiLevelTilingWithIntrin(MultiLevelTiling):
    """Tiles blocks whose innermost tile is what an intrinsic computes; others are left alone.

    Parameters
    ----------
    intrin_name : the name of the intrinsic, which `RewriteTensorize` puts in its place.
    structure, ... : as of `MultiLevelTiling`, for the loops around the innermost tile.
    """

    def __init__(
        self,
        intrin_name: str,
        structure: str,
        tile_binds: Sequence[str] | None = None,
        max_innermost_factor: int | None = None,
        vector_load_lens: Sequence[int] | None = None,
        reuse_read: Any = None,
        reuse_write: Any = None,
    ) -> None:
        super().__init__(
            structure,
            tile_binds,
            max_innermost_factor,
            vector_load_lens,
            reuse_read,
            reuse_write,
        )
        intrinsic = BlockIntrin.get(intrin_name, allow_missing=True)
        if intrinsic is None:
            raise unknown(DeclarationError, intrin_name)
        self.intrin_name, self._intrinsic = intrin_name, intrinsic

    def tiled(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        return super().tiled(sch.copy(), block)  # decisions are then TVM's

    def accepts(self, sch: Schedule, block: BlockRV) -> bool:
        return super().accepts(sch, block) and self._computes(sch, block)

    def _computes(self, sch: Schedule, block: BlockRV) -> bool:
        """Whether the innermost tile of a block is what the intrinsic computes."""
        own = sch.block(block.key)
        described = self._intrinsic.desc.body
        assert isinstance(described, BlockRealize)
        dtypes = {buffer.dtype for buffer in self._intrinsic.desc.buffer_map.values()}
        if {region.buffer.dtype for region in (*own.reads, *own.writes)} != dtypes:
            return False
        trial = Schedule(sch.mod)
        trial.work_on(sch.function_of(block.key))
        try:
            loop = tile_with_tensor_intrin(trial, trial.get_block(block.name), self.intrin_name)
            if loop is None:
                return False
            tile = trial.block(trial.blockize(loop).key)
            matched(described.block.body, tile.body, any_scope=True)
        except (ScheduleError, Mismatch):
            return False
        return True

    def steps(self) -> list[Callable[[TilingState], States]]:
        return [self.tile_for_intrin, *super().steps()]

    def tile_for_intrin(self, state: TilingState) -> States:
        """Make a block of the tile of the intrinsic, and go on with that."""
        loop = tile_with_tensor_intrin(state.sch, state.block, self.intrin_name)
        assert loop is not None
        state.block = state.sch.blockize(loop)
        state.sch.annotate(state.block, AUTO_TENSORIZE, self.intrin_name)
        return [state]


class MultiLevelTilingWideVector(MultiLevelTiling):
    """Tiles blocks so that their innermost loop is one vector, as long as the result has elements.

    Parameters
    ----------
    vector_length_in_bits : the size of a vector.
    structure, ... : as of `MultiLevelTiling`.
    """

    def __init__(
        self,
        structure: str,
        vector_length_in_bits: int,
        max_innermost_factor: int | None = None,
        reuse_read: Any = None,
        reuse_write: Any = None,
    ) -> None:
        super().__init__(structure, None, max_innermost_factor, None, reuse_read, reuse_write)
        if not is_index(vector_length_in_bits) or vector_length_in_bits < 1:
            raise DeclarationError(
                f"a vector has {repr_of(vector_length_in_bits)} bits", "", "give a positive number"
            )
        self.vector_length_in_bits = int(vector_length_in_bits)

    def split_loop(self, sch: Schedule, block: BlockRV, loop: LoopRV, count: int) -> list[LoopRV]:
        if count < 2 or loop.key is not _last_loop(sch, block):
            return super().split_loop(sch, block, loop, count)
        (written,) = sch.block(block.key).writes
        lanes = max(1, self.vector_length_in_bits // bits(written.buffer.dtype))
        extent = loop_extent(sch, loop.key)
        if extent is not None and extent <= lanes:
            return list(sch.split(loop, [*[1] * (count - 1), extent]))
        outer, inner = sch.split(loop, [None, lanes])
        return [*super().split_loop(sch, block, outer, count - 1), inner]


def _last_loop(sch: Schedule, block: BlockRV) -> Var | None:
    """The loop of the last index that a block writes."""
    realize = sch.realize(block.key)
    (written,) = realize.block.writes
    last = {*variables_of(written.region[-1].min)} if written.region else set()
    for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        if axis.var in last and isinstance(value, Var):
            return value
    return None
