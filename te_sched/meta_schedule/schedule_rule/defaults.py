"""The default rules of each kind of target, in the order in which they apply: those of TVM 0.19."""

from __future__ import annotations

from te_sched.meta_schedule.schedule_rule.add_rfactor import AddRFactor
from te_sched.meta_schedule.schedule_rule.apply_custom_rule import ApplyCustomRule
from te_sched.meta_schedule.schedule_rule.auto_bind import AutoBind
from te_sched.meta_schedule.schedule_rule.auto_inline import AutoInline, InlineConstantScalars
from te_sched.meta_schedule.schedule_rule.base import DEFAULTS, ScheduleRule
from te_sched.meta_schedule.schedule_rule.cross_thread_reduction import CrossThreadReduction
from te_sched.meta_schedule.schedule_rule.multi_level_tiling import MultiLevelTiling, ReuseType
from te_sched.meta_schedule.schedule_rule.parallelize_vectorize_unroll import (
    ParallelizeVectorizeUnroll,
)
from te_sched.meta_schedule.schedule_rule.random_compute_location import RandomComputeLocation


def _llvm() -> list[ScheduleRule]:
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
        AddRFactor(max_jobs_per_core=16, max_innermost_factor=64),
        MultiLevelTiling(
            structure="SSRSRS",
            max_innermost_factor=64,
            reuse_write=ReuseType("may", [1, 2], "global"),
        ),
        ParallelizeVectorizeUnroll(
            max_jobs_per_core=16, max_vectorize_extent=64, unroll_max_steps=[0, 16, 64, 512]
        ),
        RandomComputeLocation(),
    ]


def _cuda() -> list[ScheduleRule]:
    return [
        ApplyCustomRule(),
        MultiLevelTiling(
            structure="SSSRRSRS",
            tile_binds=["blockIdx.x", "vthread.x", "threadIdx.x"],
            max_innermost_factor=64,
            vector_load_lens=[1, 2, 3, 4],
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


DEFAULTS |= {"llvm": _llvm, "cuda": _cuda}
