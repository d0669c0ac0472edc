"""Schedules for any CPU: plain loops, with injective producers inlined.

They are correct everywhere and fast nowhere; `topi.x86` and `topi.cuda` schedule for a target.
"""

from __future__ import annotations

import sys
from typing import Any

from te_sched.schedule.schedule import Schedule
from te_sched.signatures import check_arguments
from te_sched.te.tensor import Tensor
from te_sched.topi.scheduling import fuse_axes, inline_injective, start_schedule


def default_schedule(outs: Any, auto_inline: bool = False) -> Schedule:
    """Each stage in plain loops; with auto_inline, injective stages are inlined and loops fused."""
    s = start_schedule(outs)
    if auto_inline:
        inline_injective(s)
        for op in s.outputs:
            if op.axis:
                fuse_axes(s[op], op.axis)
    return s


def schedule_injective(outs: Any) -> Schedule:
    """Injective operators."""
    return default_schedule(outs, True)


def schedule_injective_from_existing(sch: Schedule, out: Tensor) -> Schedule:
    """Fuse the loops of one injective stage of a schedule."""
    fuse_axes(sch[out], sch[out].op.axis)
    return sch


def schedule_extern(outs: Any) -> Schedule:
    """Outputs made by te.extern."""
    return start_schedule(outs)


def schedule_pool(outs: Any, layout: str = "NCHW") -> Schedule:
    """Pooling."""
    return default_schedule(outs, False)


def schedule_reduce(outs: Any) -> Schedule:
    """Reductions, and elementwise operators round them."""
    return default_schedule(outs, True)


def _plain(what: str) -> Any:
    def schedule(outs: Any) -> Schedule:
        return default_schedule(outs, False)

    schedule.__doc__ = f"Plain loops for {what}."
    return schedule


schedule_elemwise = schedule_injective
schedule_broadcast = schedule_injective
schedule_adaptive_pool = schedule_pool
schedule_softmax = _plain("softmax and log_softmax")
schedule_dense = _plain("dense")
schedule_matmul = _plain("matmul")
schedule_batch_matmul = _plain("batch_matmul")
schedule_einsum = _plain("einsum")
schedule_lrn = _plain("lrn")
schedule_batch_norm = _plain("batch_norm")
schedule_conv1d_ncw = _plain("conv1d_ncw")
schedule_conv1d_nwc = _plain("conv1d_nwc")
schedule_group_conv1d_ncw = _plain("group_conv1d_ncw")
schedule_group_conv1d_nwc = _plain("group_conv1d_nwc")
schedule_conv1d_transpose_ncw = _plain("conv1d_transpose_ncw")
schedule_conv2d_nchw = _plain("conv2d_nchw")
schedule_conv2d_nhwc = _plain("conv2d_nhwc")
schedule_conv2d_hwcn = _plain("conv2d_hwcn")
schedule_group_conv2d_nchw = _plain("group_conv2d_nchw")
schedule_group_conv2d_nhwc = _plain("group_conv2d_nhwc")
schedule_depthwise_conv2d_nchw = _plain("depthwise_conv2d_nchw")
schedule_depthwise_conv2d_nhwc = _plain("depthwise_conv2d_nhwc")
schedule_conv2d_transpose_nchw = _plain("conv2d_transpose_nchw")
schedule_conv3d_ncdhw = _plain("conv3d_ncdhw")
schedule_conv3d_ndhwc = _plain("conv3d_ndhwc")

check_arguments(
    sys.modules[__name__], [name for name in dir() if "schedule" in name and name[0].islower()]
)
