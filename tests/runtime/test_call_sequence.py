"""Calls from a table: what they compute, how they fail, and which are left to Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, te
from te_sched.errors import CallError
from te_sched.runtime.call_sequence import MOST_ARGUMENTS, CallSequence
from te_sched.runtime.module import Function


def adding(count: int = 1, dtype: str = "int64") -> Function:
    """Adds numbers to the elements of an array."""
    n = te.var("n", "int64")
    x, numbers = te.placeholder((n,), name="x"), [te.var(f"k{k}", dtype) for k in range(count)]
    y = te.compute((n,), lambda i: x[i] + sum(number.astype("float32") for number in numbers))
    module = te_sched.build(te.create_schedule(y.op), [x, y, *numbers], "llvm")
    function: Any = module["main"]
    assert isinstance(function, Function)
    return function


@pytest.mark.parametrize("dtype", ["int64", "float32", "int32"])
@pytest.mark.parametrize("size", [0, 1, 5])
def test_calls_follow_one_another(dtype: str, size: int) -> None:
    """Floats are called from Python."""
    function = adding(1, dtype)
    arrays = [nd.array(np.arange(size, dtype="float32")) for _ in range(3)]
    places: list[list[tuple[int, float]]] = [[(0, 0), (1, 0), (3, 2)], [(1, 0), (2, 0), (3, 3)]]
    steps = [
        (function, [arrays[0], arrays[1], 2], places[0]),
        (function, [arrays[1], arrays[2], 3], places[1]),
    ]
    sequence = CallSequence(steps, 4)
    for first in (arrays[0], nd.array(np.full(size, 10, "float32"))):
        sequence.run([first.address, arrays[1].address, arrays[2].address, 0])
        np.testing.assert_array_equal(arrays[2].numpy(), first.numpy() + 5)


@pytest.mark.parametrize("count", [MOST_ARGUMENTS - 3, MOST_ARGUMENTS - 2, 40])
def test_calls_of_many_arguments(count: int) -> None:
    function, x, y = adding(count), nd.array(np.ones(2, "float32")), nd.empty((2,), "float32")
    numbers = list(range(count))
    places: list[tuple[int, float]] = [(0, 0), (1, 0), *[(2, number) for number in numbers]]
    CallSequence([(function, [x, y, *numbers], places)], 3).run([x.address, y.address, 0])
    assert y.numpy().tolist() == [1 + sum(numbers)] * 2


def test_the_call_that_fails_tells_why() -> None:
    n = te.var("n", "int64")
    x = te.placeholder((n,), name="x")
    index = te.placeholder((1,), "int32", name="index")
    y = te.compute((1,), lambda i: x[index[i]], name="y")
    checked: Any = te_sched.build(te.create_schedule(y.op), [x, index, y], "llvm")["main"]
    good, far = (nd.array(np.array([value], "int32")) for value in (1, 9))
    arrays = nd.array(np.ones(2, "float32")), nd.empty((1,), "float32")
    steps = [
        (checked, [arrays[0], one, arrays[1]], [(0, 0), (place, 0), (3, 0)])
        for place, one in ((1, good), (2, far))
    ]
    sequence = CallSequence(steps, 5)
    bases = [arrays[0].address, good.address, good.address, arrays[1].address, 0]
    sequence.run(bases)
    assert arrays[1].numpy().tolist() == [1]
    bases[2] = far.address
    with pytest.raises(te_sched.AccessError, match="x"):
        sequence.run(bases)
    with pytest.raises(CallError, match="dtype"):
        CallSequence([(checked, [arrays[0], arrays[0], arrays[1]], steps[0][2])], 5)
