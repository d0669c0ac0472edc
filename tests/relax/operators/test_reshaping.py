"""Operators that give a tensor another shape: its elements stay, move, repeat or are summed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import relax
from te_sched.errors import GraphError, GraphTypeError
from te_sched.ir import Op
from te_sched.relax import op
from te_sched.relax.operators import reshaping
from tests.relax.operator_tables import (
    UNKNOWN,
    Build,
    Case,
    K,
    M,
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
    "row": floats(4),
    "cube": floats(2, 3, 4),
    "w": floats(3, 5),  # of sizes 3, n
    "ones": floats(1, 3, 1, 4),
}
CASES: dict[str, Case] = {
    "broadcast_to": (
        lambda v: op.broadcast_to(v["row"], (2, 3, 4)),
        lambda v: np.broadcast_to(v["row"], (2, 3, 4)),
    ),
    "expand_dims": (lambda v: op.expand_dims(v["x"], [-1, 1]), lambda v: v["x"][:, None, :, None]),
    "flatten": (lambda v: op.flatten(v["cube"]), lambda v: v["cube"].ravel()),
    "reshape": (lambda v: op.reshape(v["cube"], (0, -1)), lambda v: v["cube"].reshape(2, 12)),
    "squeeze": (lambda v: op.squeeze(v["ones"]), lambda v: v["ones"].squeeze()),
    "squeeze axis": (lambda v: op.squeeze(v["ones"], 2), lambda v: v["ones"].squeeze(2)),
    "permute_dims": (lambda v: op.permute_dims(v["w"]), lambda v: v["w"].T),
    "permute_dims axes": (
        lambda v: op.permute_dims(v["cube"], [1, -1, 0]),
        lambda v: v["cube"].transpose(1, 2, 0),
    ),
    "collapse_sum_to": (
        lambda v: op.collapse_sum_to(v["cube"], (3, 1)),
        lambda v: v["cube"].sum((0, 2))[:, None],
    ),
    "collapse_sum_like": (
        lambda v: op.collapse_sum_like(v["cube"], v["row"]),
        lambda v: v["cube"].sum((0, 1)),
    ),
    "layout_transform": (
        lambda v: op.layout_transform(v["x"], lambda i, j: (j // 2, i, j % 2)),
        lambda v: v["x"].reshape(3, 2, 2).transpose(1, 0, 2),
    ),
    "layout_transform pad": (
        lambda v: op.layout_transform(v["x"], lambda i, j: (i, j // 3, j % 3), 7.0),
        lambda v: np.pad(v["x"], ((0, 0), (0, 2)), constant_values=7).reshape(3, 2, 3),
    ),
    "layout_transform pad of zeros": (
        lambda v: op.layout_transform(v["x"], lambda i, j: (i, j // 3, j % 3)),
        lambda v: np.pad(v["x"], ((0, 0), (0, 2))).reshape(3, 2, 3),
    ),
}
RESULTS = Results(ARRAYS, CASES, {"w": [3, N]}, is_exact=False)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(reshaping)


X = tensor(2, 3, 4, 5)
NHWC = (0, 2, 3, 1)
PLANS: list[tuple[Build, Any, Any, dict[str, Any]]] = [
    (lambda: op.expand_dims(X, [-1]), NHWC, (0, 2, 3, 1, 4), {}),
    (lambda: op.expand_dims(X, 0), NHWC, (0, 1, 3, 4, 2), {}),
    (lambda: op.squeeze(tensor(1, 3, 1, 5)), NHWC, (1, 0), {"axis": (0, 1)}),
    (lambda: op.squeeze(tensor(1, 3, 1, 5), 2), NHWC, (0, 2, 1), {"axis": (1,)}),
    (lambda: op.squeeze(tensor(1, 3, 1, 1), [0, 2, 3]), NHWC, None, {"axis": (0, 1, 2)}),
    (lambda: op.permute_dims(X, [0, 2, 3, 1]), NHWC, None, {"axes": (0, 1, 2, 3)}),
    (lambda: op.permute_dims(X), NHWC, None, {"axes": (2, 1, 3, 0)}),
]


@pytest.mark.parametrize(("build", "inputs", "output", "attrs"), PLANS)
def test_orders_of_dimensions(
    build: Build, inputs: Any, output: Any, attrs: dict[str, Any]
) -> None:
    plan = followed(build(), inputs)
    assert plan is not None
    assert (plan.inputs, plan.output, plan.attrs) == ({0: inputs}, output, attrs)


INFERRED: list[tuple[Build, str]] = [
    (lambda: op.broadcast_to(tensor(1, N), (M, N)), text_of("m, n")),
    (lambda: op.broadcast_to(unknown(), shape(2, 3)), 'R.Tensor(s, dtype="float32")'),
    (lambda: op.reshape(tensor(N, M, K), (K, -1)), text_of("k, n * m")),
    (lambda: op.reshape(tensor(N, 6), (2, -1, N)), text_of("2, 3, n")),
    (lambda: op.reshape(tensor(2, N, 6), (-1, 0, 3)), text_of("4, n, 3")),
    (lambda: op.reshape(unknown(), shape(2, 3)), text_of("2, 3")),
    (lambda: op.flatten(tensor(N, 4)), text_of("n * 4,")),
    (lambda: op.flatten(tensor()), text_of("1,")),
    (lambda: op.flatten(unknown()), of_rank(1)),
    (lambda: op.expand_dims(tensor(2, N), [-1, 0]), text_of("1, 2, n, 1")),
    (lambda: op.expand_dims(unknown(2), 1), of_rank(3)),
    (lambda: op.expand_dims(unknown(), 1), UNKNOWN),
    (lambda: op.squeeze(tensor(1, N, 1), 0), text_of("n, 1")),
    (lambda: op.squeeze(tensor(1, N)), UNKNOWN),
    (lambda: op.squeeze(unknown(3), 0), of_rank(2)),
    (lambda: op.squeeze(unknown(), 0), UNKNOWN),
    (lambda: op.permute_dims(tensor(2, N, 4)), text_of("4, n, 2")),
    (lambda: op.permute_dims(unknown()), UNKNOWN),
    (lambda: op.permute_dims(unknown(3), [0, 2, 1]), of_rank(3)),
    (
        lambda: op.layout_transform(tensor(2, 6), lambda i, j: (j // 4, i, j % 4), 0),
        text_of("2, 2, 4"),
    ),
    (lambda: op.layout_transform(unknown(2), lambda i, j: (j,)), of_rank(1)),
    (lambda: op.collapse_sum_like(tensor(2, N), tensor(N)), text_of("n,")),
    (lambda: op.collapse_sum_like(tensor(2, N), unknown(1)), of_rank(1)),
    (lambda: op.collapse_sum_to(tensor(2, N), (1, N)), text_of("1, n")),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


REFUSED: list[tuple[Build, type[Exception], str]] = [
    (
        lambda: relax.Call(Op.get("relax.reshape"), [tensor(6)]),
        GraphError,
        "is called with 1 arguments",
    ),
    (
        lambda: op.broadcast_to(tensor(2, 3), (3,)),
        GraphTypeError,
        "expected a shape of at least 2 sizes",
    ),
    (
        lambda: op.broadcast_to(tensor(3), (4,)),
        GraphError,
        "the sizes of relax.broadcast_to differ: .*3.* and .*4",
    ),
    (lambda: op.reshape(tensor(120), 120), GraphTypeError, "is 120, expected a shape"),
    (lambda: op.reshape(tensor(6), (-2, 3)), GraphError, "has a negative size"),
    (lambda: op.reshape(tensor(6), (-1, -1)), GraphError, "has several sizes -1"),
    (lambda: op.reshape(unknown(2), (-1,)), GraphError, "the shape of the tensor is not known"),
    (lambda: op.reshape(tensor(6), (6, 0)), GraphError, "has a size 0 at place 1"),
    (lambda: op.reshape(tensor(6), (4,)), GraphError, "elements of relax.reshape differ"),
    (lambda: op.reshape(tensor(6), tensor(6)), GraphTypeError, "expected a shape"),
    (
        lambda: op.expand_dims(tensor(2, 3), 3),
        GraphError,
        "axis 3 of relax.expand_dims is out of range",
    ),
    (lambda: op.expand_dims(tensor(2), [0, -3]), GraphError, "are not distinct"),
    (
        lambda: op.squeeze(tensor(2), 0),
        GraphError,
        "the squeezed size and 1 of relax.squeeze differ",
    ),
    (
        lambda: op.permute_dims(unknown(), [0]),
        GraphTypeError,
        "expected a tensor of a known number",
    ),
    (lambda: op.permute_dims(tensor(2, 3), [0]), GraphError, "has 1 axes, the tensor has 2"),
    (
        lambda: op.layout_transform(tensor(2, dtype="int32"), lambda i: i, 1.5),
        GraphError,
        "pad_value is 1.5, expected a number of int32",
    ),
    (
        lambda: op.layout_transform(tensor(2), lambda i: i, relax.PrimValue(1)),
        GraphError,
        "has dtype int64, expected float32",
    ),
    (
        lambda: op.layout_transform(tensor(2), lambda i, j: i),
        GraphError,
        "takes 2 indices, the tensor has 1",
    ),
    (
        lambda: op.collapse_sum_to(tensor(2), (1, 2)),
        GraphTypeError,
        "expected at most 1 dimensions",
    ),
    (lambda: op.collapse_sum_to(tensor(4), (3,)), GraphTypeError, "expected the size .*4.* or 1"),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
