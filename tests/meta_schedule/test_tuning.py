"""te_sched.tune: programs of all kinds, the best schedule as text, and searches that go on."""

import math
import runpy
import subprocess
import sys

import numpy as np
import pytest

import te_sched
from te_sched import relax, te, tir
from te_sched.errors import BuildError, DeclarationError, ScheduleError
from te_sched.meta_schedule.database import MemoryDatabase
from te_sched.meta_schedule.runner import LocalRunnerFuture
from te_sched.meta_schedule.tuning import Trials, Tuned, program_of
from tests.meta_schedule.here import (
    BuilderHere,
    RunnerHere,
    product,
    space,
    sums_without_init,
    tuned,
)


def test_tune_in_worker_processes():
    found = te_sched.tune(
        product(), trials=2, space=space, strategy="replay-trace", cost_model=None, seed=1
    )
    assert len(found.trials.candidates) == 2
    assert found.failures == {}
    assert found.latency <= found.unscheduled_latency


def test_best_schedule_is_python_that_runs(tmp_path):
    found = tuned(seconds=[9.0, 3.0, 2.0, 4.0, 5.0])
    assert (found.latency, found.unscheduled_latency, found.speedup) == (2.0, 9.0, 4.5)
    path = tmp_path / "best.py"
    path.write_text(found.as_python())
    names = runpy.run_path(str(path))
    te_sched.ir.assert_structural_equal(names["sch"].mod, found.mod)
    a, b = np.random.rand(2, 32, 32).astype("float32")
    c = te_sched.nd.empty((32, 32))
    names["library"](te_sched.nd.array(a), te_sched.nd.array(b), c)
    np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-4)


def test_text_begins_with_the_times():
    text = tuned(seconds=[9.0, 3.0, 2.0, 4.0, 5.0]).as_python()
    assert text.startswith("# main: 2000000.0 us; 9000000.0 us unscheduled\nimport te_sched\n")
    assert "def apply_trace(sch: tir.Schedule) -> None:" in text
    assert "decision=[" in text


def test_unscheduled_program_may_be_the_best():
    found = tuned(seconds=[1.0, 3.0, 2.0, 4.0, 5.0])
    assert found.latency == found.unscheduled_latency == 1.0
    te_sched.ir.assert_structural_equal(found.mod, found.trials.module)
    assert found.trials.latencies == [3.0, 2.0, 4.0, 5.0]
    last = "No candidate is faster than the unscheduled program."
    assert str(found).splitlines()[-1] == last
    assert last not in str(tuned(seconds=[9.0, 3.0, 2.0, 4.0, 5.0]))


def test_result_says_that_no_candidate_was_tried_and_why():
    found = tuned(sums_without_init(), seconds=[1.0], space="post-order-apply")
    assert str(found).splitlines()[-5:] == [
        "No candidate was tried besides the unscheduled program.",
        "hint (initialized): block C adds to what argument C contains",
        "  where: buffer C",
        "  why: it reduces without T.init(), and nothing sets C before",
        "  help: write `with T.init(): C[...] = ...` in the block if C should begin with a value "
        "such as zero",
    ]


def test_result_says_that_no_candidate_could_be_measured():
    text = str(tuned(seconds=[1.0], broken=3, trials=1))
    assert "No candidate could be measured besides the unscheduled program.\nFailed: 1" in text


def test_result_is_shown_as_the_table_of_tasks():
    found = tuned(seconds=[9.0, 3.0, 2.0, 4.0, 5.0], broken=3, name="product")
    head, _, row, *rest = str(found).splitlines()
    assert head.split(" | ")[1:3] == ["   Name", " FLOP"]
    assert [cell.strip() for cell in row.split("|")[1:]] == [
        *("product", "65536", "1", "0.0000", "2000000.0000", "2000000.0000", "4", "Y")
    ]
    assert rest[-2:] == [
        "Unscheduled (us): 9000000.0000",
        "Failed: 1 (Builder: broken: for the test)",
    ]
    assert (
        repr(found)
        == "<te_sched.Tuned product: 2000000.0 us; 9000000.0 us unscheduled, 4 candidates>"
    )
    assert "apply_trace" in found._repr_html_()


def _schedule_of_tensors():
    args = product()
    s = te.create_schedule(args[-1].op)
    s[args[-1]].vectorize(args[-1].op.axis[1])
    return s


def _schedule_of_blocks():
    sch = tir.Schedule(te.create_prim_func(product()))
    sch.parallel(sch.get_loops("C")[0])
    return sch


def _with_arguments():
    args = product()
    return te.create_schedule(args[-1].op), args


@pytest.mark.parametrize(
    "f",
    [
        te.create_prim_func(product()),
        te_sched.IRModule({"main": te.create_prim_func(product())}),
        product()[-1:],
        product()[-1],
        product,
        _schedule_of_tensors(),
        _schedule_of_blocks(),
        _with_arguments,
    ],
)
def test_programs_of_all_kinds(f):
    module, _ = program_of(f)
    expected, _ = program_of(product())
    te_sched.ir.assert_structural_equal(module["main"].body, expected["main"].body, True)


def test_arguments_of_functions_and_schedules():
    module, name = program_of(product, [16])
    assert name == "product"
    assert [int(one) for one in module["main"].buffer_map[module["main"].params[0]].shape] == [
        16
    ] * 2
    A, B, C = product()
    module, _ = program_of(te.create_schedule(C.op), [C, A, B])
    assert [one.name for one in module["main"].params] == ["var_C", "var_A", "var_B"]


def test_target_may_be_the_second_argument():
    program = te.create_prim_func(product())
    with pytest.raises(BuildError, match="'lvvm' is not a target kind"):
        te_sched.tune(program, "lvvm")
    parts = {"builder": BuilderHere(), "runner": RunnerHere(), "cost_model": None, "space": space}
    found = te_sched.tune(program, "llvm -num-cores=3", trials=1, **parts)
    assert str(found.target) == "llvm -num-cores=3"


@pytest.mark.parametrize(
    ("f", "args", "message"),
    [
        (3, None, "cannot search for schedules of an int"),
        ([], None, "cannot search for schedules of a list"),
        (te.create_prim_func(product()), [1], "tune takes no args with a PrimFunc"),
        (product, 16, "args is an int, expected a list"),
        (te_sched.IRModule({}), None, "the module has 0 functions"),
    ],
)
def test_tune_rejects_what_is_no_program(f, args, message):
    with pytest.raises(DeclarationError, match=message):
        te_sched.tune(f, args)


def test_tune_rejects_graphs():
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    module = relax.BlockBuilder()
    with module.function("main", [x]):
        module.emit_func_output(module.emit(relax.op.exp(x)))
    for graph in (module.get(), module.get()["main"]):
        with pytest.raises(DeclarationError, match="the module has 0 functions") as caught:
            te_sched.tune(graph)
        assert "relax_integration.tune_relax" in caught.value.help


def test_tune_rejects_modules_of_several_functions():
    func = te.create_prim_func(product())
    with pytest.raises(DeclarationError, match="the module has 2 functions, expected one"):
        te_sched.tune(te_sched.IRModule({"first": func, "second": func}))


def test_tune_rejects_symbolic_shapes():
    A = te.placeholder((te.var("n"),), name="A")
    with pytest.raises(DeclarationError, match="has no buffer of a constant shape"):
        te_sched.tune([te.compute(A.shape, lambda i: A[i] + 1.0, name="B")])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trials": 0}, "trials is 0, expected a number of trials"),
        ({"trials": "many"}, "trials is 'many', expected a number of trials"),
        ({"num_trials_per_iter": 0}, "num_trials_per_iter is 0, expected a number of trials"),
        ({"seed": "a"}, "the seed is 'a', expected an int"),
        ({"name": 3}, "the name is an int, expected a str"),
        ({"space": 3}, "3 is not a space generator"),
        ({"database": "json"}, "database is a str, expected a database"),
        ({"strategy": "guess"}, "'guess' is not a search strategy"),
        ({"work_dir": "/dev/null/folder"}, "cannot create '/dev/null/folder'"),
    ],
)
def test_tune_rejects_options(options, message):
    with pytest.raises(DeclarationError, match=message):
        tuned(**options)


def test_program_that_cannot_be_built_is_told():
    with pytest.raises(
        BuildError, match="the program cannot be built or run as it is given"
    ) as told:
        tuned(broken=1)
    assert "for the test" in told.value.why


def test_error_of_a_space_is_the_users():
    def wrong(sch):
        sch.vectorize(sch.get_block("D"))

    with pytest.raises(ScheduleError, match="no block of main has the name 'D'"):
        tuned(space=wrong)


def test_search_goes_on_where_it_was(tmp_path):
    first = tuned(trials=2, work_dir=tmp_path)
    assert len(first.trials.candidates) == 2
    again = tuned(trials=2, work_dir=tmp_path, broken=1)  # builds nothing
    assert again.trials.latencies == first.trials.latencies
    more = tuned(trials=3, work_dir=tmp_path)
    assert more.trials.latencies[:2] == first.trials.latencies
    assert len(more.trials.candidates) == 3


def test_programs_and_targets_share_a_database():
    database = MemoryDatabase()
    tuned(trials=2, database=database)
    other = tuned(product(16), trials=2, database=database)
    wide = tuned(trials=1, database=database, target="llvm -num-cores=3")
    assert [len(one.trials.candidates) for one in (other, wide)] == [2, 1]
    assert other.database is database
    assert len(database) == 8


def test_target_has_the_cores_of_this_machine():
    assert "num-cores" in tuned(trials=1).target.options
    assert str(tuned(trials=1, target="llvm -num-cores=3").target) == "llvm -num-cores=3"


def test_interrupted_search_returns_the_best_until_then(monkeypatch, caplog):
    class Interrupted(RunnerHere):
        batches = 0

        def run(self, runner_inputs):
            self.batches += 1
            if self.batches == 3:
                raise KeyboardInterrupt
            return super().run(runner_inputs)

    monkeypatch.setattr("tests.meta_schedule.here.RunnerHere", Interrupted)
    found = tuned(seconds=[9.0, 3.0], trials=4, num_trials_per_iter=1)
    assert found.trials.latencies == [3.0]
    assert caplog.messages == [
        "tuning was interrupted after 1 of 4 trials, which are kept in memory"
    ]


def test_interrupt_before_anything_was_measured_is_raised(monkeypatch):
    def interrupted(self, runner_inputs):
        raise KeyboardInterrupt

    monkeypatch.setattr(RunnerHere, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tuned()


def test_program_without_a_time_is_told():
    with pytest.raises(BuildError, match="cannot be built or run as it is given") as told:
        tuned(seconds=[math.nan])
    assert told.value.why == "its seconds are [nan]"


def test_speedup_of_a_schedule_without_a_duration():
    assert tuned(seconds=[9.0, 0.0], trials=1).speedup == math.inf


def test_import_of_te_sched_does_not_load_the_search():
    code = "import sys, te_sched; print([m for m in sys.modules if 'meta_schedule' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_target_without_an_unscheduled_time():
    found = tuned(trials=1)
    for_gpu = [one for one in found.database.records if one is not found.trials.unscheduled]
    found.database.records[:] = for_gpu
    again = Tuned(Trials(found.database, found.trials.module, found.target), "product")
    assert again.unscheduled_latency is None
    assert again.speedup is None
    assert "unscheduled" not in again.as_python() + str(again).lower()


def test_search_without_a_valid_candidate_is_an_error():
    database = MemoryDatabase()
    found = tuned(trials=1, database=database)
    for record in database.records:
        record.error_msg = "Runner: killed"
    with pytest.raises(BuildError, match="no schedule of product could be measured") as told:
        Tuned(Trials(database, found.trials.module, found.target), "product")
    assert told.value.why == "2 candidates: Runner: killed"


def test_program_that_does_not_end_is_refused_after_the_limit_of_a_candidate(monkeypatch):
    inputs = []

    def timeout(runner, runner_inputs):
        inputs.extend(runner_inputs)
        return [LocalRunnerFuture(None, "LocalRunner: Timeout, killed after 3 seconds")]

    monkeypatch.setattr(RunnerHere, "run", timeout)
    with pytest.raises(BuildError, match="cannot be built or run as it is given") as caught:
        tuned(trials=1)
    assert "Timeout, killed after 3 seconds" in caught.value.why
    assert [one.reference_path for one in inputs] == [None]  # it is not run for candidates first
