"""Schedules for CUDA: every loop of a kernel is bound to blocks and threads.

All functions of schedules apply the same rules, which depend on the stages and not on the function.
The operators are those of `topi.nn`.

>>> B = topi.nn.relu(te.placeholder((4, 32), name="A"))
>>> s = topi.cuda.schedule_injective(B)
>>> [axis.var.name for axis in s[B].leaf_iter_vars]
['i0.i1.fused.outer', 'i0.i1.fused.inner']
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.public_names import list_names
from te_sched.schedule.schedule import Schedule
from te_sched.signatures import check_arguments
from te_sched.te.tensor import Tensor
from te_sched.topi.cuda.rules import apply_rules, schedule_injective_stage
from te_sched.topi.nn import batch_matmul as batch_matmul
from te_sched.topi.nn import conv1d_ncw as conv1d_ncw
from te_sched.topi.nn import conv1d_nwc as conv1d_nwc
from te_sched.topi.nn import conv2d_hwcn as conv2d_hwcn
from te_sched.topi.nn import conv2d_nchw as conv2d_nchw
from te_sched.topi.nn import conv2d_transpose_nchw as conv2d_transpose_nchw
from te_sched.topi.nn import conv3d_ncdhw as conv3d_ncdhw
from te_sched.topi.nn import conv3d_ndhwc as conv3d_ndhwc
from te_sched.topi.nn import depthwise_conv2d_nchw as depthwise_conv2d_nchw
from te_sched.topi.nn import group_conv2d_nchw as group_conv2d_nchw
from te_sched.topi.scheduling import schedule_functions, start_schedule


def schedule_injective(outs: Any) -> Schedule:
    """A schedule of injective operators for GPUs.

    >>> A = te.placeholder((4, 32), name="A")
    >>> B = topi.nn.relu(A)
    >>> topi.cuda.schedule_injective(B)[B]
    compute(i0.i1.fused.outer <blockIdx.x>, i0.i1.fused.inner <threadIdx.x>)
    """
    return apply_rules(start_schedule(outs))


def schedule_injective_from_existing(sch: Schedule, out: Tensor) -> Schedule:
    """Schedule one injective stage of a schedule.

    >>> A = te.placeholder((4, 32), name="A")
    >>> B = topi.nn.relu(A)
    >>> s = te.create_schedule(B.op)
    >>> topi.cuda.schedule_injective_from_existing(s, B)[B]
    compute(i0.i1.fused.outer <blockIdx.x>, i0.i1.fused.inner <threadIdx.x>)
    """
    schedule_injective_stage(sch[out], sch[out].op)
    return sch


def schedule_pool(outs: Any, layout: str = "NCHW") -> Schedule:
    """A schedule of pooling for GPUs, in any layout.

    >>> X = te.placeholder((1, 4, 8, 8), name="X")
    >>> P = topi.nn.pool2d(X, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")
    >>> s = topi.cuda.schedule_pool(P)
    >>> [s[P].iter_var_attrs[axis].bind_thread.var.name for axis in s[P].leaf_iter_vars[:2]]
    ['blockIdx.x', 'threadIdx.x']
    """
    return schedule_injective(outs)


schedule_elemwise = schedule_broadcast = schedule_injective
schedule_adaptive_pool = schedule_pool
# Their examples are executed, as doctest does for `__test__`.
__test__ = schedule_functions("topi.cuda", "GPUs", schedule_injective, "reduce", "extern")
globals().update(__test__)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[[Any], Schedule]: ...


check_arguments(
    sys.modules[__name__], [name for name in dir() if "schedule_" in name or name == "apply_rules"]
)

list_names(sys.modules[__name__], home="te_sched.topi")
_tell_of_absent_names(__name__)
