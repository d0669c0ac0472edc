"""Gathers and scatters: elements at places that tensors hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import relax
from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax import op
from te_sched.relax.operators import gathering
from tests.relax.operator_tables import (
    UNKNOWN,
    Build,
    Case,
    N,
    Results,
    floats,
    inferred,
    ints,
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
    "w": floats(5),  # of size n
    "places": np.array([2, 0, 1], "int64"),
    "k": np.array([[0, 2, -1, 1], [1, 0, 2, -2]], "int64"),
    "rows": np.array([[0, 2, 1, 1], [1, 0, 2, 0]], "int64"),
    "pairs": np.array([[0, 1], [2, 3]], "int64"),
    "inner": np.array([[[1], [0]], [[2], [2]]], "int64"),
    "points": np.array([[2], [0]], "int64"),
    "u": floats(2, 4),
}


def scattered(data: Any, indices: Any, updates: Any, combine: Any) -> Any:
    """The data with updates at rows."""
    out = data.copy()
    for i, j in np.ndindex(*indices.shape):
        at = (indices[i, j], j)
        out[at] = combine(out[at], updates[i, j])
    return out


def updated(data: Any, points: Any, updates: Any) -> Any:
    """The data with other rows at points."""
    out = data.copy()
    out[points[:, 0]] = updates
    return out


CASES: dict[str, Case] = {
    "take": (lambda v: op.take(v["cube"], v["places"], 1), lambda v: v["cube"][:, v["places"]]),
    "take of a row": (lambda v: op.take(v["row"], v["places"]), lambda v: v["row"][v["places"]]),
    "take number": (
        lambda v: op.take(v["cube"], relax.PrimValue(2), -1),
        lambda v: v["cube"][:, :, 2],
    ),
    "take size": (lambda v: op.take(v["w"], relax.PrimValue(N - 1), 0), lambda v: v["w"][4]),
    "gather_elements": (
        lambda v: op.gather_elements(v["x"], v["rows"], 0),
        lambda v: np.take_along_axis(v["x"], v["rows"], 0),
    ),
    "gather_nd": (lambda v: op.gather_nd(v["x"], v["pairs"]), lambda v: v["x"][[0, 2], [1, 3]]),
    "gather_nd batches": (
        lambda v: op.gather_nd(v["cube"], v["inner"], 1),
        lambda v: np.stack([v["cube"][b][v["inner"][b, :, 0]] for b in range(2)]),
    ),
    "scatter_elements": (
        lambda v: op.scatter_elements(v["x"], v["k"], v["u"]),
        lambda v: scattered(v["x"], v["k"], v["u"], lambda a, b: b),
    ),
    "scatter_elements add": (
        lambda v: op.scatter_elements(v["x"], v["k"], v["u"], 0, "add"),
        lambda v: scattered(v["x"], v["k"], v["u"], lambda a, b: a + b),
    ),
    "scatter_nd": (
        lambda v: op.scatter_nd(v["x"], v["points"], v["u"]),
        lambda v: updated(v["x"], v["points"], v["u"]),
    ),
    "one_hot": (
        lambda v: op.one_hot(v["pairs"], relax.PrimValue(2.0), relax.PrimValue(-1.0), 4, 1),
        lambda v: np.where(np.arange(4)[:, None] == v["pairs"][:, None], 2.0, -1.0),
    ),
}
RESULTS = Results(ARRAYS, CASES, {"w": [N]}, is_exact=False)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(gathering)


INFERRED: list[tuple[Build, str]] = [
    (lambda: op.gather_elements(unknown(2), ints(2, N)), text_of("2, n")),
    (lambda: op.gather_elements(unknown(), ints(2)), UNKNOWN),
    (lambda: op.gather_elements(tensor(2), unknown(1, "int64")), of_rank(1)),
    (lambda: op.gather_nd(tensor(2, N, 4), ints(5, 2)), text_of("5, 4")),
    (lambda: op.gather_nd(unknown(3), ints(5, 2)), of_rank(2)),
    (lambda: op.gather_nd(tensor(2), unknown(2, "int64")), UNKNOWN),
    (lambda: op.scatter_elements(tensor(N), ints(2), tensor(2)), text_of("n,")),
    (lambda: op.scatter_elements(unknown(1), ints(2), tensor(2)), of_rank(1)),
    (lambda: op.scatter_nd(tensor(4, N), ints(2, 1), tensor(2, N)), text_of("4, n")),
    (lambda: op.scatter_nd(unknown(2), ints(2, 1), unknown()), of_rank(2)),
    (lambda: op.one_hot(unknown(1, "int64"), 1.0, 0.0, 3), of_rank(2)),
    (lambda: op.one_hot(ints(N), 1.0, 0.0, 3), text_of("n, 3")),
    (lambda: op.take(tensor(2, N), tensor(3, 4, dtype="int8"), 0), text_of("3, 4, n")),
    (lambda: op.take(tensor(2, N), number("int64"), 1), text_of("2,")),
    (lambda: op.take(unknown(), unknown(1, "int64"), 1), UNKNOWN),
    (lambda: op.take(unknown(2), tensor(3, dtype="int64"), 1), of_rank(2)),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


FLOAT = tensor(2, 3)
INT = tensor(2, 3, dtype="int32")
REFUSED: list[tuple[Build, type[Exception], str]] = [
    (lambda: op.gather_nd(tensor(2), ints()), GraphTypeError, "which holds coordinates"),
    (lambda: op.scatter_nd(tensor(2), ints(), tensor()), GraphTypeError, "which holds coordinates"),
    (
        lambda: op.gather_elements(tensor(2), tensor(2)),
        GraphTypeError,
        "expected a tensor of integers",
    ),
    (
        lambda: op.gather_elements(tensor(2), ints(2, 2)),
        GraphTypeError,
        "expected a tensor of 1 dimensions",
    ),
    (lambda: op.gather_nd(tensor(2), ints(2, 1), 3), GraphError, "has batch_dims=3"),
    (lambda: op.gather_nd(tensor(2), ints(2, 2)), GraphTypeError, "a last size of at most 1"),
    (
        lambda: op.scatter_elements(tensor(2), ints(2, 2), tensor(2, 2)),
        GraphTypeError,
        "as many dimensions",
    ),
    (
        lambda: op.scatter_nd(tensor(4, 3), ints(2, 1), tensor(2)),
        GraphTypeError,
        "expected a tensor of the shape",
    ),
    (lambda: op.one_hot(ints(2), tensor(), 0.0, 3), GraphTypeError, "expected a number"),
    (lambda: op.one_hot(ints(2), 1.0, 0, 3), GraphTypeError, "expected a number of float32"),
    (lambda: op.one_hot(ints(2), 1.0, 0.0, 0), GraphError, "has depth=0"),
    (
        lambda: op.take(FLOAT, FLOAT, 0),
        GraphTypeError,
        "expected a tensor of integers",
    ),
    (
        lambda: op.take(FLOAT, INT),
        GraphError,
        "relax.take has no axis",
    ),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
