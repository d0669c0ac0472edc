"""Compiles and runs operators of topi on arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import te_sched as tvm
from te_sched import te, topi

QUICK = "llvm -opt-level=1"  # compilation dominates the time of these small programs


@dataclass(frozen=True)
class Case:
    """An operator, its function in numpy, and arrays to test it on."""

    name: str
    declare: Callable[..., Any]
    reference: Callable[..., Any]
    arrays: Sequence[np.ndarray[Any, Any]]

    def __str__(self) -> str:
        return self.name


def case(name: str, declare: Any, reference: Any, *arrays: Any) -> Case:
    """A case."""
    return Case(name, declare, reference, arrays)


def floats(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> Any:
    """Random float32 numbers."""
    rng = np.random.default_rng(seed + sum(shape))
    return rng.uniform(low, high, shape).astype("float32")


def integers(*shape: int, low: int = -9, high: int = 9, seed: int = 0) -> Any:
    """Random int32 numbers."""
    return np.random.default_rng(seed + sum(shape)).integers(low, high, shape).astype("int32")


def booleans(*shape: int, seed: int = 0) -> Any:
    """Random conditions."""
    return np.random.default_rng(seed + sum(shape)).integers(0, 2, shape).astype("bool")


def placeholders(arrays: Sequence[Any]) -> list[te.Tensor]:
    """A placeholder for each array."""
    return [
        te.placeholder(array.shape, str(array.dtype), f"x{n}") for n, array in enumerate(arrays)
    ]


def declared(one: Case) -> tuple[list[te.Tensor], list[te.Tensor]]:
    """The inputs and the outputs of a case."""
    inputs = placeholders(one.arrays)
    outputs = one.declare(*inputs)
    return inputs, list(outputs) if isinstance(outputs, list | tuple) else [outputs]


def compute(one: Case, schedule: Callable[[Any], Any] | None = None) -> list[Any]:
    """te_sched's results."""
    inputs, outputs = declared(one)
    s = (schedule or topi.generic.default_schedule)(outputs)
    function = tvm.build(s, [*inputs, *outputs], QUICK)
    results = [
        np.full(topi.utils.get_const_tuple(out.shape), 7).astype(out.dtype) for out in outputs
    ]
    arrays = [tvm.nd.array(array.copy(order="C")) for array in [*one.arrays, *results]]
    function(*arrays)
    return [array.numpy() for array in arrays[len(inputs) :]]


def check(one: Case, schedule: Callable[[Any], Any] | None = None) -> None:
    """Assert that shapes, types and values of results equal numpy's."""
    expected = one.reference(*one.arrays)
    expected = list(expected) if isinstance(expected, list | tuple) else [expected]
    for mine, theirs in zip(compute(one, schedule), expected, strict=True):
        theirs = np.asarray(theirs)
        assert mine.shape == theirs.shape
        if mine.dtype.kind == "f":
            np.testing.assert_allclose(mine, theirs, rtol=2e-4, atol=2e-5)
        else:
            np.testing.assert_array_equal(mine, theirs)
