"""Gradients of losses, pools and gathers, and marks of what is differentiated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import relax
from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax.op import grad
from te_sched.relax.operators import gradients
from te_sched.relax.operators.registry import operator_of
from tests.relax.operator_tables import (
    Build,
    Case,
    N,
    Results,
    floats,
    inferred,
    ints,
    number,
    operators_of,
    tensor,
    text_of,
    unknown,
)

torch = pytest.importorskip("torch")
F = torch.nn.functional
ARRAYS: dict[str, Any] = {
    "x": floats(3, 6),
    "image": floats(2, 4, 6, 7),
    "log": np.log(floats(3, 6, low=0.1, high=1)),
    "labels": np.array([0, 5, 2], "int64"),
    "classes": np.array([[1, 3, 0], [2, 1, 1]], "int64"),
    "dense": np.log(floats(2, 4, 3, low=0.1, high=1)),
    "weights": floats(6, low=0.5, high=1),
    "g": np.array(2.5, "float32"),
    "g2": floats(2, 4, 3, 3),
    "taken": floats(2, 6),
    "places": np.array([2, 2], "int64"),
    "pair": floats(2, 3, 6),
    "both": np.array([[0, 1, 2, 0, 1, 2], [2, 2, 1, 1, 0, 0]], "int64"),
    "label": np.array(2, "int64"),
    "three": floats(3),
    "flat": np.array([17, 0, 17], "int64"),
    "columns": floats(3, 2),
}


def gradient(loss: Any, at: Any, grad_output: Any) -> Any:
    """The gradient of a function at a tensor, for a gradient of its result."""
    point = at.clone().requires_grad_()
    loss(point).backward(grad_output)
    return point.grad


CASES: dict[str, Case] = {
    "no_grad": (lambda v: grad.no_grad(v["x"]), lambda v: v["x"]),
    "start_checkpoint": (lambda v: grad.start_checkpoint(v["x"]), lambda v: v["x"]),
    "end_checkpoint": (lambda v: grad.end_checkpoint(v["x"]), lambda v: v["x"]),
    "nll_loss_backward": (
        lambda v: grad.nll_loss_backward(v["g"], v["log"], v["labels"], v["weights"]),
        lambda v: gradient(lambda p: F.nll_loss(p, v["labels"], v["weights"]), v["log"], v["g"]),
    ),
    "nll_loss_backward plain": (
        lambda v: grad.nll_loss_backward(v["g"], v["dense"], v["classes"], ignore_index=3),
        lambda v: gradient(
            lambda p: F.nll_loss(p, v["classes"], ignore_index=3), v["dense"], v["g"]
        ),
    ),
    "max_pool2d_backward": (
        lambda v: grad.max_pool2d_backward(v["g2"], v["image"], (3, 3), (2, 3), (1, 1, 1, 1)),
        lambda v: gradient(lambda p: F.max_pool2d(p, 3, (2, 3), 1), v["image"], v["g2"]),
    ),
    "avg_pool2d_backward": (
        lambda v: grad.avg_pool2d_backward(v["g2"], v["image"], (3, 3), (2, 3), (1, 1, 1, 1)),
        lambda v: gradient(
            lambda p: F.avg_pool2d(p, 3, (2, 3), 1, count_include_pad=False), v["image"], v["g2"]
        ),
    ),
    "take_backward": (
        lambda v: grad.take_backward(v["taken"], v["x"], v["places"], 0),
        lambda v: torch.zeros(3, 6).index_add(0, v["places"], v["taken"]),
    ),
    "nll_loss_backward none": (
        lambda v: grad.nll_loss_backward(v["taken"], v["pair"], v["both"], None, "none", 1),
        lambda v: gradient(
            lambda p: F.nll_loss(p, v["both"], reduction="none", ignore_index=1),
            *(v["pair"], v["taken"]),
        ),
    ),
    "nll_loss_backward of one": (
        lambda v: grad.nll_loss_backward(v["g"], v["weights"], v["label"], reduction="sum"),
        lambda v: gradient(
            lambda p: F.nll_loss(p, v["label"], reduction="sum"), v["weights"], v["g"]
        ),
    ),
    "take_backward of all": (
        lambda v: grad.take_backward(v["three"], v["x"], v["flat"]),
        lambda v: torch.zeros(18).index_add(0, v["flat"], v["three"]).reshape(3, 6),
    ),
    "take_backward column": (
        lambda v: grad.take_backward(v["columns"], v["x"], v["places"], -1),
        lambda v: torch.zeros(3, 6).index_add(1, v["places"], v["columns"]),
    ),
}
RESULTS = Results(ARRAYS, CASES, convert=torch.from_numpy, is_exact=False)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_torch(name: str) -> None:
    RESULTS.check(name)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_negative_indices_are_ignored_in_builds(reduction: str) -> None:
    arrays = {**ARRAYS, "labels": np.array([-1, 5, 2], "int64"), "each": floats(3)}
    output = "each" if reduction == "none" else "g"

    def reference(v: Any) -> Any:
        options = {"reduction": reduction, "ignore_index": -1}
        return gradient(
            lambda p: F.nll_loss(p, v["labels"], v["weights"], **options), v["log"], v[output]
        )

    def build(v: Any) -> Any:
        args = [v[name] for name in (output, "log", "labels", "weights")]
        return grad.nll_loss_backward(*args, reduction, -1)

    Results(arrays, {"loss": (build, reference)}, convert=torch.from_numpy).check("loss")


@pytest.mark.parametrize("options", [{"dilation": 2}, {"out_layout": "NHWC"}])
def test_gradients_of_other_windows_have_no_rule(options: dict[str, Any]) -> None:
    builder = relax.BlockBuilder()
    x = tensor(1, 1, 6, 6)
    sizes = {"out_layout": (1, 4, 4, 1)}.get(*options, (1, 1, 2, 2))
    call = builder.normalize(grad.max_pool2d_backward(tensor(*sizes), x, 3, **options))
    rule = operator_of(call.op).legalize
    assert rule is not None
    with pytest.warns(UserWarning, match="max_pool2d_backward .* has no rule"):
        assert rule(builder, call) is call


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(gradients)


def test_sizes_of_windows_are_int32() -> None:
    attrs = grad.max_pool2d_backward(tensor(2), tensor(2), 3).attrs
    assert [size.dtype for size in attrs.pool_size] == ["int32", "int32"]  # as in TVM
    assert {size.dtype for size in (*attrs.strides, *attrs.padding)} == {"int64"}
    assert [size.value for size in attrs.padding] == [0, 0, 0, 0]


INFERRED: list[tuple[Build, str]] = [
    (lambda: grad.max_pool2d_backward(unknown(), tensor(1, 2, N, 8)), text_of("1, 2, n, 8")),
    (lambda: grad.no_grad(tensor(N)), text_of("n,")),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


X = tensor(3)
REFUSED: list[tuple[Build, type[Exception], str]] = [
    (lambda: grad.start_checkpoint(relax.const(1.0)), GraphTypeError, "expected a variable"),
    (lambda: grad.max_pool2d_backward(tensor(2), number()), GraphTypeError, "expected a tensor"),
    (
        lambda: grad.avg_pool2d_backward(tensor(1, 1, 2, 3), tensor(1, 1, 6, 6), 2, 2),
        GraphError,
        "the sizes of the gradient and of the pool of .* differ: 2 and 3",
    ),
    (
        lambda: grad.max_pool2d_backward(tensor(2), tensor(1, 1, 6, 6), 2, 2),
        GraphTypeError,
        "expected a tensor of 4 dimensions",
    ),
    (lambda: grad.take_backward(X, X, X, 0), GraphTypeError, "expected a tensor of integers"),
    (lambda: grad.take_backward(X, X, ints(2), 1), GraphError, "axis 1 of .* is out of range"),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
