"""Task schedulers: which task is next, tables, counts of failures, callbacks."""

import contextlib
import logging
import os

import pytest

from te_sched import meta_schedule as ms
from te_sched.errors import DeclarationError
from tests.meta_schedule.here import BuilderHere
from tests.meta_schedule.programs import LLVM, MODULE, Reject, complain, errors, space, tune


class Builder(ms.builder.PyBuilder):
    """Builds nothing; every fourth candidate fails."""

    def build(self, inputs):
        """Paths that are not there."""
        paths = ["/nowhere/module.o" if n % 4 != 3 else None for n in range(len(inputs))]
        return [ms.builder.BuilderResult(one, None if one else "cannot be built") for one in paths]


class Runner(ms.runner.PyRunner):
    """Gives seconds that were fixed before; the first of a batch fails."""

    def __init__(self, seconds):
        self.seconds = iter(seconds)

    def run(self, inputs):
        """Results that are there at once."""
        found = [ms.runner.RunnerResult([next(self.seconds)], None) for _ in inputs]
        found[0] = ms.runner.RunnerResult(None, "crashed")
        return [ms.runner.RunnerFuture(lambda: True, lambda one=one: one) for one in found]


def task(name):
    return ms.tune_context.TuneContext(
        MODULE,
        target=LLVM,
        space_generator=space(),
        search_strategy="replay-trace",
        task_name=name,
        rand_state=1,
    )


def scheduled(scheduler, names="ab", trials=16, weights=(1.0, 1.0), callbacks=(), per_task=8):
    scheduler.tune(
        [task(one) for one in names],
        list(weights)[: len(names)],
        trials,
        per_task,
        4,
        Builder(),
        Runner([1e-3 / (1 + n) for n in range(1000)]),
        list(callbacks),
        ms.database.MemoryDatabase(),
        None,
    )
    return scheduler


@pytest.mark.parametrize("kind", ["round-robin", "gradient"])
def test_each_task_has_its_trials(kind):
    scheduler = scheduled(ms.TaskScheduler.create(kind), trials=100)
    assert [len(one.latencies) for one in scheduler.tasks_] == [8, 8]
    assert scheduler.remaining_tasks_ == 0


def test_the_heavier_task_has_more_trials():
    scheduler = ms.task_scheduler.GradientBased(seed=1)
    scheduled(scheduler, trials=32, weights=(1.0, 50.0), per_task=49)
    light, heavy = (len(one.latencies) for one in scheduler.tasks_)
    assert light + heavy == 32
    assert heavy > light


def test_failures_are_counted():
    record = scheduled(ms.task_scheduler.RoundRobin(), names="a", trials=4).tasks_[0]
    assert (record.build_error_count, record.run_error_count) == (1, 1)
    assert record.best == min(record.latencies)


def test_the_table_has_the_tasks(caplog):
    with caplog.at_level(logging.INFO):
        scheduler = scheduled(ms.task_scheduler.RoundRobin())
    table = scheduler.statistics()
    assert "ID | Name |   FLOP | Weight | Speed (GFLOPS)" in table
    assert " 0 |    a | 524288 |      1 |" in table
    assert "Total trials: 16" in table
    assert "task 1 (b): 8 trials, 4 failed" in caplog.text


class Batches(ms.measure_callback.PyMeasureCallback):
    """Keeps the numbers of results."""

    def __init__(self):
        self.found = []

    def apply(self, scheduler, number, candidates, built, results):
        """One batch."""
        scheduler.touch_task(number)  # which has no measurement that is going on
        self.found.append((number, len(candidates), len(built), len(results)))


def test_callbacks_have_the_batches():
    callback = Batches()
    scheduled(ms.task_scheduler.RoundRobin(), trials=16, callbacks=[callback])
    assert callback.found == [(0, 4, 4, 4), (1, 4, 4, 4)] * 2


class Stuck(ms.task_scheduler.PyTaskScheduler):
    """Always chooses the first task."""

    def next_task_id(self):
        """The number of a task that may be done."""
        return 0


def test_tasks_that_are_done_are_not_chosen_again():
    with pytest.raises(DeclarationError, match="next_task_id gave task 0, which is done"):
        scheduled(Stuck(), names="a", trials=100)


def test_tasks_and_weights_are_as_many():
    with pytest.raises(DeclarationError, match="2 tasks have 1 weights"):
        scheduled(ms.task_scheduler.RoundRobin(), weights=[1.0])


def test_touching_takes_results_that_are_there():
    scheduler = ms.task_scheduler.RoundRobin()
    scheduled(scheduler, names="a", trials=4)
    record = scheduler.tasks_[0]
    record.ctx.pre_tuning(8, 4)
    record.measure_candidates = record.ctx.generate_measure_candidates()
    record.builder_results = [ms.builder.BuilderResult(None, "failed")] * 4
    results = [ms.runner.RunnerResult([2.0], None)] * 4
    record.runner_futures = [
        ms.runner.RunnerFuture(lambda: True, lambda one=one: one) for one in results
    ]
    scheduler.touch_task(0)
    assert record.runner_futures is None
    assert len(record.latencies) == 8


def test_tasks_of_a_call_that_failed_may_be_tuned_again():
    def refuse(sch):
        if refuse.is_on:
            raise ValueError("not yet")

    refuse.is_on = True
    tasks = [task("a"), task("b")]
    tasks[1].space_generator = space(refuse)
    tasks[1].space_generator._initialize_with_tune_context(tasks[1])
    scheduler = ms.task_scheduler.RoundRobin()
    parts = (Builder(), Runner([1.0] * 100), [], ms.database.MemoryDatabase(), None)
    with pytest.raises(ValueError, match="not yet"):
        scheduler.tune(tasks, [1.0, 1.0], 8, 4, 4, *parts)
    refuse.is_on = False
    scheduler.tune(tasks, [1.0, 1.0], 8, 4, 4, *parts)
    assert [len(one.latencies) for one in scheduler.tasks_] == [4, 4]


class Empty(ms.search_strategy.ReplayTrace):
    """Finds nothing new."""

    def generate_measure_candidates(self):
        """A batch without candidates."""
        self.batches = getattr(self, "batches", 0) + 1
        return []


def test_tasks_without_new_candidates_end():
    strategy = Empty()
    context = ms.TuneContext(MODULE, target=LLVM, space_generator=space(), search_strategy=strategy)
    scheduler = ms.task_scheduler.RoundRobin()
    parts = (Builder(), Runner([]), [], ms.database.MemoryDatabase(), None)
    scheduler.tune([context], [1.0], 8, 8, 4, *parts)
    assert strategy.batches == 101
    assert scheduler.tasks_[0].latencies == []


def test_candidates_are_measured_without_an_unscheduled_program_that_cannot_be_built(
    tmp_path, caplog
):
    assert errors(tune(tmp_path, 2, builder=BuilderHere(broken=3))) == [None] * 2
    assert "cannot be built, candidates are not checked: Builder: broken" in caplog.text


@pytest.mark.parametrize("strategy", ["replay-trace", "replay-func", "evolutionary"])
def test_spaces_without_valid_schedules_are_reported(tmp_path, strategy, caplog):
    database = tune(tmp_path, space=space(postprocs=[Reject()]), strategy=strategy)
    assert ms.tir_integration.compile_tir(database, MODULE, LLVM) is None
    assert "task main ends without a trial" in caplog.text


class Calling(ms.runner.PyRunner):
    """Measures nothing: calls a function, now or for each result."""

    def __init__(self, function, is_late=False):
        self.function, self.is_late = function, is_late

    def run(self, inputs):
        """What the function returns, or futures of it."""
        if not self.is_late:
            return self.function(inputs)
        return [ms.runner.RunnerFuture(lambda: True, lambda: self.function(inputs)) for _ in inputs]


class Callback(ms.measure_callback.PyMeasureCallback):
    """Calls a function."""

    def __init__(self, function):
        self.function = function

    def apply(self, *arguments):
        """What the function returns."""
        self.function()


class Returning(ms.builder.PyBuilder):
    """Returns something else than results."""

    def __init__(self, results):
        self.results = results

    def build(self, inputs):
        """What it was made with."""
        return self.results


def interrupt(*arguments):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "options",
    [
        {"runner": Calling(complain)},
        {"runner": Calling(complain, is_late=True)},
        {"runner": Calling(interrupt)},
        {"runner": Calling(lambda inputs: inputs)},
        {"measure_callbacks": Callback(complain)},
        {"measure_callbacks": Callback(interrupt)},
    ],
)
def test_a_search_that_is_cut_short_removes_what_was_built(tmp_path, options):
    builder = BuilderHere()
    with contextlib.suppress(ValueError, DeclarationError):
        assert len(tune(tmp_path, 2, builder=builder, **options)) == 0
    assert len(builder.paths) == 3
    assert not any(map(os.path.exists, builder.paths))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"builder": Returning([])},
            r"Returning returned \[\], expected a list of 3 BuilderResults",
        ),
        (
            {"builder": Returning([None] * 3)},
            r"returned \[None, None, None\], expected a list of 3",
        ),
        ({"runner": Calling(lambda inputs: None)}, "returned None, expected a list of 2 RunnerFut"),
        ({"runner": Calling(lambda inputs: "fast", True)}, "'fast', expected a RunnerResult"),
    ],
)
def test_parts_that_return_something_else_are_refused(tmp_path, options, message):
    with pytest.raises(DeclarationError, match=message):
        tune(tmp_path, 2, **options)


def test_ctrl_c_keeps_what_was_measured_of_a_batch(tmp_path):
    measured = []

    class Interrupted(ms.runner.PyRunner):
        def run(self, inputs):
            def fail():
                raise KeyboardInterrupt

            result = ms.runner.RunnerResult([1.0], None)
            first = ms.runner.RunnerFuture(lambda: True, lambda: result)
            return [first, *(ms.runner.RunnerFuture(lambda: False, fail) for _ in inputs[1:])]

        def close(self):
            measured.append("closed")

    database = tune(tmp_path, 4, runner=Interrupted())
    assert [one.run_secs for one in database.get_all_tuning_records()] == [[1.0]]
    assert "closed" in measured
