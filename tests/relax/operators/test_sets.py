"""Operators of which the number of results depends on the elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import relax
from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax import op
from te_sched.relax.operators import sets
from tests.relax.operator_tables import (
    Build,
    Case,
    N,
    Results,
    inferred,
    number,
    of_rank,
    operators_of,
    tensor,
    unknown,
)

ARRAYS: dict[str, Any] = {
    "ties": np.array([[1, 3, 3, 0], [2, 2, 1, 2]], "float32"),
    "empty": np.zeros(0, "int32"),
}
CASES: dict[str, Case] = {
    "unique": (lambda v: op.unique(v["ties"]), lambda v: np.unique(v["ties"])),
    "unique counts": (
        lambda v: relax.TupleGetItem(op.unique(v["ties"], True, False, False, True), 1),
        lambda v: np.unique(v["ties"], return_counts=True)[1],
    ),
    "nonzero": (lambda v: op.nonzero(v["ties"]), lambda v: np.array(np.nonzero(v["ties"]))),
    "unique places": (
        lambda v: op.unique(v["ties"], True, True, True),
        lambda v: [one.ravel() for one in np.unique(v["ties"], True, True)],
    ),
    "unique of nothing": (lambda v: op.unique(v["empty"]), lambda v: v["empty"]),
    "nonzero none": (lambda v: op.nonzero(v["empty"]), lambda v: np.zeros((1, 0), "int64")),
}
RESULTS = Results(ARRAYS, CASES)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(sets)


INFERRED: list[tuple[Build, str]] = [
    (lambda: op.unique(tensor(2, 3), axis=1), of_rank(2)),
    (
        lambda: op.unique(tensor(), return_index=True),
        'R.Tuple(R.Tensor((1,), dtype="float32"), R.Tensor((1,), dtype="int64"))',
    ),
    (lambda: op.unique(tensor(2, N)), of_rank(1)),
    (lambda: op.nonzero(unknown()), of_rank(2, "int64")),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


FLOAT = tensor(2, 3)
REFUSED: list[tuple[Build, type[Exception], str]] = [
    (
        lambda: op.unique(FLOAT, axis=number("int64")),
        GraphTypeError,
        "a number that is a constant",
    ),
    (lambda: op.unique(FLOAT, axis=2), GraphError, "axis 2 of relax.unique is out of range"),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
