"""Annotations of loops: unroll, vectorize, parallel, bind, pragma, prefetch, tensorize."""

from __future__ import annotations

from typing import Any

from te_sched.errors import ScheduleError, Where, did_you_mean, kind_of, repr_of, warn, with_article
from te_sched.ir import dtypes
from te_sched.ir.device_limits import TAGS_TEXT, THREAD_TAGS
from te_sched.ir.expr import Expr, IterVar
from te_sched.schedule.handles import NAME, IntegerExpr
from te_sched.schedule.primitives.checks import (
    KINDS,
    as_expr,
    brief,
    check_kind,
    check_operation,
    leaf_position,
    names,
    stage_label,
)
from te_sched.schedule.source_locations import At
from te_sched.schedule.state import PLAIN, StageState
from te_sched.te.intrin_call import TensorIntrin
from te_sched.te.operation import ComputeOp
from te_sched.te.tensor import Tensor
from te_sched.trace.primitive import primitive

# Pragmas of lowering and code generation; passes of the user may define others.
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


class AnnotationPrimitives(StageState):
    """Primitives that set how the loops of a stage are executed."""

    __slots__ = ()

    @primitive("Unroll {var}", has_target=True)
    def unroll(self, var: IterVar) -> None:
        """Replicate the body of a loop of constant length, once for each iteration.

        >>> from te_sched import te
        >>> A = te.placeholder((4,), name="A")
        >>> B = te.compute((4,), lambda i: A[i] + 1.0, name="B")
        >>> s = te.create_schedule(B)
        >>> print(s)
        main(A: float32[4], B: float32[4])
        └─ stage B
           └─ for i  0:4
              └─ B[i] = A[i] + 1.0
        >>> s[B].unroll(B.op.axis[0])
        >>> print(s)
        main(A: float32[4], B: float32[4])
        └─ stage B
           └─ unrolled i  0:4
              └─ B[i] = A[i] + 1.0
        """
        self._annotate("unroll", var, "Unrolled")

    @primitive("Vectorize {var}", has_target=True)
    def vectorize(self, var: IterVar) -> None:
        """Execute all iterations of a loop as vector operations: `A[i]` becomes `A[0:n]`.

        The extent must be constant; multiples of the machine's vector length are fastest.
        Vectorize the innermost loop of a stage, over elements adjacent in memory.

        >>> from te_sched import te
        >>> A = te.placeholder((8,), name="A")
        >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
        >>> s = te.create_schedule(B)
        >>> print(s)
        main(A: float32[8], B: float32[8])
        └─ stage B
           └─ for i  0:8
              └─ B[i] = A[i] + 1.0
        >>> s[B].vectorize(B.op.axis[0])
        >>> print(s)
        main(A: float32[8], B: float32[8])
        └─ stage B
           └─ vectorized i  0:8
              └─ B[i] = A[i] + 1.0
        """
        leaf_position(self, var, "vectorize")
        check_kind(self, var, ("DataPar",), "vectorize")
        self._annotate("vectorize", var, "Vectorized")

    @primitive("Run the iterations of {var} in parallel", has_target=True)
    def parallel(self, var: IterVar) -> None:
        """Distribute the iterations of a loop over the cores: `for i in T.parallel(n)`.

        Iterations that add to the same element would race: `build` refuses parallel loops over
        reduction axes (use `rfactor`).

        >>> from te_sched import te
        >>> A = te.placeholder((4, 8), name="A")
        >>> B = te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="B")
        >>> s = te.create_schedule(B)
        >>> print(s)
        main(A: float32[4, 8], B: float32[4, 8])
        └─ stage B
           └─ for i  0:4
              └─ for j  0:8
                 └─ B[i, j] = A[i, j] + 1.0
        >>> s[B].parallel(B.op.axis[0])
        >>> print(s)
        main(A: float32[4, 8], B: float32[4, 8])
        └─ stage B
           └─ parallel i  0:4
              └─ for j  0:8
                 └─ B[i, j] = A[i, j] + 1.0
        """
        self._annotate("parallelize", var, "Parallelized")

    def _annotate(self, action: str, var: IterVar, iter_type: str) -> None:
        leaf_position(self, var, action)
        self.draft.set_attr(var, iter_type=iter_type)

    @primitive("Bind {ivar} to {thread_ivar}", has_target=True)
    def bind(self, ivar: IterVar, thread_ivar: IterVar) -> None:
        """Bind a loop to a thread axis: each thread executes one iteration.

        Parameters
        ----------
        ivar : the loop. It starts at 0.
        thread_ivar : made by `te.thread_axis("threadIdx.x")` or the like. Stages of one kernel that
            are bound to the same axis are executed by the same threads.

        >>> from te_sched import te
        >>> A = te.placeholder((8,), name="A")
        >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
        >>> s = te.create_schedule(B)
        >>> print(s)
        main(A: float32[8], B: float32[8])
        └─ stage B
           └─ for i  0:8
              └─ B[i] = A[i] + 1.0
        >>> s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
        >>> print(s)
        main(A: float32[8], B: float32[8])
        └─ stage B
           └─ threadIdx.x  0:8
              └─ B[threadIdx.x] = A[threadIdx.x] + 1.0
        """
        leaf_position(self, ivar, "bind")
        check_kind(self, ivar, ("DataPar", "CommReduce"), "bind")
        where = At(self, ivar)
        check_thread(thread_ivar, f"axis {ivar.var.name}", where)
        before = self.iter_var_attrs.get(ivar, PLAIN).bind_thread
        if before is not None and before is not thread_ivar:
            warn(
                f"axis {ivar.var.name} of {stage_label(self)} was bound to {before.thread_tag};"
                f" now it is bound to {thread_ivar.thread_tag}"
            )
        self.draft.set_attr(ivar, bind_thread=thread_ivar)

    @primitive("Attach the pragma {pragma_type} to {var}", has_target=True, pragma_type=NAME)
    def pragma(
        self, var: IterVar, pragma_type: str, pragma_value: Expr | float | str | None = None
    ) -> None:
        """Attach a pragma to a loop, such as "auto_unroll_max_step" with a number.

        The pragmas "unroll" and "vectorize" equal the primitives of these names. On a CPU,
        "nontemporal" stores vectors inside the loop past the caches, for large results that are not
        read soon. "parallel_grain" sets the minimum number of iterations per thread of a parallel
        loop. "parallel_stride_pattern" assigns iterations to threads one by one, which balances
        iterations of different length.

        A misspelled pragma gives a warning; other unknown names are kept for passes of the user.

        >>> from te_sched import te
        >>> A = te.placeholder((64,), name="A")
        >>> B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
        >>> s = te.create_schedule(B)
        >>> print(s)
        main(A: float32[64], B: float32[64])
        └─ stage B
           └─ for i  0:64
              └─ B[i] = A[i] + 1.0
        >>> s[B].pragma(B.op.axis[0], "auto_unroll_max_step", 16)
        >>> print(s)
        main(A: float32[64], B: float32[64])
        └─ stage B
           └─ for i  0:64  pragma auto_unroll_max_step=16
              └─ B[i] = A[i] + 1.0
        """
        leaf_position(self, var, "attach a pragma to")
        where = At(self, var)
        if not isinstance(pragma_type, str) or not pragma_type:
            raise ScheduleError(
                f"pragma name must be a non-empty string, got {repr_of(pragma_type)}",
                help="give the name of a pragma",
                where=where,
            )
        value = None
        if pragma_value is not None:
            value = as_expr(pragma_value, f"value of pragma {pragma_type}", where)
        if pragma_type not in _PRAGMAS and (question := did_you_mean(pragma_type, _PRAGMAS)):
            warn(f"the pragma {repr_of(pragma_type)} of {stage_label(self)} does nothing{question}")
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

    @primitive("Prefetch {tensor} in {var}", has_target=True)
    def prefetch(self, tensor: Tensor, var: IterVar, offset: IntegerExpr) -> None:
        """Prefetch the region of a tensor that iteration `var + offset` reads into the cache.

        Parameters
        ----------
        tensor : a tensor that the stage reads.
        var : a loop of the stage; the prefetch is at the beginning of its body.
        offset : how many iterations ahead, an integer.

        >>> from te_sched import te
        >>> A = te.placeholder((4, 8), name="A")
        >>> B = te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="B")
        >>> s = te.create_schedule(B)
        >>> print(s)
        main(A: float32[4, 8], B: float32[4, 8])
        └─ stage B
           └─ for i  0:4
              └─ for j  0:8
                 └─ B[i, j] = A[i, j] + 1.0
        >>> s[B].prefetch(A, B.op.axis[0], 1)
        >>> print(s)
        main(A: float32[4, 8], B: float32[4, 8])
        └─ stage B
           └─ for i  0:4
              ├─ A: prefetch, 1 ahead
              └─ for j  0:8
                 └─ B[i, j] = A[i, j] + 1.0
        """
        leaf_position(self, var, "prefetch at")
        where = At(self, var)
        if not isinstance(tensor, Tensor):
            raise ScheduleError(
                f"prefetch expects a tensor, got {brief(tensor)}", help="give a tensor", where=where
            )
        producer = self.schedule.stage_of(tensor.op)
        if producer is None or not self.schedule.reads(self, producer):
            raise ScheduleError(
                f"cannot prefetch tensor {tensor.name}: {stage_label(self)} does not read it",
                help=f"fetch one of {names(self.op.input_tensors)}",
                where=where,
            )
        distance = as_expr(offset, "prefetch offset", where)
        if not dtypes.is_integral(distance.dtype):
            raise ScheduleError(
                f"prefetch offset must be an integer, got {brief(offset)}",
                "it counts iterations",
                "give an int",
                where,
            )
        old = self.iter_var_attrs.get(var, PLAIN)
        self.draft.set_attr(
            var,
            prefetch_data=(*old.prefetch_data, tensor),
            prefetch_offset=(*old.prefetch_offset, distance),
        )

    @primitive("Replace the loops from {var} on by the intrinsic {tensor_intrin}", has_target=True)
    def tensorize(self, var: IterVar, tensor_intrin: TensorIntrin) -> None:
        """Replace a loop and its body by a tensor intrinsic.

        Parameters
        ----------
        var : the outermost loop that is replaced.
        tensor_intrin : from `te.decl_tensor_intrin`; lowering checks that it computes the same as
            the loops, for their extents.

        >>> from te_sched import te, tir
        >>> a = te.placeholder((4,), name="a")
        >>> b = te.compute((4,), lambda i: a[i] + 1.0, name="b")
        >>> def call(inputs, outputs):
        ...     target, source = outputs[0].access_ptr("w"), inputs[0].access_ptr("r")
        ...     return tir.call_extern("int32", "add_one", target, source)
        >>> add_one = te.decl_tensor_intrin(b.op, call, name="add_one")
        >>> A = te.placeholder((8,), name="A")
        >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
        >>> s = te.create_schedule(B)
        >>> outer, inner = s[B].split(B.op.axis[0], factor=4)
        >>> print(s)
        main(A: float32[8], B: float32[8])
        └─ stage B
           └─ for i.outer  0:2
              └─ for i.inner  0:4
                 └─ B[i.inner + i.outer * 4] = A[i.inner + i.outer * 4] + 1.0
        >>> s[B].tensorize(inner, add_one)
        >>> print(s)
        main(A: float32[8], B: float32[8])
        └─ stage B
           └─ for i.outer  0:2
              └─ add_one(&B[i.outer * 4], &A[i.outer * 4])
        """
        leaf_position(self, var, "tensorize")
        where = At(self, var)
        if not isinstance(tensor_intrin, TensorIntrin):
            raise ScheduleError(
                f"cannot tensorize axis {var.var.name} with {brief(tensor_intrin)}: "
                f"expected a tensor intrinsic, got {kind_of(tensor_intrin)}",
                help="make one with te.decl_tensor_intrin",
                where=where,
            )
        if not isinstance(self.op, ComputeOp):
            raise ScheduleError(
                f"cannot tensorize {stage_label(self)}: "
                f"it is {with_article(type(self.op).__name__)}, not a te.compute",
                "only the body of a te.compute can be compared with a tensor intrinsic",
                "tensorize its producers or consumers",
                where,
            )
        self.draft.set_attr(var, iter_type="Tensorized", tensor_intrin=tensor_intrin)

    @primitive("Store {stage} only where {predicate}", has_target=True)
    def set_store_predicate(self, predicate: Expr | bool) -> None:
        """Store the result only where a condition is true.

        >>> from te_sched import te
        >>> A = te.placeholder((8,), name="A")
        >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
        >>> s = te.create_schedule(B)
        >>> print(s)
        main(A: float32[8], B: float32[8])
        └─ stage B
           └─ for i  0:8
              └─ B[i] = A[i] + 1.0
        >>> s[B].set_store_predicate(B.op.axis[0].var < 4)
        >>> print(s)
        main(A: float32[8], B: float32[8])
        └─ stage B
           └─ for i  0:8
              └─ if i < 4
                 └─ B[i] = A[i] + 1.0
        """
        self.draft.store_predicate = _condition(self, predicate)


def _condition(stage: StageState, predicate: Any) -> Expr:
    check_operation(stage, "set the store predicate of")
    condition = as_expr(predicate, "store predicate", At(stage))
    if not dtypes.is_bool(condition.dtype):
        raise ScheduleError(
            f"store predicate must be a condition, got {brief(predicate)}",
            f"it has dtype {condition.dtype}",
            "give a condition, for example thread.var.equal(0)",
            At(stage),
        )
    return condition


def check_thread(thread: Any, bound: str, where: Where) -> None:
    """Refuse anything but a thread axis with a known tag; messages name `bound`."""
    if not isinstance(thread, IterVar) or thread.kind != "ThreadIndex":
        kind = f"{KINDS[thread.kind][0]} {thread.var.name}" if isinstance(thread, IterVar) else ""
        raise ScheduleError(
            f"cannot bind {bound} to {kind or brief(thread)}: it is not a thread axis",
            help='make one with te.thread_axis("threadIdx.x")',
            where=where,
        )
    if thread.thread_tag not in THREAD_TAGS:
        raise ScheduleError(
            f"cannot bind {bound} to {thread.thread_tag!r}: unknown thread tag",
            help=f"use one of {TAGS_TEXT}{did_you_mean(thread.thread_tag, THREAD_TAGS)}",
            where=where,
        )
