"""Random schedules, applied to two implementations.

A decision depends on one schedule, and refers to stages and axes by position, so that it can be
applied to the other.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from te_sched.errors import ScheduleError

Outputs = list[Any]


def chain(tvm: Any) -> Outputs:
    te = tvm.te
    A = te.placeholder((20, 30), name="A")
    B = te.compute((20, 30), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((20, 30), lambda i, j: B[i, j] * 2, name="C")
    D = te.compute((20, 30), lambda i, j: C[i, j] - B[i, j], name="D")
    return [D]


def products(tvm: Any) -> Outputs:
    te = tvm.te
    A = te.placeholder((16, 24), name="A")
    B = te.placeholder((24, 18), name="B")
    k, m = te.reduce_axis((0, 24), "k"), te.reduce_axis((2, 18), "m")
    C = te.compute((16, 18), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((16,), lambda i: te.max(C[i, m], axis=m), name="D")
    E = te.compute((16, 18), lambda i, j: C[i, j] - D[i], name="E")
    return [E]


def convolution(tvm: Any) -> Outputs:
    te = tvm.te
    X = te.placeholder((4, 12, 12), name="X")
    W = te.placeholder((8, 4, 3, 3), name="W")

    def padded(c: Any, y: Any, x: Any) -> Any:
        inside = te.all(y >= 1, y < 13, x >= 1, x < 13)
        return te.if_then_else(inside, X[c, y - 1, x - 1], te.const(0, "float32"))

    P = te.compute((4, 14, 14), padded, name="P")
    c, r, s = (te.reduce_axis((0, n), name) for n, name in ((4, "c"), (3, "r"), (3, "s")))
    Y = te.compute(
        (8, 12, 12),
        lambda f, y, x: te.sum(P[c, y + r, x + s] * W[f, c, r, s], axis=[c, r, s]),
        name="Y",
    )
    R = te.compute((8, 12, 12), lambda *i: te.max(Y(*i), te.const(0.0, "float32")), name="R")
    return [R, Y]


def tuples(tvm: Any) -> Outputs:
    te = tvm.te
    n = te.var("n")
    A = te.placeholder((n, 12), name="A")
    B0, B1 = te.compute((n, 12), lambda i, j: (A[i, j] + 1, A[i, j] * A[i, j]), name="B")
    k = te.reduce_axis((0, 12), "k")
    both = te.comm_reducer(
        lambda x, y: (x[0] + y[0], x[1] * y[1]),
        lambda p, q: (te.const(0, p), te.const(1, q)),
        name="both",
    )
    S, T = te.compute((n,), lambda i: both((B0[i, k], B1[i, k]), axis=k), name="S")
    U = te.compute((n,), lambda i: S[i] + T[i], name="U")
    return [U]


def cumulative(tvm: Any) -> Outputs:
    te = tvm.te
    X = te.placeholder((10, 16), name="X")
    state = te.placeholder((10, 16), name="state")
    first = te.compute((1, 16), lambda _, i: X[0, i], name="first")
    half = te.compute((10, 16), lambda t, i: state[t - 1, i] * 0.5, name="half")
    step = te.compute((10, 16), lambda t, i: half[t, i] + X[t, i], name="step")
    total = te.scan(first, step, state, inputs=[X])
    Z = te.compute((10, 16), lambda i, j: total[i, j] + 1, name="Z")
    return [Z]


DECLARATIONS: tuple[Callable[[Any], Outputs], ...] = (
    chain,
    products,
    convolution,
    tuples,
    cumulative,
)

Decision = Callable[[Any, Any], Any]


def decide(rng: random.Random, schedule: Any) -> tuple[str, Decision]:
    """A decision, legal or not: its text, and the function that applies it to (tvm, schedule)."""
    name = rng.choice(WEIGHTED)
    number = rng.choice(_fitting(name, schedule))
    leaves = len(schedule.stages[number].leaf_iter_vars)
    places = [rng.randrange(leaves) for _ in range(rng.randint(1, 3))] if leaves else []
    other = rng.choice(_readers(schedule, number))
    others = len(schedule.stages[other].leaf_iter_vars)
    place = rng.randrange(others) if others else None
    length = rng.choice([1, 2, 3, 4, 5, 7, 8, 16, 40])
    option = rng.choice(["factor", "nparts"])
    index = rng.randrange(schedule.stages[number].op.num_outputs)
    more = sorted(rng.sample(range(len(schedule.stages)), min(2, len(schedule.stages))))
    if name == "cache_read":
        more = sorted({other, rng.choice(_readers(schedule, number))})
    flag = rng.random() < 0.5

    def do(tvm: Any, s: Any) -> Any:
        stage, parent = s.stages[number], s.stages[other]
        axes = [stage.leaf_iter_vars[p] for p in places]
        tensor = stage.origin_op.output(index)
        if name == "split":
            return stage.split(axes[0], **{option: length})
        if name == "tile":
            return stage.tile(axes[0], axes[-1], length, 3)
        if name in ("fuse", "reorder"):
            return getattr(stage, name)(*axes)
        if name in ("unroll", "vectorize", "parallel"):
            return getattr(stage, name)(axes[0])
        if name == "bind":
            tag = ("threadIdx.x", "blockIdx.y", "vthread")[length % 3]
            return stage.bind(axes[0], tvm.te.thread_axis(tag))
        if name == "pragma":
            return stage.pragma(axes[0], ("unroll", "vectorize", "hint")[length % 3], length)
        if name == "prefetch":
            return stage.prefetch(parent.origin_op.output(0), axes[0], length)
        if name == "compute_at":
            return stage.compute_at(parent, parent.leaf_iter_vars[place])
        if name in ("compute_inline", "compute_root", "double_buffer"):
            return getattr(stage, name)()
        if name == "storage_align":
            return stage.storage_align(stage.op.axis[places[0]], length, 1)
        if name == "set_scope":
            return stage.set_scope("shared")
        if name == "cache_read":
            return s.cache_read(tensor, "shared", [s.stages[m].origin_op for m in more])
        if name == "cache_write":
            outputs = [stage.origin_op.output(i) for i in range(stage.op.num_outputs)]
            return s.cache_write(outputs if len(outputs) > 1 else tensor, "local")
        if name == "rfactor":
            return s.rfactor(tensor, axes[0], (0, 1, -1)[length % 3])
        ends = [s.stages[m].origin_op.output(0) for m in more]
        return s.create_group(outputs=ends[-1], inputs=ends[0], include_inputs=flag)

    return f"{name} stage {number} axes {places} at {other}.{place} {option}={length} {more}", do


def _fitting(name: str, schedule: Any) -> list[int]:
    """Stages for which a primitive is probably legal, and sometimes any stage."""
    everything = list(range(len(schedule.stages)))
    found = [
        number
        for number in everything
        if type(schedule.stages[number].op).__name__ == "ComputeOp"
        and (name != "rfactor" or schedule.stages[number].op.reduce_axis)
    ]
    return [*found * 3, *everything]


def _readers(schedule: Any, number: int) -> list[int]:
    """The consumers of a stage, or all stages if there are none."""
    op = schedule.stages[number].op
    everything = list(range(len(schedule.stages)))
    readers = [
        one
        for one in everything
        if any(tensor.op is op for tensor in schedule.stages[one].op.input_tensors)
    ]
    return [*readers * 3, *everything]


WEIGHTED = (
    *("split",) * 6,
    *("fuse", "reorder", "compute_at") * 4,
    *("tile", "cache_read", "cache_write", "rfactor") * 2,
    *("unroll", "vectorize", "parallel", "bind", "pragma", "prefetch", "storage_align"),
    *("compute_inline", "compute_root", "double_buffer", "set_scope", "create_group"),
)


def build(
    seed: int, ours: Any, theirs: Any, length: int = 12
) -> tuple[Any, Any, list[tuple[str, str]]]:
    """Two schedules after the same random decisions, and the log (decision, why refused or "").

    Decisions that the first implementation refuses are not applied to the second.
    """
    rng = random.Random(seed)
    declare = rng.choice(DECLARATIONS)
    first, second = (one.te.create_schedule([t.op for t in declare(one)]) for one in (ours, theirs))
    log: list[tuple[str, str]] = []
    for _ in range(length):
        text, do = decide(rng, first)
        try:
            do(ours, first)
        except (ScheduleError, IndexError, TypeError) as refusal:
            log.append((text, f"{type(refusal).__name__}: {refusal}"))
            continue
        log.append((text, ""))
        do(theirs, second)
    return first, second, log
