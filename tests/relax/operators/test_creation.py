"""New tensors of a value, a sequence or a diagonal, triangles of matrices, and conversions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import relax
from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax import op
from te_sched.relax.operators import creation
from tests.relax.operator_tables import (
    RNG,
    Build,
    Case,
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
    "cube": floats(2, 3, 4),
    "i": RNG.integers(-9, 9, (3, 4)).astype("int32"),
    "scalar": np.array(2.5, "float32"),
    "w": floats(5),  # of size n
}
CASES: dict[str, Case] = {
    "full": (
        lambda v: op.full((2, N), v["scalar"], "int32"),
        lambda v: np.full((2, 5), 2, "int32"),
    ),
    "full number": (lambda v: op.full((2,), 3, "float32"), lambda v: np.full((2,), 3, "float32")),
    "full_like": (lambda v: op.full_like(v["i"], v["scalar"]), lambda v: np.full_like(v["i"], 2)),
    "ones": (lambda v: op.ones((N, 2), "int8"), lambda v: np.ones((5, 2), "int8")),
    "zeros": (lambda v: op.zeros((3,), "float32"), lambda v: np.zeros((3,), "float32")),
    "ones_like": (lambda v: op.ones_like(v["i"]), lambda v: np.ones_like(v["i"])),
    "zeros_like": (
        lambda v: op.zeros_like(v["i"], "float32"),
        lambda v: np.zeros((3, 4), "float32"),
    ),
    "arange": (lambda v: op.arange(1, 10, 3), lambda v: np.arange(1, 10, 3)),
    "arange down": (lambda v: op.arange(5, 0, -2), lambda v: np.arange(5, 0, -2)),
    "arange n": (lambda v: op.arange(1, N, 2), lambda v: np.arange(1, 5, 2)),
    "arange n down": (lambda v: op.arange(N, 0, -2), lambda v: np.arange(5, 0, -2)),
    "arange of reals": (lambda v: op.arange(0, 2, 0.5), lambda v: np.arange(0, 2, 0.5, "float32")),
    "arange of no numbers": (lambda v: op.arange(3, 0), lambda v: np.arange(3, 0)),
    "eye": (lambda v: op.eye(3, N, 1, "int32"), lambda v: np.eye(3, 5, 1, "int32")),
    "eye_like": (lambda v: op.eye_like(v["x"], -1), lambda v: np.eye(3, 4, -1, "float32")),
    "tril": (lambda v: op.tril(v["cube"], 1), lambda v: np.tril(v["cube"], 1)),
    "triu": (lambda v: op.triu(v["cube"], -1), lambda v: np.triu(v["cube"], -1)),
    "astype bool": (lambda v: op.astype(v["i"], "bool"), lambda v: v["i"] != 0),
    "astype": (lambda v: op.astype(v["x"], "int32"), lambda v: v["x"].astype("int32")),
    "astype number": (
        lambda v: op.astype(relax.const(1.5), "int32"),
        lambda v: np.array(1, "int32"),
    ),
}
RESULTS = Results(ARRAYS, CASES, {"w": [N]})


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert operators_of(creation) - RESULTS.operators() == {"wrap_param"}  # of `FoldConstant`


INFERRED: list[tuple[Build, str]] = [
    (lambda: op.full((2, N), tensor(), "int8"), text_of("2, n", "int8")),
    (lambda: op.full_like(tensor(2), tensor(dtype="int8")), text_of("2,")),
    (lambda: op.ones_like(unknown(2), "int8"), of_rank(2, "int8")),
    (lambda: op.arange(1, N, 2), text_of("n // 2,", "int64")),
    (lambda: op.arange(N, 0, -1), text_of("n,", "int64")),
    (lambda: op.arange(5, 0), text_of("0,", "int64")),
    (lambda: op.arange(0, number("int64")), of_rank(1, "int64")),
    (lambda: op.eye(N, 3), text_of("n, 3")),
    (lambda: op.eye(number("int64")), of_rank(2)),
    (lambda: op.wrap_param(relax.const([1], "float16"), "float32"), text_of("1,")),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


REFUSED: list[tuple[Build, type[Exception], str]] = [
    (lambda: op.eye(1.5), GraphTypeError, "argument 0 of relax.eye .* expected an integer"),
    (lambda: op.eye_like(tensor(2, 2), 0.5), GraphTypeError, "expected an integer"),
    (lambda: op.triu(tensor(2, 2), 0.5), GraphTypeError, "expected an integer"),
    (lambda: op.ones(4, "float32"), GraphTypeError, "shape of relax.op.ones is 4, expected"),
    (lambda: op.ones(tensor(2, 3), "float32"), GraphTypeError, "expected a shape"),
    (lambda: op.zeros((2,), ""), GraphError, "dtype of a new tensor is not given"),
    (lambda: op.full((2,), tensor(2, 3)), GraphTypeError, "expected a tensor without dimensions"),
    (lambda: op.arange(0, 4, 0), GraphError, "the step of relax.arange is 0"),
    (lambda: op.arange(0, tensor(2, 3)), GraphTypeError, "argument 1 of relax.arange"),
    (lambda: op.eye_like(tensor(2)), GraphTypeError, "expected a matrix"),
    (lambda: op.tril(tensor(2)), GraphTypeError, "at least two dimensions"),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
