"""The programs and spaces that tests of tuning share; processes that they start import them."""

from te_sched import meta_schedule as ms
from te_sched.script import tir as T
from te_sched.target import Target
from tests.meta_schedule.here import BuilderHere, RunnerHere

LLVM = Target("llvm -num-cores=2")
QUICK = ms.runner.EvaluatorConfig(number=1, repeat=1, min_repeat_ms=0)

RUNNER = ms.runner.LocalRunner(evaluator_config=QUICK)  # whose process the tests share


@T.prim_func
def matmul(
    A: T.Buffer((64, 64), "float32"),
    B: T.Buffer((64, 64), "float32"),
    C: T.Buffer((64, 64), "float32"),
):
    for i, j, k in T.grid(64, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


MODULE = ms.tune_context.normalized_module(matmul)


def tiled(sch):
    """A space of 7 * 7 schedules."""
    i, j, k = sch.get_loops("C")
    i_0, i_1 = sch.split(i, sch.sample_perfect_tile(i, n=2, max_innermost_factor=64))
    j_0, j_1 = sch.split(j, sch.sample_perfect_tile(j, n=2, max_innermost_factor=64))
    sch.reorder(i_0, j_0, i_1, k, j_1)


def space(function=tiled, postprocs=()):
    """The space of a function, without other parts."""
    return ms.space_generator.ScheduleFn(function, [], list(postprocs), {})


def tune(folder, trials=8, **options):
    """Tune the product of matrices quickly, by default in this process."""
    defaults = {
        "space": space(),
        "strategy": "replay-trace",
        "cost_model": None,
        "runner": RunnerHere(),
        "builder": BuilderHere(),
        "num_trials_per_iter": 8,
        "seed": 1,
    }
    return ms.tune_tir(MODULE, LLVM, folder, trials, **{**defaults, **options})


def errors(database):
    """The messages of failures, in order; None for candidates that were measured."""
    return [one.error_msg for one in database.get_all_tuning_records()]


def complain(*arguments):
    """What raises."""
    raise ValueError("a fault of the user's function")


@T.prim_func
def wrong(
    A: T.Buffer((64, 64), "float32"),
    B: T.Buffer((64, 64), "float32"),
    C: T.Buffer((64, 64), "float32"),
):
    T.func_attr({"global_symbol": "main", "tir.noalias": True})
    for i, j in T.grid(64, 64):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + B[vi, vj]


class Miscompile(ms.postproc.PyPostproc):
    """A wrong postprocessor: it replaces the program if the inner tile of i is large."""

    def _initialize_with_tune_context(self, context):
        """Nothing to prepare."""

    def apply(self, sch):
        """Change what is computed."""
        if inner(sch.trace) >= 8:
            sch.functions["main"] = wrong
        return True


class Reject(Miscompile):
    """A postprocessor that accepts nothing."""

    def apply(self, sch):
        """Reject the candidate."""
        return False


def inner(trace):
    """The inner tile of i in the space of `tiled`."""
    return int(next(iter(trace.decisions.values()))[1])
