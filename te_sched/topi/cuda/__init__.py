"""Schedules for CUDA: every loop of a kernel is bound to blocks and threads.

All names apply the same rules, which look at the stages and not at the name.
"""

from __future__ import annotations

import sys
from typing import Any

from te_sched.schedule.schedule import Schedule
from te_sched.signatures import check_arguments
from te_sched.te.tensor import Tensor
from te_sched.topi.cuda.rules import apply_rules, schedule_injective_stage
from te_sched.topi.scheduling import start_schedule


def _schedule_for(what: str) -> Any:
    def schedule(outs: Any) -> Schedule:
        return apply_rules(start_schedule(outs))

    schedule.__doc__ = f"A schedule for GPUs of {what}; outs is a tensor or a list of them."
    return schedule


def schedule_injective_from_existing(sch: Schedule, out: Tensor) -> Schedule:
    """Schedule one injective stage of a schedule."""
    schedule_injective_stage(sch[out], sch[out].op)
    return sch


def schedule_pool(outs: Any, layout: str = "NCHW") -> Schedule:
    """A schedule for GPUs of pooling."""
    return apply_rules(start_schedule(outs))


schedule_injective = _schedule_for("injective operators")
schedule_elemwise = schedule_injective
schedule_broadcast = schedule_injective
schedule_reduce = _schedule_for("reductions")
schedule_extern = _schedule_for("te.extern")
schedule_adaptive_pool = schedule_pool
schedule_softmax = _schedule_for("softmax and log_softmax")
schedule_dense = _schedule_for("dense")
schedule_matmul = _schedule_for("matmul")
schedule_batch_matmul = _schedule_for("batch_matmul")
schedule_lrn = _schedule_for("lrn")
schedule_batch_norm = _schedule_for("batch_norm")
schedule_conv1d_ncw = _schedule_for("conv1d_ncw")
schedule_conv1d_nwc = _schedule_for("conv1d_nwc")
schedule_group_conv1d_ncw = _schedule_for("group_conv1d_ncw")
schedule_group_conv1d_nwc = _schedule_for("group_conv1d_nwc")
schedule_conv1d_transpose_ncw = _schedule_for("conv1d_transpose_ncw")
schedule_conv2d_nchw = _schedule_for("conv2d_nchw")
schedule_conv2d_nhwc = _schedule_for("conv2d_nhwc")
schedule_conv2d_hwcn = _schedule_for("conv2d_hwcn")
schedule_group_conv2d_nchw = _schedule_for("group_conv2d_nchw")
schedule_group_conv2d_nhwc = _schedule_for("group_conv2d_nhwc")
schedule_depthwise_conv2d_nchw = _schedule_for("depthwise_conv2d_nchw")
schedule_depthwise_conv2d_nhwc = _schedule_for("depthwise_conv2d_nhwc")
schedule_conv2d_transpose_nchw = _schedule_for("conv2d_transpose_nchw")
schedule_conv3d_ncdhw = _schedule_for("conv3d_ncdhw")
schedule_conv3d_ndhwc = _schedule_for("conv3d_ndhwc")

check_arguments(sys.modules[__name__], [name for name in dir() if "schedule_" in name])
