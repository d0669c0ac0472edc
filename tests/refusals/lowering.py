"""Refusals of primitives, lowering and building."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import te_sched
from te_sched import te, tir
from te_sched.analysis.judge import check as analysis_check
from te_sched.errors import BuildError, CallError, LoweringError, ScheduleError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.lowering.inject_double_buffer import inject_double_buffer
from te_sched.tir import transform
from te_sched.transform import PassContext, Sequential
from tests.codegen.programs import buffer, build, function, loop
from tests.lowering.test_tensorize import called, intrinsic, product
from tests.refusals.table import Case, enter
from tests.schedule.programs import chain, scan

n = te.var("n")
A = te.placeholder((8, 8), name="A")
X = te.placeholder((n,), name="X")
k = te.reduce_axis((0, 8), name="k")
B = te.compute((8, 8), lambda i, j: A[i, j] * 2.0, name="B")
C = te.compute((8, 8), lambda i, j: te.sum(B[i, k] * B[k, j], axis=k), name="C")
Y = te.compute((n,), lambda i: X[i] + 1.0, name="Y")
MIXED = te.compute((8, 8), lambda i, j: te.if_then_else(B[i, j] > 0.0, B[i, j], 0.0), name="M")
D = buffer("D", [8])
INDEX = E.Var("i")
THREAD = te.thread_axis("threadIdx.x")
EXTERN = te.extern((8, 8), [A], lambda i, o: tir.call_packed("f", i[0], o[0]), name="EXTERN")
UNFED = te.placeholder((8, 4), name="UNFED")


def scheduled(op: Any, do: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: do(te.create_schedule(op.op))


def lowered(op: Any, args: list[Any], do: Callable[[Any], Any]) -> Callable[[], Any]:
    def run() -> None:
        s = te.create_schedule(op.op)
        do(s)
        te_sched.lower(s, args)

    return run


def cycle() -> None:
    p = chain()
    p.s[p.B].compute_at(p.s[p.C], p.C.op.axis[0])
    p.s[p.C].attach_type = p.s[p.B].attach_type
    p.s[p.C].attach_stage, p.s[p.C].attach_ivar = p.s[p.B], p.B.op.axis[0]
    te_sched.lower(p.s, [p.A, p.D])


def threads_round_a_scan() -> None:
    p = scan()
    p.s[p.scan].env_threads([THREAD])
    te_sched.lower(p.s, [p.X, p.D])


def unfed_scan() -> None:
    init = te.compute((1, 4), lambda _, j: A[0, j], name="init")
    update = te.compute((8, 4), lambda t, j: A[t, j], name="update")
    te.create_schedule(te.scan(init, update, UNFED).op)


def two_updates() -> None:
    states = [te.placeholder((8, 4), name=f"state{at}") for at in range(2)]
    starts = [te.compute((1, 4), lambda _, j: A[0, j], name=f"start{at}") for at in range(2)]
    update = te.compute((8, 4), lambda t, j: states[0][t - 1, j] + 1.0, name="update")
    other = te.compute((8, 4), lambda t, j: A[t, j], name="other")
    te.create_schedule(te.scan(starts, [update, other], states)[0].op)


def doubled(at_loop: bool, through: bool = False) -> Callable[[], Any]:
    def run() -> None:
        s = te.create_schedule(D2.op)
        s[C2].double_buffer()
        if at_loop:
            s[C2].compute_at(s[D2], D2.op.axis[0])
        if through:
            s[B2].compute_at(s[D2], D2.op.axis[0])
        te_sched.lower(s, [A, D2])

    return run


def tensorized_row(
    declare: Callable[[Any], Any], stage: Any = None, place: int = 0, view: Any = None
) -> Callable[[], Any]:
    """Lower x + 1, or another stage, with an intrinsic of another declaration."""

    def run() -> None:
        x = te.placeholder((8,), name="x")
        binds = {} if view is None else {x: tir.decl_buffer(view, name="x")}
        intrin = te.decl_tensor_intrin(declare(x).op, called, "row", binds=binds)
        op = ROW if stage is None else stage
        s = te.create_schedule(op.op)
        s[op].tensorize(op.op.axis[place], intrin)
        te_sched.lower(s, [*op.op.input_tensors, op])

    return run


def unwritten_half() -> None:
    zero, true = E.IntImm(0), E.IntImm(1, "bool")
    read = S.Evaluate(E.BufferLoad(D, (zero,)))
    filled = S.AttrStmt(D.data, "double_buffer_scope", E.IntImm(1), read)
    turns = S.For(INDEX, zero, E.IntImm(8), "serial", filled)
    memory = S.Allocate(D.data, "float32", (E.IntImm(8),), true, S.SeqStmt((read, turns)))
    inject_double_buffer(function([], memory))


def layout(function: Any) -> Callable[[Any], Any]:
    return lambda s: s[B].transform_layout(function)


def prefetched(s: Any) -> None:
    s[B].transform_layout(lambda i, j: [j, i])
    s[C].prefetch(B, C.op.axis[0], 1)


def tensorized(function: Any, depth: int = 12, by: int = 4, **options: Any) -> Callable[[], Any]:
    def run() -> None:
        s, args = product(intrinsic(function, **options), depth, by)
        te_sched.lower(s, args)

    return run


B2 = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B2")
C2 = te.compute((8, 8), lambda i, j: B2[i, j] + 1.0, name="C2")
D2 = te.compute((8, 8), lambda i, j: C2[i, j] + 1.0, name="D2")
X8 = te.placeholder((8,), name="X8")
ROW = te.compute((8,), lambda i: X8[i] + 1.0, name="ROW")
OVER = te.extern((8, 8), [B], lambda i, o: tir.call_packed("f", i[0], o[0]), name="OVER")


SCHEDULED: dict[str, Case] = {
    "symbolic layout": (
        scheduled(Y, lambda s: s[Y].transform_layout(lambda i: [i])),
        ScheduleError,
        "constant extents, got n of dimension i",
    ),
    "layout by zero": (
        scheduled(C, layout(lambda i, j: [i // -2, j])),
        ScheduleError,
        "transform_layout",
    ),
    "layout of floats": (
        scheduled(C, layout(lambda i, j: [i.astype("float32"), j])),
        ScheduleError,
        "must be an integer, got dtype float32",
    ),
    "layout of an extern": (
        scheduled(EXTERN, lambda s: s[EXTERN].transform_layout(lambda i, j: [j, i])),
        ScheduleError,
        "can be rearranged",
    ),
    "prefetch of a name": (
        scheduled(C, lambda s: s[C].prefetch("B", C.op.axis[0], 1)),
        ScheduleError,
        "prefetch expects a tensor",
    ),
    "tensorize an extern": (
        lambda: (lambda p: p.s[p.scan].tensorize(p.scan.op.scan_axis, intrinsic(called)))(scan()),
        ScheduleError,
        "only the body of a te.compute can be compared",
    ),
    "pragma of a list": (
        scheduled(C, lambda s: s[C].pragma(k, "key", [1])),
        ScheduleError,
        "pragma key",
    ),
    "group of strangers": (
        scheduled(C, lambda s: s.create_group([MIXED], [A])),
        ScheduleError,
        "it has no stage in this schedule",
    ),
    "scan of two updates": (two_updates, ScheduleError, "update other of scan scan does not read"),
    "offset of a name": (
        scheduled(C, lambda s: s.rfactor(C, k, factor_axis="last")),
        ScheduleError,
        "factor_axis must be an int",
    ),
    "scan without state": (unfed_scan, ScheduleError, "does not read the state"),
}
LOWERED: dict[str, Case] = {
    "passes on a number": (
        lambda: Sequential([])(3),  # type: ignore[arg-type]
        LoweringError,
        "pass sequential expects a module, got an int",
    ),
    "rearranged and prefetched": (
        lowered(C, [A, C], prefetched),
        LoweringError,
        "used by storage_align or prefetch",
    ),
    "double buffer without loop": (
        doubled(False),
        LoweringError,
        "it is not filled inside of a loop",
    ),
    "double buffer of a step": (
        doubled(True, through=True),
        LoweringError,
        "which is computed in the same iteration",
    ),
    "two results": (
        tensorized_row(lambda x: te.compute((8,), lambda i: (x[i], x[i]), name="c")[0]),
        LoweringError,
        "declares another number of outputs",
    ),
    "more axes": (
        tensorized_row(lambda x: te.compute((8, 8), lambda i, j: x[j], name="c")),
        LoweringError,
        "has more axes than the stage",
    ),
    "fewer axes": (
        tensorized_row(
            lambda x: te.compute((8,), lambda i: x[i] * 2.0, name="c"), stage=B, place=0
        ),
        LoweringError,
        "axis i has 8 values inside it",
    ),
    "more dimensions": (
        tensorized_row(lambda x: te.compute((8,), lambda i: x[i] + 1.0, name="c"), view=(8, 1)),
        LoweringError,
        "it has 2 dimensions, the region has fewer",
    ),
    "other half": (unwritten_half, LoweringError, "it is not filled inside of a loop"),
    "rearranged for an extern": (
        lowered(OVER, [A, OVER], lambda s: s[B].transform_layout(lambda i, j: [j, i])),
        LoweringError,
        "used by an extern operation or a tensor intrinsic",
    ),
    "cycle": (cycle, LoweringError, "the compute_at calls form a cycle"),
    "endless threads": (threads_round_a_scan, LoweringError, "has no extent"),
    "no body": (
        lowered(
            B,
            [A, B],
            lambda s: s[B].tensorize(
                B.op.axis[1],
                te.decl_tensor_intrin(
                    te.compute((8,), lambda i: X8[i] * 2.0, name="c").op,
                    lambda i, o: (None, called(i, o), called(i, o)),
                ),
            ),
        ),
        LoweringError,
        "the intrinsic has no body",
    ),
    "no update": (tensorized(called), LoweringError, "no reduce_update"),
    "reset reads": (
        tensorized(lambda i, o: (called(i, o),) * 3),
        LoweringError,
        "the reset of tensor intrinsic gemv uses input a",
    ),
    "guards": (
        tensorized(lambda i, o: (called(i, o),) * 3, depth=13),
        LoweringError,
        "need the bound check",
    ),
    "another type": (
        tensorized(lambda i, o: (called(i, o),) * 3, dtype="float64"),
        LoweringError,
        "a of the intrinsic has float64",
    ),
    "pass": (
        lambda: transform.Simplify()(A),
        LoweringError,
        r"pass tir\.Simplify expects a module, got a Tensor",
    ),
    "narrow": (
        lambda: transform.NarrowDataType(8),
        LoweringError,
        "cannot narrow indices to 8 bits",
    ),
    "unroll": (
        lambda: PassContext(config={"tir.UnrollLoop": 16}),
        LoweringError,
        "must be a mapping, got 16",
    ),
}


def compiled(value: E.Expr, dtype: str | None = None) -> Callable[[], Any]:
    """Compile a function that stores a value."""
    to = buffer("D", [8], dtype or value.dtype)
    return lambda: build(function([to], S.BufferStore(to, value, (E.IntImm(0),))))


def executed(body: Any) -> Callable[[], Any]:
    to = buffer("D", [8])
    return lambda: build(function([to], S.Evaluate(body) if isinstance(body, E.Expr) else body))


NARROW = E.FloatImm(1.0, "bfloat16")


def call(dtype: str, op: str, *args: Any) -> E.Call:
    return E.Call(dtype, f"tir.{op}", args)


def too_large() -> None:
    small = S.AssertStmt(
        E.LT(INDEX, E.IntImm(4)), E.StringImm("too large"), S.Evaluate(E.IntImm(0))
    )
    build(function([INDEX, D], small))(5, np.zeros(8, "float32"))


PLACE = call("handle", "address_of", E.BufferLoad(D, (E.IntImm(0),)))
ONE = E.FloatImm(1.0)
BUILT: dict[str, Case] = {
    "atomic": (
        lambda: build(
            function(
                [D], S.Evaluate(call("bfloat16", "atomic_add", PLACE, E.FloatImm(1.0, "bfloat16")))
            )
        ),
        BuildError,
        "atomic_add does not support bfloat16",
    ),
    "compare and swap": (
        lambda: build(function([D], S.Evaluate(call("float32", "atomic_cas", PLACE, ONE, ONE)))),
        BuildError,
        "compared as integers",
    ),
    "nameless call": (
        executed(call("int32", "call_extern", E.IntImm(1))),
        BuildError,
        "must be the name of a function",
    ),
    "expression": (
        executed(te.placeholder((1,), name="P")(0)),
        BuildError,
        "code for a ProducerLoad",
    ),
    "shuffle": (
        lambda: build(
            function(
                [D],
                loop(8, lambda i: S.BufferStore(D, E.Shuffle((E.Broadcast(ONE, 8),), (i,)), (i,))),
            )
        ),
        BuildError,
        "lane numbers of a Shuffle must be constants",
    ),
    "address": (
        executed(
            call("int32", "call_extern", E.StringImm("abs"), call("handle", "address_of", ONE))
        ),
        BuildError,
        "address_of expects .*, got a FloatImm",
    ),
    "machine": (
        lambda: te_sched.build(te.create_schedule(B.op), [A, B], "llvm -mtriple=nowhere-none"),
        BuildError,
        "check -mtriple",
    ),
    "device loop": (
        executed(S.For(INDEX, E.IntImm(0), E.IntImm(8), "thread_binding", S.Evaluate(E.IntImm(0)))),
        BuildError,
        "threads",
    ),
    "offset": (
        lambda: build(
            function(
                [E.Buffer(D.data, "float32", D.shape, (), E.Add(INDEX, E.IntImm(1)), "D")],
                S.Evaluate(E.IntImm(0)),
            )
        ),
        BuildError,
        "the element offset of buffer D is an expression",
    ),
    "shape": (
        lambda: build(
            function([buffer("D", [call("int32", "popcount", INDEX)])], S.Evaluate(E.IntImm(0)))
        ),
        BuildError,
        "contains a Call",
    ),
    "checking a number": (
        lambda: analysis_check(3),
        BuildError,
        "expects a Schedule, a PrimFunc or an IRModule, got an int",
    ),
    "assertion of a program": (too_large, CallError, "too large"),
    "level": (
        lambda: te_sched.build(te.create_schedule(B.op), [A, B], "llvm -opt-level=7"),
        BuildError,
        "use 0, 1, 2 or 3",
    ),
}


enter("scheduling by hand", SCHEDULED)
enter("lowering by hand", LOWERED)
enter("building by hand", BUILT)
