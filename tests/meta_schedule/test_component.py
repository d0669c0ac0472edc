"""Parts of a search by their names, parts of users, seeds, profiles."""

import pytest

from te_sched import meta_schedule as ms
from te_sched.errors import DeclarationError

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


def test_classes_make_lists_of_parts_by_name():
    assert [type(one) for one in ms.MeasureCallback.create("default")] == [
        type(one) for one in ms.measure_callback.create()
    ]


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


def test_classes_are_derived():
    with pytest.raises(DeclarationError, match="derived_object cannot be applied to an int"):
        ms.utils.derived_object(3)


@pytest.mark.parametrize("create", [ms.builder.LocalBuilder, ms.runner.LocalRunner])
def test_names_of_functions_are_registered(create):
    name = "f_build" if create is ms.builder.LocalBuilder else "f_run_evaluator"
    with pytest.raises(DeclarationError, match="no function is registered as 'no such'"):
        create(**{name: "no such"})


def test_programs_of_rpc_are_told_of_dask():
    with pytest.raises(DeclarationError, match="does not measure through TVM's RPC"):
        ms.runner.RPCRunner(ms.runner.RPCConfig("host"))


def test_profiles_sum_parts():
    with ms.Profiler() as profiler:
        for _ in range(2):
            with ms.Profiler.timeit("part"):
                pass
    assert ms.Profiler.current() is None
    assert list(profiler.get()) == ["part", "Total"]
    assert profiler.table().startswith("Total")
    with pytest.raises(DeclarationError, match="has been entered already"):
        profiler.__enter__()


def test_paths_of_databases_are_texts():
    with pytest.raises(DeclarationError, match="argument path of SQLiteDatabase is 3"):
        ms.database.SQLiteDatabase(3)
