"""Strategies: batches, the same candidates from a seed, no candidate twice, misuse."""

import pytest

from te_sched import meta_schedule as ms
from te_sched import tir
from te_sched.errors import DeclarationError
from te_sched.tir.schedule import Trace
from tests.meta_schedule.programs import LLVM, MODULE, complain, space, tiled

KINDS = ["replay-trace", "replay-func", "evolutionary"]


def context(strategy, seed=1, **options):
    return ms.tune_context.TuneContext(
        MODULE,
        target=LLVM,
        space_generator=options.get("space", space()),
        search_strategy=strategy,
        rand_state=seed,
    )


def searched(strategy, trials, each, **options):
    """The decisions of all candidates, by batch."""
    task = context(strategy, **options)
    task.pre_tuning(trials, each)
    found = []
    while (batch := task.generate_measure_candidates()) is not None:
        found.append([str([*one.sch.trace.decisions.values()]) for one in batch])
        task.notify_runner_results(batch, [ms.runner.RunnerResult([1.0], None)] * len(batch))
    task.post_tuning()
    return found


@pytest.mark.parametrize("strategy", KINDS)
def test_batches_end_with_the_trials(strategy):
    assert [len(one) for one in searched(strategy, 16, 6)] == [6, 6, 4]


@pytest.mark.parametrize("strategy", KINDS)
def test_the_same_seed_gives_the_same_candidates(strategy):
    assert searched(strategy, 8, 8) == searched(strategy, 8, 8)
    assert searched(strategy, 8, 8) != searched(strategy, 8, 8, seed=5)


@pytest.mark.parametrize("strategy", KINDS)
def test_no_candidate_is_given_twice_while_there_are_new_ones(strategy):
    found = [one for batch in searched(strategy, 40, 20) for one in batch]
    assert len(found) == len(set(found)) == 40


def test_replays_repeat_candidates_of_small_spaces():
    found = [one for batch in searched("replay-trace", 100, 32) for one in batch]
    assert len(found) == 100
    assert len(set(found)) >= 45


def test_a_large_batch_of_a_small_space_has_each_candidate_once(monkeypatch):
    draws = []
    drawn = ms.search_strategy.EvolutionarySearch._drawn
    monkeypatch.setattr(
        ms.search_strategy.EvolutionarySearch,
        "_drawn",
        lambda strategy: draws.append(1) or drawn(strategy),
    )
    found = [one for batch in searched("evolutionary", 10**9, 10**9) for one in batch]
    assert len(found) == len(set(found)) == 49
    assert len(draws) < 2_500


def refuse_half(sch):
    """A space whose function raises for some of its decisions."""
    tiled(sch)
    if next(iter(sch.trace.decisions.values()))[1] > 4:
        sch.get_block("no such block")


def test_functions_that_refuse_some_decisions_are_run_again():
    task = context("replay-func", space=space(refuse_half))
    task.pre_tuning(8, design_spaces=[tir.Schedule(MODULE)])
    found = task.generate_measure_candidates()
    assert len(found) == 8
    assert all(next(iter(one.sch.trace.decisions.values()))[1] <= 4 for one in found)


def test_decisions_are_drawn_anew():
    sch = context("replay-trace").generate_design_space()[0]
    assert len(Trace(sch.trace.insts).decisions) == 2
    assert Trace(sch.trace.insts, {}).decisions == {}


class Model(ms.cost_model.PyCostModel):
    """Prefers large inner tiles."""

    def load(self, path):
        """Nothing to load."""

    def save(self, path):
        """Nothing to save."""

    def update(self, context, candidates, results):
        """Nothing to learn."""

    def predict(self, context, candidates):
        """The inner tile of i."""
        return [float(next(iter(one.sch.trace.decisions.values()))[1]) for one in candidates]


def test_evolution_follows_the_model():
    strategy = ms.search_strategy.EvolutionarySearch(
        population_size=32, genetic_num_iters=3, eps_greedy=0.0
    )
    mutators = {ms.mutator.MutateTileSize(): 1.0}
    task = context(strategy, space=ms.space_generator.ScheduleFn(tiled, [], [], mutators))
    task.pre_tuning(6, 6, database=ms.database.MemoryDatabase(), cost_model=Model())
    batch = task.generate_measure_candidates()
    assert [next(iter(one.sch.trace.decisions.values()))[1] for one in batch] == [64] * 6


def test_strategies_reject_misuse():
    task = context("replay-trace")
    with pytest.raises(DeclarationError, match="the search has not begun"):
        task.generate_measure_candidates()
    with pytest.raises(DeclarationError, match="the strategy has no task"):
        ms.search_strategy.ReplayTrace().pre_tuning(1, 1, [])
    task.pre_tuning(1)
    with pytest.raises(DeclarationError, match="the search has begun already"):
        task.pre_tuning(1)
    task.clone().pre_tuning(1)
    with pytest.raises(DeclarationError, match=r"eps_greedy is 2\.0, expected a share"):
        ms.search_strategy.EvolutionarySearch(eps_greedy=2.0)


def test_spaces_without_schedules_are_refused():
    empty = ms.space_generator.ScheduleFn(lambda sch: [], [], [], {})
    with pytest.raises(DeclarationError, match="the space of task 'main' has no schedules"):
        context("replay-trace", space=empty).pre_tuning(1)


def test_spaces_that_raise_end_the_call():
    with pytest.raises(ValueError, match="a fault of the user's function"):
        context("replay-trace", space=space(complain)).pre_tuning(1)
