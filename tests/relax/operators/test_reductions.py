"""Reductions over axes, and sums and products along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax import op
from te_sched.relax.operators import reductions
from tests.relax.operator_tables import (
    UNKNOWN,
    Build,
    Case,
    N,
    Results,
    floats,
    followed,
    inferred,
    of_rank,
    operators_of,
    tensor,
    text_of,
    unknown,
)

ARRAYS: dict[str, Any] = {
    "cube": floats(2, 3, 4),
    "number": np.array(2.5, "float32"),
    "small": np.array([[100, 100, 3], [-128, -1, 2]], "int8"),
}
AXES: list[tuple[Any, bool]] = [
    *((None, False), (None, True), (1, True), (-1, False), ((0, 2), False), ((), False)),
]
NAMES = ("max", "min", "sum", "prod", "mean", "std", "variance")


def reduction(name: str, axis: Any, keepdims: bool) -> Case:
    """A reduction of the cube."""
    reference = getattr(np, "var" if name == "variance" else name)
    return (
        lambda v: getattr(op, name)(v["cube"], axis, keepdims),
        lambda v: reference(v["cube"], axis=axis, keepdims=keepdims),
    )


def scan(name: str, axis: int | None, is_exclusive: bool) -> Case:
    """A scan of the cube; exclusive ones begin with 0 or 1 and leave out the last element."""

    def reference(v: Any) -> Any:
        scanned = getattr(np, name)(v["cube"], axis=axis)
        if not is_exclusive:
            return scanned
        first = np.full_like(scanned[..., :1], 0 if name == "cumsum" else 1)
        return np.concatenate([first, scanned[..., :-1]], axis=-1)

    return lambda v: getattr(op, name)(v["cube"], axis, None, is_exclusive), reference


CASES: dict[str, Case] = {
    **{f"{name} {axes}": reduction(name, *axes) for name in NAMES for axes in AXES},
    **{
        f"{name} {along}": scan(name, *along)
        for name in ("cumsum", "cumprod")
        for along in [(1, False), (None, False), (-1, True)]
    },
    "max of a number": (lambda v: op.max(v["number"]), lambda v: v["number"]),
    "sum int8": (lambda v: op.sum(v["small"], 1), lambda v: v["small"].sum(1, dtype="int8")),
    "cumsum int32": (
        lambda v: op.cumsum(v["small"], 1, "int32"),
        lambda v: v["small"].cumsum(1, dtype="int32"),
    ),
}
RESULTS = Results(ARRAYS, CASES)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(reductions)


X = tensor(2, 3, 4, 5)
NHWC = (0, 2, 3, 1)
PLANS: list[tuple[Build, Any, Any, dict[str, Any]]] = [
    (lambda: op.sum(X, 1), NHWC, None, {"axis": (3,)}),
    (lambda: op.sum(X, [-1, 0]), NHWC, (1, 0), {"axis": (0, 2)}),
    (lambda: op.max(X, 1, True), NHWC, NHWC, {"axis": (3,)}),
    (lambda: op.mean(X), NHWC, None, {}),
    (lambda: op.mean(X, None, True), NHWC, NHWC, {}),
]


@pytest.mark.parametrize(("build", "inputs", "output", "attrs"), PLANS)
def test_orders_of_dimensions(
    build: Build, inputs: Any, output: Any, attrs: dict[str, Any]
) -> None:
    plan = followed(build(), inputs)
    assert plan is not None
    assert (plan.inputs, plan.output, plan.attrs) == ({0: inputs}, output, attrs)


INFERRED: list[tuple[Build, str]] = [
    (lambda: op.sum(tensor(2, N, 4), [0, -1]), text_of("n,")),
    (lambda: op.sum(tensor(2, 3), 1, True), text_of("2, 1")),
    (lambda: op.sum(unknown(3), 1), of_rank(2)),
    (lambda: op.sum(unknown(), 1), UNKNOWN),
    (lambda: op.sum(unknown(), None, True), UNKNOWN),
    (lambda: op.sum(unknown(2), None, True), text_of("1, 1")),
    (lambda: op.cumsum(tensor(N, 4), None, "int64"), text_of("n * 4,", "int64")),
    (lambda: op.cumsum(unknown(3)), of_rank(1)),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


FLOAT = tensor(2, 3)
INT = tensor(2, 3, dtype="int32")
REFUSED: list[tuple[Build, type[Exception], str]] = [
    (lambda: op.sum(FLOAT, 2), GraphError, "out of range"),
    (lambda: op.sum(FLOAT, [0, -2]), GraphError, "not distinct"),
    (
        lambda: op.cumsum(FLOAT, INT),
        GraphTypeError,
        "argument axis of relax.op.cumsum is x",
    ),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
