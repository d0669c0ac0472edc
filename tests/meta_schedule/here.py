"""A builder and a runner that work in this process, so that tests of searches start no others, and
the programs and the space that they search.
"""

from __future__ import annotations

import time
from concurrent.futures import Future

import te_sched
from te_sched import te
from te_sched.errors import TeSchedError
from te_sched.meta_schedule.builder import BuilderResult, PyBuilder
from te_sched.meta_schedule.builder.local_builder import built
from te_sched.meta_schedule.runner import EvaluatorConfig, PyRunner, RunnerResult
from te_sched.meta_schedule.runner.base import RunnerFuture
from te_sched.meta_schedule.runner.measuring import measured, save_reference
from te_sched.script import from_source
from te_sched.tuning.artifacts import export
from te_sched.worker_pool import scratch_folder

_ONCE = EvaluatorConfig(number=1, repeat=1, min_repeat_ms=0)


def _export(module):
    """Write a module where its folder is removed at the end, as in a worker."""
    with scratch_folder() as folder:
        return export(module, folder)


class BuilderHere(PyBuilder):
    """Builds in this process; `broken` is the number of a candidate that cannot be built."""

    def __init__(self, broken=None):
        self.count, self.broken = 0, broken
        self.paths = []  # of what was built

    def build(self, build_inputs):
        return [self._built(one) for one in build_inputs]

    def _built(self, one):
        self.count += 1
        if self.count == self.broken:
            return BuilderResult(None, "Builder: broken\nfor the test")
        self.paths.append(built(one.mod, str(one.target), None, None, _export))
        return BuilderResult(self.paths[-1], None)


class RunnerHere(PyRunner):
    """Measures in this process; `seconds` are returned instead of what the clock says."""

    def __init__(self, seconds=()):
        self.seconds = list(seconds)

    def run(self, runner_inputs):
        return [self._run(one) for one in runner_inputs]

    def _run(self, one):
        try:
            result = RunnerResult(self._measured(one), None, "here")
        except TeSchedError as error:
            result = RunnerResult(None, str(error), "here")
        return RunnerFuture(lambda: True, lambda: result)

    def _measured(self, one):
        infos = [info.as_json() for info in one.args_info]
        if one.reference_path is not None:
            save_reference(one.reference_path, infos)
        functions = (None,) * 3
        ran = measured(
            *(one.artifact_path, one.device_type, infos, one.reference_path),
            *(_ONCE, 1, 0.0, functions),
        )
        return [self.seconds.pop(0)] if self.seconds else ran


class RunnerThatHangs(RunnerHere):
    """Measures some candidates, then does not end."""

    def __init__(self, count):
        super().__init__()
        self.count = count

    def _measured(self, one):
        self.count -= 1
        if self.count < 0:
            time.sleep(600)
        return super()._measured(one)


class CallsHere:
    """Calls of a cluster that are made in this process, with `own` for the part of the worker."""

    def __init__(self, cluster, kind, settings):
        self.part, self.own, self.is_closed = (kind, settings), None, False

    def submit(self, function, *arguments):
        future = Future()
        try:
            future.set_result(function(self.own, *arguments))
        except Exception as error:
            future.set_exception(error)
        return future

    def result(self, future):
        return future.result()

    def close(self):
        self.is_closed = True


def product(n=32):
    """A product of matrices, as tensors."""
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return [A, B, C]


def space(sch):
    """Columns in tiles, which become vectors."""
    i, j, k = sch.get_loops("C")
    outer, inner = sch.split(j, sch.sample_perfect_tile(j, n=2, max_innermost_factor=16))
    sch.reorder(i, outer, k, inner)
    sch.vectorize(inner)


def sums_without_init():
    """Sums of rows that are added to what C contains, of which no schedule may be tried."""
    return from_source(
        """
@T.prim_func
def sums(A: T.Buffer((64, 64), "float32"), C: T.Buffer((64,), "float32")):
    for i, k in T.grid(64, 64):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            C[vi] = C[vi] + A[vi, vk]
"""
    )


def tuned(f=None, *args, seconds=(), broken=None, **options):
    """A short search in this process."""
    chosen = {"trials": 4, "space": space, "seed": 1, "strategy": "replay-trace"}
    return te_sched.tune(
        product() if f is None else f,
        *args,
        builder=BuilderHere(broken),
        runner=RunnerHere(seconds),
        cost_model=None,
        **{**chosen, **options},
    )
