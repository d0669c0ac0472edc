"""A user's search under `mypy --strict` and pyright: a function, decisions, databases, a rule."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import assert_type

import numpy as np

import te_sched
from te_sched import autotvm, te, tir
from te_sched import meta_schedule as ms

N = 16


def product() -> tir.PrimFunc:
    A = te.placeholder((N, N), name="A")
    B = te.placeholder((N, N), name="B")
    k = te.reduce_axis((0, N), name="k")
    C = te.compute((N, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_prim_func([A, B, C])


@ms.derived_object
class Vectors(ms.schedule_rule.PyScheduleRule):
    """Vectorizes the last loop of block C."""

    def _initialize_with_tune_context(self, context: ms.TuneContext) -> None:
        self.target = context.target

    def apply(self, sch: tir.Schedule, block: tir.schedule.BlockRV) -> list[tir.Schedule]:
        outer, inner = sch.split(sch.get_loops(block)[1], factors=[None, 4])
        sch.reorder(sch.get_loops(block)[-1], inner)
        sch.vectorize(inner)
        sch.parallel(outer)
        return [sch]

    def clone(self) -> Vectors:
        return Vectors()


def decide(sch: tir.Schedule) -> None:
    """A space of schedules, as a function."""
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    i0, i1 = sch.split(i, factors=sch.sample_perfect_tile(i, n=2, max_innermost_factor=16))
    j0, j1 = sch.split(j, factors=sch.sample_perfect_tile(j, n=2))
    sch.reorder(i0, j0, k, i1, j1)
    sch.annotate(i0, "pragma_unroll_explicit", sch.sample_categorical([0, 1], [0.5, 0.5]))


def search(space: ms.space_generator.ScheduleFn, folder: str) -> tir.Schedule | None:
    target = te_sched.target.Target("llvm -num-cores=2")
    database: ms.Database = ms.tune_tir(
        product(),
        target,
        work_dir=folder,
        max_trials_global=4,
        num_trials_per_iter=2,
        space=space,
        seed=1,
    )
    schedule = ms.tir_integration.compile_tir(database, product(), target)
    assert_type(schedule, tir.Schedule | None)
    return schedule


def run(sch: tir.Schedule) -> float:
    module = te_sched.build(sch.mod, target="llvm")
    device = te_sched.cpu()
    a, b = (np.random.rand(N, N).astype("float32") for _ in range(2))
    arrays = [te_sched.nd.array(one, device) for one in (a, b, np.zeros((N, N), "float32"))]
    module(*arrays)
    np.testing.assert_allclose(arrays[2].numpy(), a @ b, rtol=1e-4)
    times: Sequence[float] = module.time_evaluator(module.entry_name, device, number=1)(
        *arrays
    ).results
    return min(times)


@autotvm.template("tests/packaging/row")
def row(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """A template of a schedule of TE."""
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1, name="B")
    s = te.create_schedule(B.op)
    config = autotvm.get_config()
    config.define_split("tile", s[B].op.axis[0], num_outputs=2)
    config["tile"].apply(s, B, s[B].op.axis[0])
    return s, [A, B]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        found = search(ms.space_generator.ScheduleFn(decide), folder)
    assert found is not None
    print(f"{run(found) * 1e6:.1f} us", Vectors().clone(), found.trace)
    task = autotvm.task.create("tests/packaging/row", args=(16,), target="llvm")
    print(task.config_space)
