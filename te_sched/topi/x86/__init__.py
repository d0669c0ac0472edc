"""Schedules for CPUs with vectors: loops in parallel, tiles, vectors inside.

All functions of schedules apply the same rules, which depend on the stages and not on the function.
The operators are those of `topi.nn`.

>>> B = topi.nn.relu(te.placeholder((4, 32), name="A"))
>>> s = topi.x86.schedule_injective(B)
>>> [axis.var.name for axis in s[B].leaf_iter_vars]
['i0', 'i1.outer', 'i1.inner']
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
from te_sched.topi.nn import batch_matmul as batch_matmul
from te_sched.topi.nn import conv2d_nchw as conv2d_nchw
from te_sched.topi.nn import conv2d_transpose_nchw as conv2d_transpose_nchw
from te_sched.topi.nn import conv3d_ncdhw as conv3d_ncdhw
from te_sched.topi.nn import conv3d_ndhwc as conv3d_ndhwc
from te_sched.topi.nn import depthwise_conv2d_nchw as depthwise_conv2d_nchw
from te_sched.topi.nn import group_conv2d_nchw as group_conv2d_nchw
from te_sched.topi.scheduling import schedule_functions, start_schedule
from te_sched.topi.x86.rules import apply_rules, schedule_injective_stage


def schedule_injective(outs: Any) -> Schedule:
    """A schedule of injective operators for CPUs.

    >>> A = te.placeholder((4, 32), name="A")
    >>> B = topi.nn.relu(A)
    >>> topi.x86.schedule_injective(B)[B]
    compute(i0 <parallel>, i1.outer, i1.inner <vectorize>)
    """
    return apply_rules(start_schedule(outs))


def schedule_injective_from_existing(sch: Schedule, out: Tensor) -> Schedule:
    """Schedule one injective stage of a schedule.

    >>> A = te.placeholder((4, 32), name="A")
    >>> B = topi.nn.relu(A)
    >>> s = te.create_schedule(B.op)
    >>> topi.x86.schedule_injective_from_existing(s, B)[B]
    compute(i0 <parallel>, i1.outer, i1.inner <vectorize>)
    """
    schedule_injective_stage(sch[out], sch[out].op)
    return sch


def schedule_pool(outs: Any, layout: str = "NCHW") -> Schedule:
    """A schedule of pooling for CPUs, in any layout.

    >>> X = te.placeholder((1, 4, 8, 8), name="X")
    >>> P = topi.nn.pool2d(X, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")
    >>> topi.x86.schedule_pool(P)[P]
    pool_max(ax0.ax1.fused.ax2.fused.ax3.fused <parallel>, rv0, rv1)
    """
    return schedule_injective(outs)


schedule_elemwise = schedule_broadcast = schedule_concatenate = schedule_injective
schedule_adaptive_pool = schedule_pool
# Their examples are executed, as doctest does for `__test__`.
__test__ = schedule_functions(
    "topi.x86", "CPUs", schedule_injective, "reduce", "extern", "dense_nopack"
)
globals().update(__test__)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[[Any], Schedule]: ...


check_arguments(
    sys.modules[__name__], [name for name in dir() if "schedule_" in name or name == "apply_rules"]
)

list_names(sys.modules[__name__], home="te_sched.topi")
_tell_of_absent_names(__name__)
