"""The postprocessor that rejects kernels which a GPU cannot run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from te_sched.errors import TeSchedError
from te_sched.ir.expr import Var
from te_sched.lowering.pipeline import lower
from te_sched.meta_schedule.postproc.base import Postproc
from te_sched.meta_schedule.schedule_rule.targets import given
from te_sched.tensorir.facts.nests import loop_extent
from te_sched.tensorir.state import BlockKey
from te_sched.tir.analysis import verify_gpu_code
from te_sched.tir.schedule import Schedule

if TYPE_CHECKING:
    from te_sched.codegen.target import Target
    from te_sched.meta_schedule.tune_context import TuneContext

_LEAST = "meta_schedule.thread_extent_low_inclusive"
_MOST = "meta_schedule.thread_extent_high_inclusive"
_WARP_SIZE = 32


class VerifyGPUCode(Postproc):
    """Rejects programs whose kernels need more threads or memory than the target has."""

    _target: Target | None = None

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._target = context.target

    def apply(self, sch: Schedule) -> bool:
        """Whether the target can run the kernels of all functions."""
        target = given(self._target)
        if not all(_has_asked_threads(sch, key) for key in sch.keys.values()):
            return False
        limits = {
            "max_shared_memory_per_block": target.max_shared_memory_per_block,
            "max_threads_per_block": target.max_threads_per_block,
            "max_local_memory_per_block": int(target.options.get("registers_per_block", 1 << 31)),
            "max_vthread": 8,
            "max_vector_bytes": 16,
        }
        try:
            # Later passes unroll loops, and change neither threads, nor vectors, nor memory.
            module = lower(sch.mod, stop_after="rewrite_storage")
            return all(verify_gpu_code(func, limits) for func in module.functions.values())
        except TeSchedError:
            return False


def _has_asked_threads(sch: Schedule, key: BlockKey) -> bool:
    """Whether as many threads run a block as its annotations ask for."""
    marks = sch.block(key).annotations
    least, most = marks.get(_LEAST), marks.get(_MOST)
    if least is None and most is None:
        return True
    threads = _WARP_SIZE if "warp_execution" in marks else 1
    for loop in sch.around(key):
        if isinstance(loop, Var) and _is_thread(sch, loop):
            threads *= loop_extent(sch, loop) or 1
    return int(least or 0) <= threads and (most is None or threads <= int(most))


def _is_thread(sch: Schedule, loop: Var) -> bool:
    thread = sch.loop(loop).thread_binding
    return thread is not None and str(thread.thread_tag).startswith("threadIdx")
