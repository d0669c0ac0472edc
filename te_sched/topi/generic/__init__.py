"""Schedules for any CPU: plain loops, with injective producers inlined.

These schedules are not tuned; `topi.x86` and `topi.cuda` have tuned ones.

>>> B = topi.nn.relu(te.placeholder((4, 32), name="A"))
>>> s = topi.generic.schedule_injective(B)
>>> [axis.var.name for axis in s[B].leaf_iter_vars]
['i0.i1.fused']
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.schedule.schedule import Schedule
from te_sched.signatures import check_arguments
from te_sched.te.tensor import Tensor
from te_sched.topi.scheduling import (
    fuse_axes,
    inline_injective,
    schedule_functions,
    start_schedule,
)


def default_schedule(outs: Any, auto_inline: bool = False) -> Schedule:
    """Each stage in plain loops; with auto_inline, injective stages are inlined and loops fused.

    >>> A = te.placeholder((4, 32), name="A")
    >>> B = topi.nn.relu(A)
    >>> C = topi.tanh(B)
    >>> s = topi.generic.default_schedule(C)
    >>> s[B], s[C]
    (compute(i0, i1), compute(i0, i1))
    >>> s = topi.generic.default_schedule(C, auto_inline=True)
    >>> s[B], s[C]
    (compute(i0, i1), inline, compute(i0.i1.fused))
    """
    s = start_schedule(outs)
    if auto_inline:
        inline_injective(s)
        for op in s.outputs:
            if op.axis:
                fuse_axes(s[op], op.axis)
    return s


def schedule_injective(outs: Any) -> Schedule:
    """A schedule of injective operators for any CPU.

    >>> A = te.placeholder((4, 32), name="A")
    >>> B = topi.nn.relu(A)
    >>> topi.generic.schedule_injective(B)[B]
    compute(i0.i1.fused)
    """
    return default_schedule(outs, True)


def schedule_injective_from_existing(sch: Schedule, out: Tensor) -> Schedule:
    """Fuse the loops of one injective stage of a schedule.

    >>> A = te.placeholder((4, 32), name="A")
    >>> B = topi.nn.relu(A)
    >>> s = te.create_schedule(B.op)
    >>> topi.generic.schedule_injective_from_existing(s, B)[B]
    compute(i0.i1.fused)
    """
    fuse_axes(sch[out], sch[out].op.axis)
    return sch


def schedule_extern(outs: Any) -> Schedule:
    """A schedule of te.extern outputs for any CPU.

    >>> A = te.placeholder((4, 32), name="A")
    >>> B = topi.sort(A)
    >>> topi.generic.schedule_extern(B)[B]
    sort_cpu()
    """
    return start_schedule(outs)


def schedule_pool(outs: Any, layout: str = "NCHW") -> Schedule:
    """A schedule of pooling for any CPU, in any layout.

    >>> X = te.placeholder((1, 4, 8, 8), name="X")
    >>> P = topi.nn.pool2d(X, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")
    >>> topi.generic.schedule_pool(P)[P]
    pool_max(ax0, ax1, ax2, ax3, rv0, rv1)
    """
    return default_schedule(outs, False)


def schedule_reduce(outs: Any) -> Schedule:
    """A schedule of reductions and of elementwise operators for any CPU.

    >>> A = te.placeholder((4, 32), name="A")
    >>> B = topi.sum(A, axis=1)
    >>> topi.generic.schedule_reduce(B)[B]
    A_red(ax0, k1)
    """
    return default_schedule(outs, True)


schedule_elemwise = schedule_broadcast = schedule_injective
schedule_adaptive_pool = schedule_pool
# Their examples are executed, as doctest does for `__test__`.
__test__ = schedule_functions("topi.generic", "any CPU", default_schedule, "einsum")
globals().update(__test__)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[[Any], Schedule]: ...


check_arguments(
    sys.modules[__name__], [name for name in dir() if "schedule" in name and name[0].islower()]
)

_tell_of_absent_names(__name__)
