"""Loops that repeat a call: every type of argument, errors, one loop for each kind of function."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import CallError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.runtime import repeats
from tests.codegen.programs import buffer, build, function


def sum_of(*dtypes: str) -> te_sched.runtime.module.Module:
    """total[0] = total[0] + the sum of scalars of dtypes."""
    total = tir.decl_buffer((1,), "float64", name="total")
    numbers = [te.var(f"x{number}", dtype) for number, dtype in enumerate(dtypes)]
    value = tir.BufferLoad(total, [0])
    for number in numbers:
        value = value + number.astype("float64")
    store = tir.BufferStore(total, value, [0])
    return te_sched.build(tir.PrimFunc([*numbers, total], store), target="llvm")


def test_arguments_of_every_type_arrive_in_each_call() -> None:
    dtypes = ("float16", "bfloat16", "float32", "float64", "bool", "int8", "uint8", "int64")
    numbers = (0.5, 1.5, 2.25, -1.125, True, -3, 200, 1 << 40)
    module, total = sum_of(*dtypes), np.zeros(1)
    seconds = module["main"].run_repeatedly(5, *numbers, total)
    assert total[0] == 5 * sum(numbers)
    assert seconds > 0
    module["main"].run_repeatedly(0, *numbers, total)
    assert total[0] == 5 * sum(numbers)


def test_functions_of_the_same_types_share_a_loop() -> None:
    for dtypes in (("int32", "float32"), ("int32", "float32"), ("float32", "int32")):
        total = np.zeros(1)
        sum_of(*dtypes)["main"].run_repeatedly(3, 1, 2, total)
        assert total[0] == 9
    loops = repeats._loop(("i32", "float", "ptr")), repeats._loop(("float", "i32", "ptr"))
    assert loops[0] is repeats._loop(("i32", "float", "ptr"))
    assert loops[0].address("repeat") != loops[1].address("repeat")


def test_the_first_error_ends_the_calls() -> None:
    done = []

    def count(x: float) -> float:
        done.append(x)
        if len(done) == 3:
            raise ValueError("the third call")
        return x

    te_sched.register_extern("repeats_count", count)
    x, total = te.var("x", "float32"), tir.decl_buffer((1,), "float32", name="total")
    store = tir.BufferStore(total, tir.call_extern("float32", "repeats_count", x), [0])
    module = te_sched.build(tir.PrimFunc([x, total], store), target="llvm")
    with pytest.raises(ValueError, match="the third call"):
        module["main"].run_repeatedly(10, 2.0, np.zeros(1, "float32"))
    assert done == [2.0, 2.0, 2.0]


def test_arguments_are_checked_before_the_calls() -> None:
    module, total = sum_of("int32"), np.zeros(1, "float32")
    with pytest.raises(CallError, match="dtype float32"):
        module["main"].run_repeatedly(3, 1, total)


@pytest.mark.parametrize("count", [1, 40])
def test_repeats_are_counted_and_end_with_an_error(count: int) -> None:
    n, a = E.Var("n"), buffer("A", [1], "int32")
    old = E.BufferLoad(a, (E.IntImm(0),))
    add = S.BufferStore(a, old + 1, (E.IntImm(0),))
    module = build(function([n, a], S.AssertStmt(old < n, E.StringImm("too many"), add)))
    counter = np.zeros(1, "int32")
    module.time_evaluator("main", te_sched.cpu(0), number=count, repeat=1)(100, counter)
    assert count <= counter[0] <= count + 1  # one more to warm up
    with pytest.raises(CallError, match="too many"):
        module.time_evaluator("main", te_sched.cpu(0), number=1000, repeat=1)(100, counter)
    assert counter[0] == 100
