"""Times of steps: what is measured, what is not, and why."""

from __future__ import annotations

import itertools
import re
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.errors import ScheduleError
from te_sched.runtime import cpu
from te_sched.story.model import Timing
from te_sched.story.page import page_html
from te_sched.story.text import step_text
from te_sched.story.timing import Run, Timed, arrays, measure_all, why_no_arrays
from tests.story.timed import scaled


def timed(s: Any, args: Any, **budget: float) -> Timing:
    return measure_all(args, {0: Run(te_sched.build(s, args), cpu(0))}, **budget)[0].timing


def both(args: Any, *modules: Any, step_seconds: float = 0.01) -> list[Timed]:
    runs = {number: Run(module, cpu(0)) for number, module in enumerate(modules)}
    return list(measure_all(args, runs, step_seconds=step_seconds).values())


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "bool"])
def test_programs_of_all_kinds_of_numbers_are_timed(dtype: str) -> None:
    A = te.placeholder((64,), dtype, name="A")
    B = te.compute((64,), lambda i: A[63 - i], name="B")
    timing = timed(te.create_schedule(B.op), [A, B], step_seconds=0.01)
    assert timing.milliseconds is not None
    assert timing.runs >= 3
    assert timing.lowest == timing.milliseconds <= timing.median <= timing.highest
    assert timing.against_first == 1.0
    assert timing.note == ""


def test_a_slow_program_is_run_once() -> None:
    timing = timed(*scaled(), step_seconds=1e-9, budget=1e-9)
    assert timing.runs == 1
    assert timing.milliseconds is not None
    assert timing.note == "a single run"


def test_steps_are_measured_against_the_first() -> None:
    s, args = scaled(n=1 << 16)
    module = te_sched.build(s, args)
    first, second = (one.timing for one in both(args, module, module))
    assert first.milliseconds is not None
    assert second.milliseconds is not None
    assert second.against_first == pytest.approx(first.milliseconds / second.milliseconds)
    assert (second.first, second.previous, second.against_previous) == (0, 0, second.against_first)


def test_results_that_differ_are_told() -> None:
    s, args = scaled()
    other = te.compute((64,), lambda i: args[0][i] * 3.0, name="B")
    wrong = te_sched.build(te.create_schedule(other.op), [args[0], other])
    first, second = both(args, te_sched.build(s, args), wrong)
    assert first.different == ()
    assert second.timing.milliseconds is not None
    assert second.different == ("B",)


def slow() -> tuple[Any, Any]:
    """A program of many seconds, whose last step alone is fast."""
    n = 1 << 12
    A, k = te.placeholder((n,), name="A"), te.reduce_axis((0, n), "k")
    m = te.reduce_axis((0, n), "m")
    B = te.compute((8,), lambda i: te.sum(te.exp(A[k]) * te.sin(A[m] + i), axis=[k, m]), name="B")
    return te.create_schedule(B.op), [A, B]


def test_what_takes_longer_than_the_budget_is_stopped_and_has_no_number() -> None:
    s, args = slow()
    begin = time.perf_counter()
    timing = timed(s, args, budget=0.3)
    assert time.perf_counter() - begin < 5
    assert (timing.milliseconds, timing.runs, timing.against_first) == (None, 0, None)
    assert timing.note.startswith("Not measured (`--budget 1.8`): it runs for more than 0.")
    assert timing.note.endswith(" s, and the budget of 0.3 s is used up.")
    assert "it did not run" in timed(*scaled(), budget=0.0).note


def test_a_slow_program_does_not_take_the_time_of_others() -> None:
    fast, args = scaled(n=1 << 12)
    k = te.reduce_axis((0, 1 << 22), "k")
    long = te.compute((1 << 12,), lambda i: te.sum(te.exp(args[0][k % 8] * i), axis=k), name="B")
    modules = [
        te_sched.build(fast, args),
        te_sched.build(te.create_schedule(long.op), [args[0], long]),
    ]
    runs = {number: Run(modules[number % 2], cpu(0)) for number in range(4)}
    timings = [
        one.timing for one in measure_all(args, runs, budget=1.0, step_seconds=0.01).values()
    ]
    assert [timing.milliseconds is not None for timing in timings] == [True, False, True, False]
    assert [timing.runs > 1 for timing in timings] == [True, False, True, False]
    assert (timings[2].first, timings[2].previous) == (0, 0)


def test_all_programs_run_once_before_any_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    s, args = scaled(n=1 << 12)
    module = te_sched.build(s, args)
    order: list[int] = []

    class Recording:
        def __init__(self, number: int) -> None:
            self.number, self.function_names, self.entry_func = number, (), self

        def measure(self, *arguments: Any) -> float:
            order.append(self.number)
            return module.entry_func.measure(*arguments)

    measure_all(args, {number: Run(Recording(number), cpu(0)) for number in range(4)})
    assert order[:4] == [3, 2, 1, 0]
    assert {order.count(number) > 3 for number in range(4)} == {True}


def test_each_step_has_the_time_that_it_takes_alone() -> None:
    n = 256
    A, B, k = (*(te.placeholder((n, n), name=name) for name in "AB"), te.reduce_axis((0, n), "k"))
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    i, j = C.op.axis
    s[C].reorder(i, k, j)
    s[C].vectorize(j)
    first, reordered, last = te_sched.explain(s, [A, B, C]).steps
    assert first.timing.shortest > 3 * reordered.timing.shortest
    assert last.timing.against_first > 3
    evaluator = te_sched.build(s, [A, B, C]).time_evaluator("main", cpu(0), number=1, repeat=99)
    alone = 1e3 * evaluator(*arrays([A, B, C], cpu(0))).min
    assert alone / 3 < last.timing.lowest < 3 * alone  # the machine may be busy


def test_the_last_program_is_timed_first() -> None:
    s, args = scaled()
    module = te_sched.build(s, args)
    runs = {number: Run(module, cpu(0)) for number in range(3)}
    found = measure_all(args, runs, budget=1e-6)
    assert [one.timing.milliseconds is not None for one in found.values()] == [False, False, True]


def test_no_winner_is_named_from_single_runs() -> None:
    s, args = scaled()
    s[args[1]].vectorize(args[1].op.axis[0])
    data = te_sched.explain(s, args, source="# no program\n").data
    assert " the fastest: " in page_html(data)
    once = [replace(step, timing=replace(step.timing, runs=1)) for step in data.steps]
    assert " the fastest: " not in page_html(replace(data, steps=tuple(once)))


@pytest.mark.parametrize("budget", [0, -1.0, float("nan"), "10"])
def test_budget_rejects_other_than_positive_numbers(budget: Any) -> None:
    with pytest.raises(ScheduleError, match="budget of explain must be a positive number"):
        te_sched.explain(*scaled(), budget=budget)


def test_symbolic_sizes_have_no_time() -> None:
    assert timed(*scaled(n=te.var("n"))).note == "Not measured: the shape of A is symbolic."
    n = te.var("n")
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + n.astype("float32"), name="B")
    assert why_no_arrays([A, B, n]) == "no value of n is known"


def test_vectors_and_very_large_arrays_are_not_made() -> None:
    A = te.placeholder((8,), "float32x4", name="A")
    assert why_no_arrays([A]) == "A is of vectors"
    A = te.placeholder((1 << 20, 1 << 10), name="A")
    assert why_no_arrays([A]) == "the arrays take 4096 MiB"


def test_a_program_that_fails_says_why() -> None:
    A = te.placeholder((8,), name="A")
    index = te.placeholder((4,), "int32", name="index")
    B = te.compute((4,), lambda i: A[index[i] + 100], name="B")
    note = timed(te.create_schedule(B.op), [A, index, B]).note
    assert note.startswith("Not measured: ")


def test_random_numbers_are_the_same_each_time() -> None:
    _, args = scaled()
    first, second = arrays(args, cpu(0)), arrays(args, cpu(0))
    np.testing.assert_array_equal(first[0].numpy(), second[0].numpy())


def test_kernels_are_timed_on_their_device() -> None:
    s, args = scaled()
    s[args[1]].bind(args[1].op.axis[0], te.thread_axis("threadIdx.x"))
    module = te_sched.build(s, args, "cuda")
    runs = {0: Run(module, te_sched.emulated_cuda(0))}
    timing = measure_all(args, runs, step_seconds=0.001)[0].timing
    assert timing.milliseconds is not None


def test_an_emulated_device_has_no_times() -> None:
    s, args = scaled()
    s[args[1]].bind(args[1].op.axis[0], te.thread_axis("threadIdx.x"))
    with te_sched.config.scoped(emulate=True):
        step = te_sched.explain(s, args).steps[-1]
    assert step.timing.note == "Not measured: there is no GPU here."


def test_what_a_function_of_the_user_raises_is_told() -> None:
    A = te.placeholder((8,), name="A")
    B = te.extern(
        (8,),
        [A],
        lambda ins, outs: te_sched.tir.call_packed("te_sched.tests.failing", ins[0], outs[0]),
        name="B",
        dtype="float32",
    )

    def fail(*args: Any) -> None:
        raise ValueError("not today")

    te_sched.register_func("te_sched.tests.failing", fail, override=True)
    step = te_sched.explain(te.create_schedule(B.op), [A, B]).steps[0]
    te_sched.runtime.remove_global_func("te_sched.tests.failing")
    assert step.timing.note == "Not measured: ValueError: not today"


def test_a_wrong_result_is_a_problem() -> None:
    calls = itertools.count()

    def body(ins: Any, outs: Any) -> Any:
        return te_sched.tir.call_packed("te_sched.tests.counting", ins[0], outs[0])

    def count(given: Any, result: Any) -> None:
        result.copyfrom(np.full(8, float(next(calls)), np.float32))

    A = te.placeholder((8,), name="A")
    B = te.extern((8,), [A], body, name="B", dtype="float32")
    C = te.compute((8,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    s[C].vectorize(C.op.axis[0])
    te_sched.register_func("te_sched.tests.counting", count, override=True)
    steps = te_sched.explain(s, [A, C]).steps
    te_sched.runtime.remove_global_func("te_sched.tests.counting")
    assert [one.kind for one in steps[1].problems] == ["wrong result"]
    assert steps[1].problems[0].help


def test_explain_measures_what_runs_and_says_what_does_not() -> None:
    s, args = scaled()
    s[args[1]].vectorize(args[1].op.axis[0])
    steps = te_sched.explain(s, args).steps
    assert all(step.timing.milliseconds is not None for step in steps)
    first, second = (step_text(step) for step in steps)
    assert "at first" not in first
    assert re.search(r"as (fast|slow) as at first", second)
    s, args = scaled()
    s[args[1]].bind(args[1].op.axis[0], te.thread_axis("threadIdx.x"))
    step = te_sched.explain(s, args).steps[-1]
    if not te_sched.cuda(0).exist:
        assert step.timing.note == "Not measured: there is no GPU here."
