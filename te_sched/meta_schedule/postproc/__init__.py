"""Postprocessors, by TVM's names."""

from te_sched.meta_schedule.component import named
from te_sched.meta_schedule.postproc.base import Postproc as Postproc
from te_sched.meta_schedule.postproc.base import PyPostproc as PyPostproc
from te_sched.meta_schedule.postproc.disallow_dynamic_loop import (
    DisallowDynamicLoop as DisallowDynamicLoop,
)
from te_sched.meta_schedule.postproc.rewrite_parallel_vectorize_unroll import (
    RewriteParallelVectorizeUnroll as RewriteParallelVectorizeUnroll,
)
from te_sched.meta_schedule.postproc.rewrite_reduction_block import (
    RewriteReductionBlock as RewriteReductionBlock,
)


def create(kind: str) -> list[Postproc]:
    """The postprocessors of a kind of target.

    >>> [type(one).__name__ for one in create("llvm")]
    ['DisallowDynamicLoop', 'RewriteParallelVectorizeUnroll', 'RewriteReductionBlock']
    """
    of_processor: list[type[Postproc]] = [
        DisallowDynamicLoop,
        RewriteParallelVectorizeUnroll,
        RewriteReductionBlock,
    ]
    kinds = {"llvm": of_processor}
    found: list[type[Postproc]] = named("kind of target", kinds, kind)
    return [one() for one in found]


Postproc.create = staticmethod(create)  # type: ignore[attr-defined]

__all__ = [
    "DisallowDynamicLoop",
    "Postproc",
    "PyPostproc",
    "RewriteParallelVectorizeUnroll",
    "RewriteReductionBlock",
    "create",
]
