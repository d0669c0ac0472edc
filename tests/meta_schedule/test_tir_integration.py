"""Functions of blocks are tuned, each for itself, and scheduled from a database."""

import numpy as np
import pytest

import te_sched
from te_sched import meta_schedule as ms
from te_sched import relax
from te_sched.errors import DeclarationError
from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule import tir_integration
from tests.meta_schedule.here import BuilderHere, RunnerHere
from tests.meta_schedule.programs import LLVM, MODULE, errors, matmul, space, tune


def test_the_best_schedule_computes_the_same(tmp_path):
    database = tune(tmp_path, 4, builder=BuilderHere(), runner=RunnerHere())
    sch = tir_integration.compile_tir(database, MODULE, LLVM)
    a, b = (np.random.default_rng(n).random((64, 64), "float32") for n in (1, 2))
    c = te_sched.nd.empty((64, 64), "float32")
    te_sched.build(sch.mod, target="llvm")["main"](te_sched.nd.array(a), te_sched.nd.array(b), c)
    np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-4)


def test_functions_of_a_module_are_tasks(tmp_path):
    module = IRModule({"first": matmul, "second": matmul.with_attr("note", 1)})
    database = ms.tune_tir(
        module,
        LLVM,
        tmp_path,
        4,
        num_trials_per_iter=2,
        max_trials_per_task=2,
        special_space={"first": space(), "second": space()},
        strategy="replay-trace",
        cost_model=None,
        builder=BuilderHere(),
        runner=RunnerHere(),
        measure_callbacks=ms.measure_callback.AddToDatabase(),
    )
    assert errors(database) == [None] * 4
    found = tir_integration.compile_tir(database, module, LLVM).mod
    assert list(found.functions) == ["first", "second"]
    empty = ms.database.MemoryDatabase()
    assert tir_integration.compile_tir(empty, module, LLVM) is None


def test_older_arguments_give_a_schedule(tmp_path):
    config = ms.TuneConfig(2, strategy="replay_trace", task_scheduler="round_robin")
    found = ms.tune_tir(
        matmul,
        LLVM,
        tmp_path,
        space=space(),
        cost_model=None,
        builder=BuilderHere(),
        runner=RunnerHere(),
        task_name="product",
        config=config,
    )
    assert isinstance(found, te_sched.tir.Schedule)
    assert "task 0 (product): 2 trials" in (tmp_path / "tuning.log").read_text()


def test_functions_without_a_record_stay():
    module = IRModule({"first": matmul, "second": matmul.with_attr("note", 1)})
    database = ms.database.MemoryDatabase()
    second = IRModule({"second": module["second"]})
    sch = te_sched.tir.Schedule(second)
    sch.work_on("second")
    sch.parallel(sch.get_loops("C")[0])
    workload = database.commit_workload(second)
    database.commit_tuning_record(ms.database.TuningRecord(sch.trace, workload, [1.0], LLVM))
    made = tir_integration.compile_tir(database, module, LLVM).mod
    assert made["first"] is module["first"]
    assert "T.parallel" in made["second"].script()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trials": None}, "does not know how many candidates to measure"),
        ({"seed": "x"}, "argument seed of tune_tir is 'x', expected an int or None"),
        ({"task_name": 3}, "argument task_name of tune_tir is 3, expected a str"),
        ({"config": {}}, "argument config of tune_tir is .*expected a TuneConfig or None"),
        ({"config": ms.TuneConfig(1, strategy="3")}, "'3' is not a search strategy"),
        ({"special_space": 3}, "argument special_space of tune_tir is 3, expected a dictionary"),
    ],
)
def test_wrong_arguments_are_refused(tmp_path, options, message):
    with pytest.raises(DeclarationError, match=message):
        tune(**{"folder": tmp_path, **options})


def test_what_has_no_blocks_is_refused(tmp_path):
    x = relax.Var("x", relax.TensorStructInfo([8], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))
    with pytest.raises(DeclarationError, match="has no functions of blocks") as caught:
        tir_integration.tune_tir(builder.get(), LLVM, tmp_path, 1)
    assert caught.value.why == "it has main, of graphs"
    with pytest.raises(DeclarationError, match="argument database of compile_tir is None"):
        tir_integration.compile_tir(None, MODULE, LLVM)
