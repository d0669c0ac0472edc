"""Selection by a condition, and the places of the largest and the smallest elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax import op
from te_sched.relax.operators import searching
from tests.relax.operator_tables import (
    RNG,
    Build,
    Case,
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
    "row": floats(4),
    "cube": floats(2, 3, 4),
    "b": RNG.integers(0, 2, (3, 4)).astype("bool"),
    "c": RNG.integers(0, 2, (4,)).astype("bool"),
    "ties": np.array([[1, 3, 3, 0], [2, 2, 1, 2]], "float32"),
    "special": np.array([1, np.nan, 5, np.nan], "float32"),
    "least": np.array([-128, -128], "int8"),
    "least_mask": np.array([False, True]),
    "infinite": np.array([np.inf, np.inf], "float32"),
    "number": np.array(4.0, "float32"),
}
CASES: dict[str, Case] = {
    "where": (
        lambda v: op.where(v["c"], v["x"], v["row"]),
        lambda v: np.where(v["c"], v["x"], v["row"]),
    ),
    "masked_fill": (
        lambda v: op.masked_fill(v["x"], v["b"], 7.0),
        lambda v: np.where(v["b"], np.float32(7), v["x"]),
    ),
    "argmax": (lambda v: op.argmax(v["ties"], 1), lambda v: v["ties"].argmax(1)),
    "argmin": (lambda v: op.argmin(v["ties"]), lambda v: v["ties"].argmin()),
    "argmin kept": (
        lambda v: op.argmin(v["cube"], 1, True),
        lambda v: v["cube"].argmin(1, keepdims=True),
    ),
    "argmax NaN": (lambda v: op.argmax(v["special"]), lambda v: v["special"].argmax()),
    "argmin NaN": (lambda v: op.argmin(v["special"]), lambda v: v["special"].argmin()),
    "argmax limits": (lambda v: op.argmax(v["least"], 0), lambda v: v["least"].argmax(0)),
    "argmin infinite": (lambda v: op.argmin(v["infinite"]), lambda v: v["infinite"].argmin()),
    "argmax number": (lambda v: op.argmax(v["number"]), lambda v: v["number"].argmax()),
    "masked_fill int": (
        lambda v: op.masked_fill(v["least"], v["least_mask"], 3),
        lambda v: np.array([-128, 3], "int8"),
    ),
}
RESULTS = Results(ARRAYS, CASES)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(searching)


INFERRED: list[tuple[Build, str]] = [
    (lambda: op.argmax(tensor(2, 3), 1), text_of("2,", "int64")),
    (lambda: op.where(tensor(3, dtype="bool"), tensor(2, 1), number()), text_of("2, 3")),
    (lambda: op.argmin(unknown(3), -1, True), of_rank(3, "int64")),
    (lambda: op.argmin(unknown()), text_of("", "int64")),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


FLOAT = tensor(2, 3)
INT = tensor(2, 3, dtype="int32")
REFUSED: list[tuple[Build, type[Exception], str]] = [
    (
        lambda: op.where(INT, FLOAT, FLOAT),
        GraphTypeError,
        "expected a tensor of bool",
    ),
    (lambda: op.argmax(FLOAT, 2), GraphError, "axis 2 of relax.argmax is out of range"),
    (
        lambda: op.argmin(tensor(3, 0), 1),
        GraphError,
        "the number of elements of relax.argmin is 0, expected at least 1",
    ),
    (lambda: op.argmax(tensor(3, 0)), GraphError, "the number of elements of relax.argmax is 0"),
    (lambda: op.where(tensor(3, dtype="bool"), FLOAT, INT), GraphTypeError, "have dtypes"),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
