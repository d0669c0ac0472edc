"""Candidates to score."""

from __future__ import annotations

from te_sched import te
from te_sched.ir.stmt import PrimFunc
from te_sched.meta_schedule import MeasureCandidate, TuneContext
from te_sched.tir.schedule import Schedule


def doubled(n: int) -> PrimFunc:
    """A function of two buffers."""
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
    return te.create_prim_func([A, B])


CONTEXT = TuneContext(doubled(8), target="llvm")


CANDIDATES = [MeasureCandidate(Schedule(doubled(8)), None)] * 20
