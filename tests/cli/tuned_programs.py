"""Programs to tune, and searches in this process."""

import pytest

import te_sched
from tests.meta_schedule.here import BuilderHere, RunnerHere

SPACE = """
def space(sch):
    i, j, k = sch.get_loops("C")
    sch.vectorize(sch.split(j, sch.sample_perfect_tile(j, n=2, max_innermost_factor=16))[1])

number = 3

def total(n=32):
    A = te.placeholder((n, n), name="A")
    k = te.reduce_axis((0, n), name="k")
    return te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="C")

def wrong():
    return 1 // 0
"""


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    def search(*args, **options):
        return tune(
            *args,
            **options,
            builder=BuilderHere(),
            runner=RunnerHere(),
            cost_model=None,
            strategy="replay-trace",
        )

    tune = te_sched.tune
    monkeypatch.setattr(te_sched, "tune", search, raising=False)
