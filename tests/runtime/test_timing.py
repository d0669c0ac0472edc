"""The seconds of calls."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import nd
from te_sched.errors import CallError
from te_sched.ir import ops
from te_sched.runtime.timing import Evaluator
from tests.codegen.programs import build, elementwise
from tests.runtime.adding import N, adder


def test_time_evaluator() -> None:
    module = adder(1.0)
    a, b = nd.array(np.zeros(N, "float32")), nd.empty((N,))
    result = module.time_evaluator(module.entry_name, nd.cpu(0), number=3, repeat=4)(a, b)
    assert len(result.results) == 4
    assert 0 < result.min <= result.median <= result.max < 1
    assert result.min <= result.mean <= result.max
    assert result.std >= 0
    head, names, values = str(result).splitlines()
    assert head == "Execution time summary:"
    assert names == " mean (ms)   median (ms)    max (ms)     min (ms)     std (ms)"
    assert len(values.split()) == 5
    assert b.numpy()[0] == 1


def test_time_evaluator_repeats_for_long_enough() -> None:
    counted = []

    class Counting:
        def __call__(self, count: int, *args: object) -> float:
            counted.append(count)
            return count * 1e-5

    Evaluator(Counting(), 1, 1, 2.0, 0, 1)()
    assert counted[0] == 1  # the warm-up
    assert counted[-1] > 10


def test_time_evaluator_rejects() -> None:
    module = adder(1.0)
    for name, value in (
        *(("number", 0), ("number", float("inf")), ("repeat", 10**30), ("repeats_to_cooldown", -1)),
        *(("min_repeat_ms", float("nan")), ("min_repeat_ms", float("inf"))),
        *(("cooldown_interval_ms", 1e300), ("cooldown_interval_ms", -1)),
    ):
        with pytest.raises(CallError, match=f"argument {name} of time_evaluator is"):
            module.time_evaluator("main", nd.cpu(0), **{name: value})
    with pytest.raises(CallError, match=r"^time_evaluator does not support argument unknown"):
        module.time_evaluator("main", nd.cpu(0), unknown=1)
    with pytest.raises(CallError, match=r"there is no device cuda\(0\)"):
        module.time_evaluator("main", nd.device("cuda"))
    with pytest.raises(CallError, match="expected 64 along axis 0"):
        module.time_evaluator("main", nd.cpu(0))(nd.empty((1,)), nd.empty((1,)))


def test_a_tiny_program_is_timed_without_the_call_from_python() -> None:
    module = build(elementwise(lambda x: ops.add(x, x), ["float32"], 1))
    a, b = np.ones(1, "float32"), np.zeros(1, "float32")
    seconds = module.time_evaluator("main", te_sched.cpu(0), number=1, repeat=50)(a, b)
    assert 0 <= seconds.min < 5e-7
