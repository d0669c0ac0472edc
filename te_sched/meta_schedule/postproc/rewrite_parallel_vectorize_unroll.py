"""The postprocessor that makes loops parallel, vectorized and unrolled, as annotations of the root
block ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from te_sched.ir.expr import Var
from te_sched.meta_schedule.postproc.base import Postproc
from te_sched.meta_schedule.postproc.contiguity import contiguous_loops
from te_sched.tensorir.facts.axes import are_spatial
from te_sched.tensorir.facts.nests import has_several_statements, is_data_parallel, loop_extent
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tensorir.state import BlockKey
from te_sched.tir.schedule import Schedule

_PARALLEL, _VECTORIZE = "meta_schedule.parallel", "meta_schedule.vectorize"
_EXPLICIT, _IMPLICIT = "meta_schedule.unroll_explicit", "meta_schedule.unroll_implicit"
_MARKS = (_PARALLEL, _VECTORIZE, _EXPLICIT, _IMPLICIT)


class RewriteParallelVectorizeUnroll(Postproc):
    """Fuses and parallelizes outer loops, vectorizes inner ones, and marks reductions for
    unrolling, as far as annotations of the root block say; these are removed.

    >>> sch = tir.Schedule(matmul_relu)
    >>> sch.annotate("root", "meta_schedule.parallel", 4)
    >>> sch.annotate("root", "meta_schedule.vectorize", 16)
    >>> RewriteParallelVectorizeUnroll().apply(sch)
    True
    >>> [sch.get(loop).kind for loop in sch.get_loops("C")]
    ['parallel', 'serial', 'serial']
    """

    def apply(self, sch: Schedule) -> bool:
        """Change the blocks of all functions; False if annotations contradict each other."""
        for name, func in sch.functions.items():
            for root in sch.blocks_in(func.body):
                marks = sch.block(root).annotations
                asked = {mark: int(marks[mark]) for mark in _MARKS if mark in marks}
                if _EXPLICIT in asked and _IMPLICIT in asked:
                    return False
                if asked:
                    _rewrite(sch, sch.get_block(root.name, func_name=name), asked)
        return True


def _rewrite(sch: Schedule, root: BlockRV, asked: dict[str, int]) -> None:
    """Change the blocks in a root block, and remove its annotations."""
    for mark in asked:
        sch.unannotate(root, mark)
    for block in sch.get_child_blocks(root):
        loops = sch.get_loops(block)
        if not loops:
            continue
        plan = _plan(sch, block.key, asked.get(_PARALLEL, -1), asked.get(_VECTORIZE, -1))
        first = _parallelize_and_vectorize(sch, loops, plan, asked.get(_VECTORIZE, -1))
        _mark_for_unrolling(sch, block.key, first, asked)


class _LoopPlan(NamedTuple):
    """How many outer loops are parallel, and how many inner ones a vector; `is_flat` if all are
    fused and split into both.
    """

    parallel: int
    vector: int
    is_flat: bool = False


def _plan(sch: Schedule, key: BlockKey, jobs: int, lanes: int) -> _LoopPlan:
    """What becomes of the loops around a block.

    Parameters
    ----------
    jobs : after how many iterations no further loop is made parallel; -1 for no parallel loops.
    lanes : the most lanes of a vector; -1 for no vectors.
    """
    loops = sch.loops_above(key)
    can_change = [_can_change(sch, loop) for loop in loops]
    extents = [loop_extent(sch, loop) for loop in loops]
    is_nest = not any(has_several_statements(sch.loop(loop)) for loop in loops)
    contiguous = contiguous_loops(sch, key) if lanes >= 0 else 0
    vector, iterations = 0, 1
    for depth in reversed(range(len(loops) - contiguous, len(loops))):
        extent = extents[depth]
        is_shared = has_several_statements(sch.loop(loops[depth]))
        if is_shared or not can_change[depth] or extent is None or iterations * extent > lanes:
            break
        vector, iterations = vector + 1, iterations * extent
    vector = 0 if iterations == 1 else vector
    parallel, iterations = 0, 1
    for depth, loop in enumerate(loops):
        extent = extents[depth]
        if jobs < 0 or not can_change[depth] or extent is None:
            break
        parallel, iterations = parallel + 1, iterations * extent
        if iterations > jobs or has_several_statements(sch.loop(loop)):
            break
    parallel = 0 if iterations == 1 else parallel
    is_flat = is_nest and all(can_change) and contiguous == len(loops)
    if is_flat and jobs >= 0 and lanes >= 0 and any(extent != 1 for extent in extents):
        return _LoopPlan(0, 0, True)
    return _LoopPlan(min(parallel, len(loops) - vector), vector)


def _can_change(sch: Schedule, loop: Var) -> bool:
    """Whether a loop is data parallel, and neither annotated nor a thread."""
    node = sch.loop(loop)
    if node.annotations or node.thread_binding is not None:
        return False
    return is_data_parallel(sch, loop)


def _parallelize_and_vectorize(
    sch: Schedule, loops: Sequence[LoopRV], plan: _LoopPlan, lanes: int
) -> LoopRV:
    """Change the loops around a block; returns the outermost one."""
    if plan.is_flat:
        outer, inner = sch.split(sch.fuse(*loops), [None, lanes])
        sch.parallel(outer)
        sch.vectorize(inner)
        return outer
    first = loops[0]
    if plan.parallel:
        first = sch.fuse(*loops[: plan.parallel])
        sch.parallel(first)
    if plan.vector:
        fused = sch.fuse(*loops[len(loops) - plan.vector :])
        sch.vectorize(fused)
        first = fused if plan.vector == len(loops) else first
    return first


def _mark_for_unrolling(sch: Schedule, key: BlockKey, loop: LoopRV, asked: dict[str, int]) -> None:
    """Annotate the outermost loop of a block, if it has other than data parallel iterators."""
    steps = asked.get(_EXPLICIT, asked.get(_IMPLICIT, 0))
    if steps <= 0 or are_spatial(sch.block(key).iter_vars):
        return
    sch.annotate(loop, "pragma_auto_unroll_max_step", steps)
    sch.annotate(loop, "pragma_unroll_explicit", int(_EXPLICIT in asked))
