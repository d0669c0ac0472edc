"""Mutators: each changes one decision, and the changed trace can be replayed."""

from math import prod

import pytest

from te_sched import meta_schedule as ms
from te_sched import tir
from te_sched.errors import DeclarationError
from te_sched.tensorir.random_numbers import RandomNumbers
from tests.meta_schedule.programs import LLVM, MODULE, tiled


def known(mutator):
    """A mutator that knows the task."""
    mutator._initialize_with_tune_context(
        ms.tune_context.TuneContext(MODULE, target=LLVM, rand_state=1)
    )
    return mutator


def changed(mutator, schedule):
    """The decisions before and after, and the schedule after."""
    sch = tir.Schedule(MODULE, seed=3)
    schedule(sch)
    after = known(mutator).apply(sch.trace, RandomNumbers(1))
    again = tir.Schedule(MODULE)
    after.apply_to_schedule(again, remove_postproc=False)
    return [*sch.trace.decisions.values()], [*after.decisions.values()], again


def test_tiles_keep_their_product():
    before, after, _ = changed(ms.mutator.MutateTileSize(), tiled)
    assert sum(one != other for one, other in zip(before, after, strict=True)) == 1
    assert all(prod(one) == 64 for one in after)


def unrolled(sch):
    steps = sch.sample_categorical([0, 16, 64], [0.4, 0.3, 0.3], decision=1)
    sch.annotate("C", "meta_schedule.unroll_explicit", steps)


def test_unrolling_changes():
    before, after, sch = changed(ms.mutator.MutateUnroll(), unrolled)
    assert after != before
    value = sch.get(sch.get_block("C")).annotations["meta_schedule.unroll_explicit"]
    assert int(value) == [0, 16, 64][after[0]]


def bound(sch):
    threads = sch.sample_categorical([4, 8, 16], [0.4, 0.3, 0.3], decision=1)
    i, *_ = sch.get_loops("C")
    _, inner = sch.split(i, [None, threads])
    sch.bind(inner, "threadIdx.x")


def test_numbers_of_threads_change():
    before, after, sch = changed(ms.mutator.MutateThreadBinding(), bound)
    assert after != before
    assert sch.get(sch.get_loops("C")[1]).extent.value == [4, 8, 16][after[0]]


def placed(sch):
    cache = sch.cache_read("C", 0, "global")
    place = sch.sample_compute_location(cache, decision=1)
    sch.compute_at(cache, place)


def test_places_change():
    before, after, _ = changed(ms.mutator.MutateComputeLocation(), placed)
    assert before == [1]
    assert after != before


def test_limits_of_parallel_loops_change():
    def parallel(sch):
        sch.annotate("C", "meta_schedule.parallel", 64)

    sch = tir.Schedule(MODULE)
    parallel(sch)
    mutator = known(ms.mutator.MutateParallel(max_jobs_per_core=4096))
    after = mutator.apply(sch.trace, RandomNumbers(1))
    assert after.insts[-1].inputs[1] in (64 * 64, 64**3)
    assert known(ms.mutator.MutateParallel(1)).apply(sch.trace) is None


def test_places_need_the_module():
    sch = tir.Schedule(MODULE)
    placed(sch)
    with pytest.raises(DeclarationError, match="the mutator has no module"):
        ms.mutator.MutateComputeLocation().apply(sch.trace)
