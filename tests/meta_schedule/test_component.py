"""Parts of a search by their names, and parts of users."""

import pytest

from te_sched import meta_schedule as ms
from te_sched.errors import DeclarationError
from te_sched.meta_schedule.component import named, not_written

NAMED = [
    (ms.Builder.create, "local", ms.builder.LocalBuilder),
    (ms.Runner.create, "local", ms.runner.LocalRunner),
    (ms.CostModel.create, "random", ms.cost_model.RandomModel),
    (ms.FeatureExtractor.create, "per-store-feature", ms.feature_extractor.PerStoreFeature),
    (ms.builder.create, "local", ms.builder.LocalBuilder),
    (ms.runner.create, "local", ms.runner.LocalRunner),
    (ms.SearchStrategy.create, "replay-func", ms.search_strategy.ReplayFunc),
    (ms.TaskScheduler.create, "round-robin", ms.task_scheduler.RoundRobin),
]


@pytest.mark.parametrize(("create", "name", "kind"), NAMED)
def test_parts_have_names(create, name, kind):
    part = create(name)
    assert type(part) is kind
    assert create(part) is part
    with pytest.raises(DeclarationError, match="'nearest' is not a"):
        create("nearest")


@pytest.mark.parametrize(
    ("create", "name", "missing"),
    [
        (ms.builder.create, "dask", "cluster"),
        (ms.runner.create, "dask", "cluster"),
        (ms.SpaceGenerator.create, "union", "space_generators"),
    ],
)
def test_parts_by_name_need_their_arguments(create, name, missing):
    with pytest.raises(DeclarationError, match=f"{name}': missing a required .*{missing}") as told:
        create(name)
    assert "give that instead of its name" in told.value.help
    with pytest.raises(DeclarationError, match="unexpected keyword argument 'speed'"):
        ms.runner.create("local", speed=1)


UNWRITTEN = [
    (ms.builder.PyBuilder().build, [[]]),
    (ms.runner.PyRunner().run, [[]]),
    (ms.runner.PyRunnerFuture().done, []),
    (ms.runner.PyRunnerFuture().result, []),
    (ms.search_strategy.PySearchStrategy().pre_tuning, [1, 1, []]),
    (ms.search_strategy.PySearchStrategy().post_tuning, []),
    (ms.search_strategy.PySearchStrategy().generate_measure_candidates, []),
    (ms.search_strategy.PySearchStrategy().notify_runner_results, [[], []]),
    (ms.task_scheduler.PyTaskScheduler().next_task_id, []),
    (ms.measure_callback.PyMeasureCallback().apply, [None, 0, [], [], []]),
    (ms.postproc.PyPostproc().apply, [None]),
    (ms.mutator.PyMutator().apply, [None]),
    (ms.cost_model.PyCostModel().load, [""]),
    (ms.cost_model.PyCostModel().save, [""]),
    (ms.cost_model.PyCostModel().update, [None, [], []]),
    (ms.cost_model.PyCostModel().predict, [None, []]),
    (ms.database.PyDatabase().has_workload, [None]),
    (ms.database.PyDatabase().commit_workload, [None]),
    (ms.database.PyDatabase().commit_tuning_record, [None]),
    (ms.database.PyDatabase().get_top_k, [None, 1]),
    (ms.database.PyDatabase().get_all_tuning_records, []),
    (ms.database.PyDatabase().__len__, []),
    (ms.feature_extractor.PyFeatureExtractor().extract_from, [None, []]),
    (ms.schedule_rule.PyScheduleRule().apply, [None, None]),
    (ms.space_generator.PySpaceGenerator().generate_design_space, [None]),
    (ms.space_generator.PySpaceGenerator()._initialize_with_tune_context, [None]),
]


@pytest.mark.parametrize(("method", "arguments"), UNWRITTEN)
def test_methods_that_a_class_lacks_are_named(method, arguments):
    with pytest.raises(DeclarationError, match=f"has no method {method.__name__}"):
        method(*arguments)


def test_copies_are_apart():
    part = ms.mutator.MutateParallel(16)
    copy = part.clone()
    copy.max_jobs_per_core = 2
    assert (type(copy), part.max_jobs_per_core) == (ms.mutator.MutateParallel, 16)
    assert str(part) == f"meta_schedule.MutateParallel({id(part):#x})"


@pytest.mark.parametrize(
    ("given", "help"),
    [("loca", 'did you mean "local"'), ("Local", '"local"'), (None, "'local', 'dask'"), ([], "'")],
)
def test_other_names_are_rejected_with_the_choices(given, help):
    with pytest.raises(DeclarationError, match="is not a builder") as caught:
        named("builder", {"local": 1, "dask": 2}, given)
    assert help.replace('"', "'") in caught.value.help.replace('"', "'")


def test_methods_are_named_as_tvm_names_them():
    error = not_written(ms.builder.PyBuilder(), "PyDatabase", "commit_tuning_record")
    assert "PyDatabase's CommitTuningRecord method not implemented!" in str(error.in_tvm)
