"""Random choices from given uniform numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax import op
from te_sched.relax.operators import sampling
from tests.relax.operator_tables import (
    Build,
    Case,
    N,
    Results,
    inferred,
    ints,
    of_rank,
    operators_of,
    tensor,
    text_of,
    unknown,
)

ARRAYS: dict[str, Any] = {
    "prob": np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]], "float32"),
    "uniform": np.array([[0.05], [0.3], [0.99], [0.6]], "float32"),
    "picks": np.array([[0], [0], [1], [1]], "int64"),
    "half": np.array([[0.5, 0.5]], "float32"),
    "ends": np.array([[0.0], [0.5], [1.0]], "float32"),
    "row": np.zeros((3, 1), "int64"),
}


def first_above(v: Any) -> Any:
    """The first index of a row at which the sum of its probabilities exceeds a number."""
    sums = np.cumsum(v["prob"], 1)[v["picks"][:, 0]]
    return np.minimum((sums <= v["uniform"]).sum(1, keepdims=True), 2).astype("int64")


CASES: dict[str, Case] = {
    "multinomial_from_uniform": (
        lambda v: op.multinomial_from_uniform(v["prob"], v["uniform"], v["picks"]),
        first_above,
    ),
    "multinomial_from_uniform int32": (
        lambda v: op.multinomial_from_uniform(v["half"], v["ends"], v["row"], "int32"),
        lambda v: np.array([[0], [1], [1]], "int32"),
    ),
}
RESULTS = Results(ARRAYS, CASES)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(sampling)


INFERRED: list[tuple[Build, str]] = [
    (
        lambda: op.multinomial_from_uniform(unknown(2), tensor(6, 1), tensor(6, 1, dtype="int64")),
        of_rank(2, "int64"),
    ),
    (
        lambda: op.multinomial_from_uniform(tensor(2, N), tensor(6, 1), ints(6, 1), "int32"),
        text_of("6, 1", "int32"),
    ),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


FLOAT = tensor(2, 3)
INT = tensor(2, 3, dtype="int32")
REFUSED: list[tuple[Build, type[Exception], str]] = [
    (
        lambda: op.multinomial_from_uniform(FLOAT, FLOAT, INT),
        GraphTypeError,
        "argument 1 of relax.multinomial_from_uniform .*expected a column",
    ),
    (
        lambda: op.multinomial_from_uniform(FLOAT, tensor(4, 1), ints(3, 1)),
        GraphError,
        "the rows of samples and indices of relax.multinomial_from_uniform differ: 4 and 3",
    ),
    (
        lambda: op.multinomial_from_uniform(tensor(3), tensor(4, 1), ints(4, 1)),
        GraphTypeError,
        "expected a matrix",
    ),
    (
        lambda: op.multinomial_from_uniform(FLOAT, ints(4, 1), ints(4, 1)),
        GraphTypeError,
        "expected a tensor of floating-point numbers",
    ),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
