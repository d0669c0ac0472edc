"""The default rules of each kind of target, in the order in which they apply: those of TVM 0.19."""

from __future__ import annotations

from typing import NamedTuple

from te_sched.meta_schedule.schedule_rule.add_rfactor import AddRFactor
from te_sched.meta_schedule.schedule_rule.apply_custom_rule import ApplyCustomRule
from te_sched.meta_schedule.schedule_rule.auto_bind import AutoBind
from te_sched.meta_schedule.schedule_rule.auto_inline import AutoInline, InlineConstantScalars
from te_sched.meta_schedule.schedule_rule.base import DEFAULTS, ScheduleRule
from te_sched.meta_schedule.schedule_rule.cross_thread_reduction import CrossThreadReduction
from te_sched.meta_schedule.schedule_rule.multi_level_tiling import MultiLevelTiling, ReuseType
from te_sched.meta_schedule.schedule_rule.multi_level_tiling_tensor_core import (
    MultiLevelTilingTensorCore,
)
from te_sched.meta_schedule.schedule_rule.multi_level_tiling_variants import (
    MultiLevelTilingWithIntrin,
)
from te_sched.meta_schedule.schedule_rule.parallelize_vectorize_unroll import (
    ParallelizeVectorizeUnroll,
)
from te_sched.meta_schedule.schedule_rule.random_compute_location import RandomComputeLocation
from te_sched.tensorir.tensor_intrin import arm_cpu, cuda, x86


class _Processor(NamedTuple):
    """What the rules for a processor depend on: the most parallel iterations of a core, the largest
    innermost tile, the most lanes of a vector, and how many statements unrolling may make.
    """

    jobs: int
    factor: int
    lanes: int
    unrolled: list[int]


_X86 = _Processor(16, 64, 64, [0, 16, 64, 512])
_ARM = _Processor(8, 32, 32, [0, 8, 32, 256])


def _processor(machine: _Processor, *intrinsics: str) -> list[ScheduleRule]:
    """The rules for a processor; its intrinsics, for products of small integers, are tried in
    order.
    """
    structure, factor = "SSRSRS", machine.factor
    write = ReuseType("may", [1, 2], "global")
    return [
        ApplyCustomRule(),
        InlineConstantScalars(),
        AutoInline(
            into_producer=False,
            into_consumer=True,
            inline_const_tensor=True,
            disallow_if_then_else=True,
            require_injective=True,
            require_ordered=True,
            disallow_op=["tir.exp"],
        ),
        AddRFactor(max_jobs_per_core=machine.jobs, max_innermost_factor=factor),
        *[
            MultiLevelTilingWithIntrin(
                name, structure, max_innermost_factor=factor, reuse_write=write
            )
            for name in intrinsics
        ],
        MultiLevelTiling(structure, max_innermost_factor=factor, reuse_write=write),
        ParallelizeVectorizeUnroll(machine.jobs, machine.lanes, machine.unrolled),
        RandomComputeLocation(),
    ]


def _gpu(*first: ScheduleRule) -> list[ScheduleRule]:
    """The rules for a GPU; some are tried before those of its ordinary units."""
    return [
        ApplyCustomRule(),
        *first,
        MultiLevelTiling(
            structure="SSSRRSRS",
            tile_binds=["blockIdx.x", "vthread.x", "threadIdx.x"],
            max_innermost_factor=64,
            vector_load_lens=_LANES,
            reuse_read=ReuseType("must", [4], "shared"),
            reuse_write=ReuseType("must", [3], "local"),
        ),
        InlineConstantScalars(),
        AutoInline(
            into_producer=True,
            into_consumer=True,
            inline_const_tensor=True,
            disallow_if_then_else=False,
            require_injective=False,
            require_ordered=False,
        ),
        CrossThreadReduction(thread_extents=[4, 8, 16, 32, 64, 128, 256, 512]),
        ParallelizeVectorizeUnroll(
            max_jobs_per_core=-1,
            max_vectorize_extent=-1,
            unroll_max_steps=[0, 16, 64, 512, 1024],
        ),
        AutoBind(max_threadblocks=256, thread_extents=[32, 64, 128, 256, 512, 1024]),
    ]


_LANES = [1, 2, 3, 4, 8, 16]  # that a thread may copy at once


def _tensor_core() -> list[ScheduleRule]:
    """The rules for a GPU with units for matrices."""
    return _gpu(_products("float16", "float32", "float16"), _products("int8", "int32"))


def _products(dtype: str, *results: str) -> ScheduleRule:
    """The rule for products of matrices of a type; the second may be stored in either order."""
    scope = "shared.dyn"
    return MultiLevelTilingTensorCore(
        [
            cuda.get_wmma_intrin_group(scope, scope, dtype, result, is_trans)
            for result in results
            for is_trans in (False, True)
        ],
        structure="SSSRRSRS",
        tile_binds=["blockIdx.y", "blockIdx.x", "threadIdx.y"],
        max_innermost_factor=4,
        vector_load_lens=_LANES,
        reuse_read=ReuseType("must", [4], scope),
        reuse_write=ReuseType("must", [2], scope),
    )


DEFAULTS |= {
    "llvm": lambda: _processor(_X86),
    "avx512": lambda: _processor(_X86, x86.AVX512_DOT_16x4_INTRIN),
    "vnni": lambda: _processor(_X86, x86.VNNI_DOT_16x4_INTRIN),
    "asimd": lambda: _processor(_ARM, arm_cpu.ARM_DOT_4x4_i8_NEON_INTRIN),
    "dotprod": lambda: _processor(
        _ARM,
        arm_cpu.ARM_DOT_4x4_i8_SDOT_INTRIN,
        arm_cpu.ARM_DOT_4x4_u8_UDOT_INTRIN,
        arm_cpu.ARM_DOT_4x4_u8_HDOT_INTRIN,
    ),
    "cuda": _gpu,
    "cuda-tensorcore": _tensor_core,
}
