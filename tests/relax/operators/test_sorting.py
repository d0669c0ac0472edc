"""Sorting along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import relax
from te_sched.errors import GraphError
from te_sched.relax import op
from te_sched.relax.operators import sorting
from tests.relax.operator_tables import (
    Build,
    Case,
    N,
    Results,
    floats,
    inferred,
    of_rank,
    operators_of,
    tensor,
    text_of,
    unknown,
)

ARRAYS: dict[str, Any] = {
    "x": floats(3, 4),
    "cube": floats(2, 3, 4),
    "i": np.array([3, -128, 127, 0, 3, -128], "int8"),
}


def descending(x: Any, axis: int) -> Any:
    """The elements in descending order."""
    return -np.sort(-x, axis=axis)


CASES: dict[str, Case] = {
    "sort": (lambda v: op.sort(v["cube"], 1), lambda v: np.sort(v["cube"], 1)),
    "sort down": (lambda v: op.sort(v["x"], 0, True), lambda v: descending(v["x"], 0)),
    "argsort": (
        lambda v: op.argsort(v["x"], -1, True),
        lambda v: np.argsort(-v["x"], axis=-1, kind="stable").astype("int32"),
    ),
    "topk": (
        lambda v: relax.TupleGetItem(op.topk(v["x"], 2), 0),
        lambda v: descending(v["x"], 1)[:, :2],
    ),
    "topk indices": (
        lambda v: op.topk(v["x"], 9, 1, "indices", False, "int64"),
        lambda v: np.argsort(v["x"], axis=1),
    ),
    "sort int8": (lambda v: op.sort(v["i"]), lambda v: np.sort(v["i"])),
    "sort int8 down": (lambda v: op.sort(v["i"], -1, True), lambda v: np.sort(v["i"])[::-1]),
    "argsort ties": (
        lambda v: op.argsort(v["i"], dtype="int64"),
        lambda v: np.argsort(v["i"], kind="stable"),
    ),
    "argsort ties down": (
        lambda v: op.argsort(v["i"], descending=True, dtype="int64"),
        lambda v: np.argsort(-v["i"].astype("int32"), kind="stable"),
    ),
    "topk all": (
        lambda v: op.topk(v["cube"], 0, 1, largest=False),
        lambda v: [np.sort(v["cube"], 1), np.argsort(v["cube"], 1).astype("int32")],
    ),
}
RESULTS = Results(ARRAYS, CASES)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(sorting)


INFERRED: list[tuple[Build, str]] = [
    (
        lambda: op.topk(tensor(2, N), 3),
        'R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((2, 3), dtype="int32"))',
    ),
    (lambda: op.topk(tensor(2, 4), 9, 1, "values"), text_of("2, 4")),
    (lambda: op.argsort(unknown(2), dtype="int64"), of_rank(2, "int64")),
    (lambda: op.topk(unknown(), 3, 1, "indices"), 'R.Tensor(dtype="int32")'),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


REFUSED: list[tuple[Build, type[Exception], str]] = [
    (lambda: op.topk(tensor(2, 3), ret_type="all"), GraphError, "ret_type of topk is 'all'"),
    (
        lambda: op.topk(tensor(2, 3), dtype="float32"),
        GraphError,
        r"(?s)topk has indices of dtype float32.*use int8, int16, int32, int64, uint8",
    ),
    (
        lambda: op.argsort(tensor(2, 3), dtype="bool"),
        GraphError,
        "argsort has indices of dtype bool",
    ),
    (lambda: op.sort(tensor(2, 3), 2), GraphError, "axis 2 of relax.sort is out of range"),
    (lambda: op.topk(tensor(), 1), GraphError, "the tensor has no axis"),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
