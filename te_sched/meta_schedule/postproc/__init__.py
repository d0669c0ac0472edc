"""Postprocessors, by TVM's names."""

import sys
from collections.abc import Callable

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.meta_schedule.component import named
from te_sched.meta_schedule.postproc.base import Postproc as Postproc
from te_sched.meta_schedule.postproc.base import PyPostproc as PyPostproc
from te_sched.meta_schedule.postproc.disallow_async_strided_mem_copy import (
    DisallowAsyncStridedMemCopy as DisallowAsyncStridedMemCopy,
)
from te_sched.meta_schedule.postproc.disallow_dynamic_loop import (
    DisallowDynamicLoop as DisallowDynamicLoop,
)
from te_sched.meta_schedule.postproc.rewrite_cooperative_fetch import (
    RewriteCooperativeFetch as RewriteCooperativeFetch,
)
from te_sched.meta_schedule.postproc.rewrite_layout import RewriteLayout as RewriteLayout
from te_sched.meta_schedule.postproc.rewrite_parallel_vectorize_unroll import (
    RewriteParallelVectorizeUnroll as RewriteParallelVectorizeUnroll,
)
from te_sched.meta_schedule.postproc.rewrite_reduction_block import (
    RewriteReductionBlock as RewriteReductionBlock,
)
from te_sched.meta_schedule.postproc.rewrite_tensorize import RewriteTensorize as RewriteTensorize
from te_sched.meta_schedule.postproc.rewrite_unbound_block import (
    RewriteUnboundBlock as RewriteUnboundBlock,
)
from te_sched.meta_schedule.postproc.verify_gpu_code import VerifyGPUCode as VerifyGPUCode
from te_sched.signatures import check_arguments


def create(kind: str) -> list[Postproc]:
    """The postprocessors of a kind of target, or of the instructions of a processor.

    >>> [type(one).__name__ for one in create("llvm")][2:]
    ['RewriteReductionBlock', 'RewriteLayout']
    """
    of_processor: list[Callable[[], Postproc]] = [
        DisallowDynamicLoop,
        RewriteParallelVectorizeUnroll,
        RewriteReductionBlock,
        RewriteLayout,
    ]
    of_instructions = [
        *of_processor[:-1],
        lambda: RewriteTensorize(vectorize_init_loop=True),
        RewriteLayout,
    ]
    of_gpu: list[Callable[[], Postproc]] = [
        DisallowDynamicLoop,
        RewriteCooperativeFetch,
        RewriteUnboundBlock,
        RewriteParallelVectorizeUnroll,
        RewriteReductionBlock,
        VerifyGPUCode,
    ]
    kinds = {
        "llvm": of_processor,
        **dict.fromkeys(("avx512", "vnni", "asimd", "dotprod"), of_instructions),
        "cuda": of_gpu,
        "cuda-tensorcore": [*of_gpu, RewriteTensorize],
    }
    factories: list[Callable[[], Postproc]] = named("kind of target", kinds, kind)
    return [factory() for factory in factories]


Postproc.create = staticmethod(create)  # type: ignore[attr-defined]

__all__ = [
    "DisallowAsyncStridedMemCopy",
    "DisallowDynamicLoop",
    "Postproc",
    "PyPostproc",
    "RewriteCooperativeFetch",
    "RewriteLayout",
    "RewriteParallelVectorizeUnroll",
    "RewriteReductionBlock",
    "RewriteTensorize",
    "RewriteUnboundBlock",
    "VerifyGPUCode",
    "create",
]

check_arguments(sys.modules[__name__])

_tell_of_absent_names(__name__)
