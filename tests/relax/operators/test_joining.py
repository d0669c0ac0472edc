"""Joins, splits and repetitions of tensors along axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.errors import GraphError, GraphTypeError
from te_sched.ir import VDevice
from te_sched.relax import op
from te_sched.relax.operators import joining
from tests.relax.operator_tables import (
    UNKNOWN,
    Build,
    Case,
    M,
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
    "x": floats(3, 4),
    "y": floats(3, 5),
    "row": floats(4),
    "w": floats(3, 5),  # of sizes 3, n
}
CASES: dict[str, Case] = {
    "concat": (
        lambda v: op.concat([v["x"], v["y"], v["w"]], 1),
        lambda v: np.concatenate([v["x"], v["y"], v["w"]], 1),
    ),
    "concat flat": (
        lambda v: op.concat([v["row"], v["row"]], None),
        lambda v: np.concatenate([v["row"], v["row"]]),
    ),
    "split": (lambda v: op.split(v["x"], 2, 1), lambda v: np.split(v["x"], 2, 1)),
    "split places": (lambda v: op.split(v["x"], [1, 3], 1), lambda v: np.split(v["x"], [1, 3], 1)),
    "split symbolic": (
        lambda v: op.split(op.concat([v["w"], v["w"]], 1), 2, 1),
        lambda v: [v["w"], v["w"]],
    ),
    "split one": (lambda v: op.split(v["x"], [], 1), lambda v: [v["x"]]),
    "repeat": (lambda v: op.repeat(v["x"], 2), lambda v: np.repeat(v["x"], 2)),
    "repeat axis": (lambda v: op.repeat(v["w"], 3, 1), lambda v: np.repeat(v["w"], 3, 1)),
    "tile": (lambda v: op.tile(v["x"], (2, 1, 3)), lambda v: np.tile(v["x"], (2, 1, 3))),
    "flip": (lambda v: op.flip(v["x"], 1), lambda v: v["x"][:, ::-1]),
    "split uneven": (lambda v: op.split(v["x"], 3, 1), lambda v: np.split(v["x"], [2, 4], 1)),
    "split beyond": (lambda v: op.split(v["x"], [2, 9]), lambda v: np.split(v["x"], [2, 3])),
    "split n": (lambda v: op.split(v["w"], [2], 1), lambda v: np.split(v["w"], [2], 1)),
    "concat one": (lambda v: op.concat([v["x"]]), lambda v: v["x"]),
    "tile of fewer": (lambda v: op.tile(v["x"], 2), lambda v: np.tile(v["x"], 2)),
    "flip n": (lambda v: op.flip(v["w"], -1), lambda v: v["w"][:, ::-1]),
}
RESULTS = Results(ARRAYS, CASES, {"w": [3, N]}, is_exact=False)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(joining)


X = tensor(2, 3, 4, 5)
NHWC = (0, 2, 3, 1)
PLANS: list[tuple[Build, Any, Any, dict[str, Any]]] = [
    (lambda: op.concat([X, X], 1), [NHWC, None], NHWC, {"axis": 3}),
    (lambda: op.split(X, 3, -1), NHWC, [NHWC] * 3, {"axis": 2}),
    (lambda: op.flip(X, 1), NHWC, NHWC, {"axis": 3}),
]


@pytest.mark.parametrize(("build", "inputs", "output", "attrs"), PLANS)
def test_orders_of_dimensions(
    build: Build, inputs: Any, output: Any, attrs: dict[str, Any]
) -> None:
    plan = followed(build(), inputs)
    assert plan is not None
    order = [NHWC, NHWC] if isinstance(inputs, list) else inputs  # of all tensors of a tuple
    assert (plan.inputs, plan.output, plan.attrs) == ({0: order}, output, attrs)


INFERRED: list[tuple[Build, str]] = [
    (lambda: op.concat([tensor(2, N), tensor(2, 3)], 1), text_of("2, n + 3")),
    (lambda: op.concat([tensor(N, 2), tensor(M, 2)], 1), of_rank(2)),
    (lambda: op.concat([unknown(), unknown()], 1), UNKNOWN),
    (lambda: op.concat([unknown()], 1), UNKNOWN),
    (lambda: op.split(tensor(7), 3), f"R.Tuple({text_of('3,')}, {text_of('3,')}, {text_of('1,')})"),
    (
        lambda: op.split(tensor(7), [2, 9]),
        f"R.Tuple({text_of('2,')}, {text_of('5,')}, {text_of('0,')})",
    ),
    (lambda: op.split(unknown(), 2), f"R.Tuple({UNKNOWN}, {UNKNOWN})"),
    (lambda: op.repeat(tensor(N, 2), 3, 1), text_of("n, 6")),
    (lambda: op.repeat(tensor(N, 2), 3), text_of("n * 6,")),
    (lambda: op.repeat(unknown(2), 3), of_rank(1)),
    (lambda: op.repeat(unknown(2), 3, 0), of_rank(2)),
    (lambda: op.repeat(unknown(), 3, 0), UNKNOWN),
    (lambda: op.tile(tensor(N, 2), (2, 1, 3)), text_of("2, n, 6")),
    (lambda: op.tile(unknown(2), 2), of_rank(2)),
    (lambda: op.tile(unknown(), 2), UNKNOWN),
    (lambda: op.flip(unknown(2), 1), of_rank(2)),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


REFUSED: list[tuple[Build, type[Exception], str]] = [
    (
        lambda: op.concat([tensor(2), tensor(2, 3)]),
        GraphError,
        r"joins tensors of \[1, 2\] dimensions",
    ),
    (lambda: op.concat([tensor(2, 3)], None), GraphError, "with axis=None joins tensors of 2"),
    (lambda: op.concat(tensor(2)), GraphTypeError, "expected a tuple of tensors"),
    (
        lambda: op.concat([tensor(2), tensor(2, dtype="int8")]),
        GraphTypeError,
        "have dtypes float32, int8",
    ),
    (
        lambda: op.concat([tensor(2, device=VDevice("llvm")), tensor(2, device=VDevice("cuda"))]),
        GraphError,
        "are on devices",
    ),
    (lambda: op.split(tensor(2), 0), GraphError, "relax.split has 0 parts"),
    (lambda: op.split(tensor(2), [N]), GraphError, "a value of indices_or_sections is n"),
    (lambda: op.concat([]), GraphTypeError, "expected a tuple of tensors"),
    (lambda: op.concat([tensor(2, 3), tensor(3, 3)], 1), GraphError, "the sizes of relax.concat"),
    (lambda: op.flip(tensor(2), 1), GraphError, "axis 1 of relax.flip is out of range"),
    (lambda: op.repeat(tensor(2), 2, -2), GraphError, "axis -2 of relax.repeat is out of range"),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
