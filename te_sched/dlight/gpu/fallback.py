"""The rule for all functions: each element of a result is computed by a thread."""

from __future__ import annotations

from te_sched.codegen.target import Target
from te_sched.dlight.gpu.base import GPURule
from te_sched.dlight.gpu.normal_form import inline_spatial, iterators_of, normalize
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tir.schedule import Schedule


class GPUFallback(GPURule):
    """One thread for each element that a block writes; blocks are inlined where that is legal.

    >>> import te_sched
    >>> from te_sched import dlight, te
    >>> A = te.placeholder((4096,), name="A")
    >>> func = te.create_prim_func([A, te.compute((4096,), lambda i: A[i] + 1.0, name="B")])
    >>> sch = dlight.gpu.Fallback().apply(func, te_sched.target.Target("cuda"), False)
    >>> loops = [sch.get(one) for one in sch.get_loops("B")]
    >>> [(one.extent, one.thread_binding.thread_tag) for one in loops]
    [(4, 'blockIdx.x'), (1024, 'threadIdx.x')]
    """

    def scheduled(self, sch: Schedule, target: Target) -> Schedule | None:
        """The schedule of a function that was not scheduled yet; None for odd loops."""
        blocks = normalize(sch)
        if blocks is None:
            return None
        reductions: list[tuple[BlockRV, LoopRV]] = []
        for block in inline_spatial(sch, blocks):
            if not sch.get_loops(block):  # TVM leaves such a block outside of all kernels
                sch.add_unit_loop(block)
                spatial, reduced = list(sch.get_loops(block)), []
            else:
                axes = iterators_of(sch, block)
                spatial = [axis.loop for axis in axes if axis.kind == "S"]
                reduced = [axis.loop for axis in axes if axis.kind != "S"]
            sch.reorder(*spatial, *reduced)
            bx, tx = sch.split(sch.fuse(*spatial), [None, target.max_threads_per_block])
            sch.bind(bx, "blockIdx.x")
            sch.bind(tx, "threadIdx.x")
            if reduced:
                reductions.append((block, reduced[0]))
        for block, loop in reductions:
            sch.decompose_reduction(block, loop)
        return sch
