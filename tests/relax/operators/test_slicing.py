"""Slices of tensors, of bounds that are numbers or tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.errors import DeclarationError, GraphError, GraphTypeError
from te_sched.relax import op
from te_sched.relax.operators import slicing
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
    shape,
    tensor,
    text_of,
    unknown,
)

ARRAYS: dict[str, Any] = {
    "x": floats(3, 4),
    "cube": floats(2, 3, 4),
    "w": floats(5),  # of size n
    "begin": np.array([2, -3], "int64"),
    "end": np.array([-4, 9], "int64"),
    "strides": np.array([-1, 2], "int64"),
}
# Bounds of slices of w.
BOUNDS: list[tuple[Any, ...]] = [
    *((1, 3), (0, N, 2), (-3, N), (-2, -1), (4, 1), (3, 99), (99, 0, -2), (-99, 2)),
    *((10, -10, -1), (-1, 0, -1), (N, 9), (1, 1 << 62)),
]


def sliced(bounds: tuple[Any, ...]) -> Case:
    """A slice of an array of size n, which is 5."""
    return (
        lambda v: op.strided_slice(v["w"], [0], *[[one] for one in bounds]),
        lambda v: v["w"][slice(*[5 if one is N else one for one in bounds])],
    )


CASES: dict[str, Case] = {
    "strided_slice": (
        lambda v: op.strided_slice(v["cube"], [1, -1], [2, -3], [0, 4], [-1, 2]),
        lambda v: v["cube"][:, 2:0:-1, -3:4:2],
    ),
    "dynamic_strided_slice": (
        lambda v: op.dynamic_strided_slice(v["x"], v["begin"], v["end"], v["strides"]),
        lambda v: v["x"][2:-4:-1, -3:9:2],
    ),
    **{f"strided_slice {bounds}": sliced(bounds) for bounds in BOUNDS},
}
RESULTS = Results(ARRAYS, CASES, {"w": [N]})


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(slicing)


def test_axes_follow_the_order_of_dimensions() -> None:
    x, nhwc = tensor(2, 3, 4, 5), (0, 2, 3, 1)
    plan = followed(op.strided_slice(x, [1, -1], [0, 0], [1, 1]), nhwc)
    assert plan is not None
    assert (plan.inputs, plan.output) == ({0: nhwc}, nhwc)
    assert [axis.value.value for axis in plan.args[1].fields] == [3, 2]
    assert followed(op.strided_slice(x, shape(1), [0], [1]), nhwc) is None


INFERRED: list[tuple[Build, str]] = [
    (lambda: op.strided_slice(tensor(8, N), [0], [-3], [99]), text_of("3, n")),
    (lambda: op.strided_slice(tensor(8), [0], [5], [3]), text_of("0,")),
    (lambda: op.strided_slice(unknown(2), [0], [5], [3]), of_rank(2)),
    (lambda: op.strided_slice(unknown(), [0], [5], [3]), UNKNOWN),
    (lambda: op.strided_slice(tensor(8), [0], [N], [8], None, True), text_of("8 - n,")),
    (lambda: op.strided_slice(tensor(8), shape(0), shape(2), shape(4)), text_of("2,")),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


FLOAT = tensor(2, 3)
INT = tensor(2, 3, dtype="int32")
REFUSED: list[tuple[Build, type[Exception], str]] = [
    (lambda: op.strided_slice(FLOAT, [0], [0], [1, 2]), GraphError, "has 1 axes and 2 end"),
    (
        lambda: op.strided_slice(FLOAT, shape(0, 1), shape(1), shape(2)),
        GraphTypeError,
        "2 numbers, one for each axis",
    ),
    (
        lambda: op.strided_slice(
            FLOAT,
            INT,
            INT,
            INT,
        ),
        GraphTypeError,
        "a tuple of numbers of known values",
    ),
    (
        lambda: op.strided_slice(FLOAT, [N], [0], [1]),
        GraphTypeError,
        "axes that are constants",
    ),
    (
        lambda: op.strided_slice(FLOAT, [0], [0], [1], [0]),
        DeclarationError,
        "a slice has stride 0",
    ),
    (
        lambda: op.dynamic_strided_slice(
            FLOAT,
            INT,
            INT,
            INT,
        ),
        GraphTypeError,
        "expected a tensor of int64",
    ),
    (
        lambda: op.dynamic_strided_slice(FLOAT, *[tensor(3, dtype="int64")] * 3),
        GraphTypeError,
        "one number for each dimension",
    ),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
