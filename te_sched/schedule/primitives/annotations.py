"""Primitives that say how a loop runs: unroll, vectorize, parallel, bind, pragma, prefetch,
tensorize.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

from te_sched.errors import ScheduleError, Where, did_you_mean, kind_of, repr_of, with_article
from te_sched.ir import dtypes
from te_sched.ir.expr import Expr, IterVar
from te_sched.schedule.handles import NAME
from te_sched.schedule.primitives.checks import (
    as_expr,
    brief,
    check_kind,
    leaf_position,
    names,
    stage_label,
)
from te_sched.schedule.source_locations import At
from te_sched.schedule.state import PLAIN, StageState
from te_sched.te.operation import ComputeOp
from te_sched.te.tensor import Tensor
from te_sched.te.tensor_intrin import TensorIntrin
from te_sched.trace.primitive import primitive

_THREAD_TAG = re.compile(r"(blockIdx|threadIdx)\.[xyz]\Z|vthread(\.[xyz])?\Z|cthread\Z")
THREAD_TAGS = "blockIdx.x/y/z, threadIdx.x/y/z, vthread"
# What lowering and code generation know; others mean something to passes of the user's own.
_PRAGMAS = (
    "unroll",
    "vectorize",
    "auto_unroll_max_step",
    "unroll_explicit",
    "loop_partition_hint",
    "nontemporal",
    "parallel_grain",
    "parallel_launch_point",
    "parallel_stride_pattern",
    "parallel_barrier_when_finish",
    "debug_skip_region",
    "import_c",
    "import_llvm",
)
_ALL_TAGS = [f"{kind}Idx.{axis}" for kind in ("block", "thread") for axis in "xyz"] + ["vthread"]


class AnnotationPrimitives(StageState):
    """How the loops of a stage run."""

    __slots__ = ()

    @primitive(has_target=True)
    def unroll(self, var: IterVar) -> None:
        """Replicate the body of a loop of constant length, once for each iteration."""
        self._annotate("unroll", var, "Unrolled")

    @primitive(has_target=True)
    def vectorize(self, var: IterVar) -> None:
        """Let one vector instruction do all iterations of a loop: `A[i]` becomes `A[0:n]`.

        The length is constant; any number of lanes will do, multiples of the machine's are fast.
        It is the innermost loop of its stage that pays, over neighbours in memory.
        """
        leaf_position(self, var, "vectorize")
        check_kind(self, var, ("DataPar",), "vectorize")
        self._annotate("vectorize", var, "Vectorized")

    @primitive(has_target=True)
    def parallel(self, var: IterVar) -> None:
        """Divide the iterations of a loop among the cores: `for i in T.parallel(n)`.

        Iterations that add to the same elements would race: `build` refuses loops of reduction axes
        and says what to do (`rfactor`).
        """
        self._annotate("parallel", var, "Parallelized")

    def _annotate(self, name: str, var: IterVar, iter_type: str) -> None:
        leaf_position(self, var, name)
        self.draft.set_attr(var, iter_type=iter_type)

    @primitive(has_target=True)
    def bind(self, ivar: IterVar, thread_ivar: IterVar) -> None:
        """Let the threads of a thread axis do the iterations of a loop, one each.

        Parameters
        ----------
        ivar : the loop. It starts at 0.
        thread_ivar : of `te.thread_axis("threadIdx.x")` and the like. Stages of one kernel that are
            bound to the same axis are done by the same threads.
        """
        leaf_position(self, ivar, "bind")
        check_kind(self, ivar, ("DataPar", "CommReduce"), "bind")
        where = At(self, ivar)
        check_thread(thread_ivar, f"bind axis {ivar.var.name}", where)
        before = self.iter_var_attrs.get(ivar, PLAIN).bind_thread
        if before is not None and before is not thread_ivar:
            warnings.warn(
                f"axis {ivar.var.name} of {stage_label(self)} was bound to {before.thread_tag};"
                f" now it is bound to {thread_ivar.thread_tag}",
                stacklevel=3,
            )
        self.draft.set_attr(ivar, bind_thread=thread_ivar)

    @primitive(has_target=True, pragma_type=NAME)
    def pragma(self, var: IterVar, pragma_type: str, pragma_value: Any = None) -> None:
        """Attach a pragma to a loop, such as "auto_unroll_max_step" with a number.

        The pragmas "unroll" and "vectorize" are the primitives of these names. Of a processor,
        "nontemporal" lets vectors below the loop be stored past the caches, in arrays that are not
        read there: for large results that nothing uses soon. "parallel_grain" with a number leaves
        threads out of a parallel loop that would have fewer iterations each, and
        "parallel_stride_pattern" deals its iterations out one by one, where they differ in length.

        A name that is nearly that of a pragma gives a warning; any other is kept for passes of the
        user's own.
        """
        leaf_position(self, var, "pragma")
        where = At(self, var)
        if not isinstance(pragma_type, str) or not pragma_type:
            raise ScheduleError(
                f"pragma {repr_of(pragma_type)}",
                "a pragma is known by its name",
                "give a string",
                where,
            )
        value = None
        if pragma_value is not None:
            value = as_expr(pragma_value, f"pragma {pragma_type}={brief(pragma_value)}", where)
        if pragma_type not in _PRAGMAS and (question := did_you_mean(pragma_type, _PRAGMAS)):
            warnings.warn(
                f"the pragma {repr_of(pragma_type)} of {stage_label(self)} does nothing{question}",
                stacklevel=3,
            )
        if pragma_type == "unroll":
            self.draft.set_attr(var, iter_type="Unrolled")
        elif pragma_type == "vectorize":
            check_kind(self, var, ("DataPar",), "vectorize")
            self.draft.set_attr(var, iter_type="Vectorized")
        else:
            old = self.iter_var_attrs.get(var, PLAIN)
            self.draft.set_attr(
                var,
                pragma_keys=(*old.pragma_keys, pragma_type),
                pragma_values=(*old.pragma_values, value),
            )

    @primitive(has_target=True)
    def prefetch(self, tensor: Tensor, var: IterVar, offset: Any) -> None:
        """Fetch what iteration `var + offset` will read of a tensor into the cache.

        Parameters
        ----------
        tensor : one that the stage reads.
        var : a loop of the stage; the fetch stands at the beginning of its body.
        offset : how many iterations ahead, an integer.
        """
        leaf_position(self, var, "prefetch")
        where = At(self, var)
        if not isinstance(tensor, Tensor):
            raise ScheduleError(
                f"prefetch {brief(tensor)}", "only tensors are fetched", "give a tensor", where
            )
        producer = self.schedule.stage_of(tensor.op)
        if producer is None or not self.schedule.reads(self, producer):
            raise ScheduleError(
                f"prefetch {tensor.name}",
                f"{stage_label(self)} does not read it",
                f"fetch one of {names(self.op.input_tensors)}",
                where,
            )
        distance = as_expr(offset, f"prefetch with offset={brief(offset)}", where)
        if not dtypes.is_integral(distance.dtype):
            raise ScheduleError(
                f"prefetch with offset={brief(offset)}",
                "the offset is a number of iterations",
                "give an int",
                where,
            )
        old = self.iter_var_attrs.get(var, PLAIN)
        self.draft.set_attr(
            var,
            prefetch_data=(*old.prefetch_data, tensor),
            prefetch_offset=(*old.prefetch_offset, distance),
        )

    @primitive(has_target=True)
    def tensorize(self, var: IterVar, tensor_intrin: TensorIntrin) -> None:
        """Put a tensor intrinsic in the place of a loop and what is in it.

        Parameters
        ----------
        var : the outermost loop that it takes the place of.
        tensor_intrin : from `te.decl_tensor_intrin`; lowering checks that it computes, with the
            extents of these loops, what they compute.
        """
        leaf_position(self, var, "tensorize")
        where = At(self, var)
        if not isinstance(tensor_intrin, TensorIntrin):
            raise ScheduleError(
                f"tensorize with {brief(tensor_intrin)}",
                f"{kind_of(tensor_intrin)} is not a tensor intrinsic",
                "make one with te.decl_tensor_intrin",
                where,
            )
        if not isinstance(self.op, ComputeOp):
            raise ScheduleError(
                f"tensorize {self.op.name}",
                "only a te.compute can be compared with a tensor intrinsic",
                "tensorize the stages round it",
                where,
            )
        self.draft.set_attr(var, iter_type="Tensorized", tensor_intrin=tensor_intrin)

    @primitive(has_target=True)
    def set_store_predicate(self, predicate: Any) -> None:
        """Store only where a condition holds: `s[B].set_store_predicate(tx.var.equal(0))`."""
        self.draft.store_predicate = _condition(self, predicate)


def _condition(stage: StageState, predicate: Any) -> Expr:
    what = f"set_store_predicate({brief(predicate)})"
    condition = as_expr(predicate, what, At(stage))
    if stage.is_group or not dtypes.is_bool(condition.dtype):
        raise ScheduleError(
            what,
            "a group stores nothing"
            if stage.is_group
            else f"it is {with_article(condition.dtype)}",
            "give a condition, for example thread.var.equal(0)",
            At(stage),
        )
    return condition


def check_thread(thread: Any, what: str, where: Where) -> None:
    """A thread axis with a known tag."""
    if not isinstance(thread, IterVar) or thread.kind != "ThreadIndex":
        kind = f"the {thread.kind} axis {thread.var.name}" if isinstance(thread, IterVar) else ""
        raise ScheduleError(
            f"{what} to {kind or brief(thread)}",
            "it is not a thread axis",
            'make one with te.thread_axis("threadIdx.x")',
            where,
        )
    if not _THREAD_TAG.match(thread.thread_tag):
        raise ScheduleError(
            f"{what} to {thread.thread_tag!r}",
            "there are no such threads",
            f"use one of {THREAD_TAGS}{did_you_mean(thread.thread_tag, _ALL_TAGS)}",
            where,
        )
