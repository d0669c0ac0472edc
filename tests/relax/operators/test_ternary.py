"""Functions of three tensors, element by element, without broadcasting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax import op
from te_sched.relax.operators import ternary
from tests.relax.operator_tables import (
    Build,
    Case,
    M,
    N,
    Results,
    floats,
    inferred,
    number,
    of_rank,
    operators_of,
    tensor,
    text_of,
    unknown,
)

ARRAYS: dict[str, Any] = {
    "x": floats(3, 4),
    "y": floats(3, 4),
    "z": floats(3, 4),
    "i": np.array([3, -4, 5], "int32"),
}
CASES: dict[str, Case] = {
    "ewise_fma": (
        lambda v: op.ewise_fma(v["x"], v["y"], v["z"]),
        lambda v: v["x"] * v["y"] + v["z"],
    ),
    "ewise_fma n": (
        lambda v: op.ewise_fma(v["i"], v["i"], v["i"]),
        lambda v: v["i"] * v["i"] + v["i"],
    ),
}
RESULTS = Results(ARRAYS, CASES)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(ternary)


INFERRED: list[tuple[Build, str]] = [
    (lambda: op.ewise_fma(tensor(N), tensor(N), tensor(N)), text_of("n,")),
    (lambda: op.ewise_fma(tensor(N), tensor(M), unknown()), of_rank(1)),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


FLOAT = tensor(2, 3)
REFUSED: list[tuple[Build, type[Exception], str]] = [
    (
        lambda: op.ewise_fma(FLOAT, FLOAT, tensor(2)),
        GraphError,
        "have different shapes",
    ),
    (
        lambda: op.ewise_fma(FLOAT, FLOAT, tensor(2, 4)),
        GraphError,
        "have different shapes",
    ),
    (lambda: op.ewise_fma(FLOAT, FLOAT, number()), GraphTypeError, "expected a tensor"),
    (lambda: op.ewise_fma(FLOAT, FLOAT, tensor(2, 3, dtype="int8")), GraphTypeError, "have dtypes"),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
