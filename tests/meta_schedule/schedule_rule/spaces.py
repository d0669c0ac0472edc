"""The spaces that rules span for blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import te_sched
from te_sched import meta_schedule as ms
from te_sched import te, tir
from te_sched.meta_schedule import schedule_rule as rules
from te_sched.meta_schedule.schedule_rule import ReuseType
from te_sched.meta_schedule.space_generator import PostOrderApply

CPU, GPU = "llvm -num-cores=4", "nvidia/geforce-rtx-2080"


TILING = rules.MultiLevelTiling("SSRSRS", reuse_write=ReuseType("may", [1, 2], "global"))


def uniform(*shape: int) -> Any:
    """Random numbers, the same in each run."""
    return np.random.default_rng(0).uniform(-1, 1, shape).astype("float32")


def product(n: int = 16, m: int = 16, depth: int = 16, bias: Any = None) -> tir.PrimFunc:
    A, B = te.placeholder((n, depth), name="A"), te.placeholder((depth, m), name="B")
    k = te.reduce_axis((0, depth), "k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    last = C if bias is None else te.compute((n, m), lambda i, j: bias(C, i, j), name="D")
    return te.create_prim_func([A, B, last])


def elementwise(value: Callable[..., Any], consumer: bool = True) -> tir.PrimFunc:
    """B is computed of A, and C sums its rows (or is B + 1)."""
    A = te.placeholder((16, 16), name="A")
    B = te.compute((16, 16), lambda i, j: value(A, i, j), name="B")
    k = te.reduce_axis((0, 16), "k")
    C = te.compute((16,), lambda i: te.sum(B[i, k], axis=k), name="C")
    plain = te.compute((16, 16), lambda i, j: B[i, j] + 1.0, name="C")
    return te.create_prim_func([A, C if consumer else plain])


def row_sums(n: int = 4, depth: int = 64) -> tir.PrimFunc:
    A, k = te.placeholder((n, depth), name="A"), te.reduce_axis((0, depth), "k")
    return te.create_prim_func([A, te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="C")])


def space(func: Any, *parts: ms.ScheduleRule, target: str = CPU) -> list[tir.Schedule]:
    generator = PostOrderApply(sch_rules=list(parts), postprocs=[], mutator_probs={})
    context = ms.TuneContext(func, target=target, space_generator=generator, rand_state=1)
    return context.generate_design_space()


def steps(sch: tir.Schedule) -> list[str]:
    """The primitives that change the program."""
    return [e.method for e in sch.trace.entries if not e.primitive.is_naming]


def check_product(sch: tir.Schedule, relu: bool = False) -> None:
    a, b = uniform(16, 16), uniform(16, 16)
    out = te_sched.nd.array(np.zeros((16, 16), "float32"))
    te_sched.build(sch.mod)(te_sched.nd.array(a), te_sched.nd.array(b), out)
    expected = np.maximum(a @ b, 0) if relu else a @ b
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-5)


def bytes_product(left: str = "uint8", n: int = 32) -> tir.PrimFunc:
    A, B = te.placeholder((16, 16), left, "A"), te.placeholder((n, 16), "int8", "B")
    k = te.reduce_axis((0, 16), "k")
    C = te.compute(
        (16, n),
        lambda i, j: te.sum(A[i, k].astype("int32") * B[j, k].astype("int32"), axis=k),
        name="C",
    )
    return te.create_prim_func([A, B, C])


def annotated(rule: str) -> Any:
    sch = tir.Schedule(product())
    sch.annotate("C", "schedule_rule", rule)
    return sch.mod
