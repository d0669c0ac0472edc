"""Pools: the maximum or mean of windows, and means of a number of parts."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from te_sched import relax
from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax.op import nn
from te_sched.relax.operators import pooling
from te_sched.relax.operators.registry import operator_of
from tests.relax.operator_tables import (
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

torch = pytest.importorskip("torch")
F = torch.nn.functional
ARRAYS: dict[str, Any] = {
    "line": floats(2, 4, 9),
    "image": floats(2, 4, 6, 7),
    "last": floats(2, 6, 7, 4),  # with the channels at the end
    "box": floats(1, 2, 4, 5, 6),
}
CASES: dict[str, Case] = {
    "max_pool1d": (
        lambda v: nn.max_pool1d(v["line"], 3, 2, 1),
        lambda v: F.max_pool1d(v["line"], 3, 2, 1),
    ),
    "max_pool2d": (
        lambda v: nn.max_pool2d(v["image"], 3, 2, 1, ceil_mode=True),
        lambda v: F.max_pool2d(v["image"], 3, 2, 1, ceil_mode=True),
    ),
    "max_pool2d NHWC": (
        lambda v: nn.max_pool2d(v["last"], 2, 2, layout="NHWC"),
        lambda v: F.max_pool2d(v["last"].permute(0, 3, 1, 2), 2, 2).permute(0, 2, 3, 1),
    ),
    "max_pool2d dilation": (
        lambda v: nn.max_pool2d(v["image"], 3, 1, 1, 2),
        lambda v: F.max_pool2d(v["image"], 3, 1, 1, 2),
    ),
    "max_pool3d": (lambda v: nn.max_pool3d(v["box"], 2, 1), lambda v: F.max_pool3d(v["box"], 2, 1)),
    "avg_pool1d": (
        lambda v: nn.avg_pool1d(v["line"], 3, 2, 1, count_include_pad=True),
        lambda v: F.avg_pool1d(v["line"], 3, 2, 1),
    ),
    "avg_pool2d": (
        lambda v: nn.avg_pool2d(v["image"], 3, 2, 1),
        lambda v: F.avg_pool2d(v["image"], 3, 2, 1, count_include_pad=False),
    ),
    "avg_pool3d": (lambda v: nn.avg_pool3d(v["box"], 2, 2), lambda v: F.avg_pool3d(v["box"], 2, 2)),
    "adaptive_avg_pool1d": (
        lambda v: nn.adaptive_avg_pool1d(v["line"], 4),
        lambda v: F.adaptive_avg_pool1d(v["line"], 4),
    ),
    "adaptive_avg_pool2d": (
        lambda v: nn.adaptive_avg_pool2d(v["image"], (4, 3)),
        lambda v: F.adaptive_avg_pool2d(v["image"], (4, 3)),
    ),
    "adaptive_avg_pool2d whole": (
        lambda v: nn.adaptive_avg_pool2d(v["image"]),
        lambda v: v["image"],
    ),
    "adaptive_avg_pool3d": (
        lambda v: nn.adaptive_avg_pool3d(v["box"], 2),
        lambda v: F.adaptive_avg_pool3d(v["box"], 2),
    ),
    "avg_pool2d ceil": (
        lambda v: nn.avg_pool2d(v["image"], 2, 2, ceil_mode=True),
        lambda v: F.avg_pool2d(v["image"], 2, 2, ceil_mode=True),
    ),
}
RESULTS = Results(ARRAYS, CASES, convert=torch.from_numpy, is_exact=False)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_torch(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(pooling)


DEFAULTS: list[tuple[Any, dict[str, object]]] = [
    (nn.max_pool1d, {"pool_size": (1,), "padding": (0, 0), "layout": "NCW"}),
    (nn.avg_pool3d, {"pool_size": (1, 1, 1), "padding": (0, 0, 0), "layout": "NCDHW"}),
    (nn.adaptive_avg_pool2d, {"output_size": None, "layout": "NCHW"}),
]


@pytest.mark.parametrize(("function", "defaults"), DEFAULTS)
def test_defaults_are_those_of_the_rank(function: Any, defaults: dict[str, object]) -> None:
    parameters = inspect.signature(function).parameters
    assert {name: parameters[name].default for name in defaults} == defaults


@pytest.mark.parametrize("build", [nn.max_pool2d, nn.adaptive_avg_pool2d])
def test_other_layouts_of_the_result_have_no_rule(build: Any) -> None:
    builder = relax.BlockBuilder()
    call = builder.normalize(build(tensor(1, 3, 8, 8), 2, out_layout="NHWC"))
    with pytest.warns(UserWarning, match="from NCHW to NHWC has no rule"):
        assert operator_of(call.op).legalize(builder, call) is call


def test_the_maximum_of_floats_is_nan_or_infinite_where_elements_are() -> None:
    array = np.array([[[-np.inf, 1, np.nan, -np.inf]]], "float32")
    cases: dict[str, Case] = {
        "pool": (
            lambda v: nn.max_pool1d(v["x"], 2, 2, 1),
            lambda v: np.array([[[-np.inf, np.nan, -np.inf]]], "float32"),
        ),
    }
    Results({"x": array}, cases).check("pool")


X = tensor(2, 3, 4, 5)
NHWC = (0, 2, 3, 1)
NWCH = {"layout": "NWCH", "out_layout": "NWCH"}
PLANS: list[tuple[Build, Any, Any, dict[str, Any]]] = [
    (lambda: nn.max_pool2d(X, 2), NHWC, NHWC, {"layout": "NHWC", "out_layout": "NHWC"}),
    (lambda: nn.adaptive_avg_pool2d(X, 2), (0, 3, 1, 2), (0, 3, 1, 2), NWCH),
]


@pytest.mark.parametrize(("build", "inputs", "output", "attrs"), PLANS)
def test_orders_of_dimensions(
    build: Build, inputs: Any, output: Any, attrs: dict[str, Any]
) -> None:
    plan = followed(build(), inputs)
    assert plan is not None
    assert (plan.inputs, plan.output, plan.attrs) == ({0: inputs}, output, attrs)


INFERRED: list[tuple[Build, str]] = [
    (lambda: nn.max_pool2d(tensor(1, 2, N, 7), 3, 2, ceil_mode=True), text_of("1, 2, n // 2, 3")),
    (lambda: nn.avg_pool3d(unknown(5), 2), of_rank(5)),
    (lambda: nn.adaptive_avg_pool2d(tensor(1, N, M, 7), 2), text_of("1, n, 2, 2")),
    (lambda: nn.adaptive_avg_pool1d(unknown(), 2), of_rank(3)),
    (
        lambda: nn.adaptive_avg_pool2d(tensor(1, 2, 3, 4), None, "NCHW", "NHWC"),
        text_of("1, 3, 4, 2"),
    ),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


REFUSED: list[tuple[Build, type[Exception], str]] = [
    (lambda: nn.avg_pool1d(tensor(1, 3, 8), 0), GraphError, "pool_size is 0, expected at least 1"),
    (lambda: nn.max_pool1d(tensor(1, 3, 8), 2, -1), GraphError, "strides is -1"),
    (
        lambda: nn.adaptive_avg_pool2d(tensor(1, 2, 3, 4), (1, 2, 3)),
        GraphError,
        "output_size has 3 values",
    ),
    (
        lambda: nn.max_pool2d(tensor(1, 3, 2, 2), 5),
        GraphError,
        "the padded size of the data of relax.nn.max_pool2d is 2, expected at least 5",
    ),
    (
        lambda: nn.max_pool2d(tensor(1, 3, 2, 2), layout="NCHD"),
        GraphError,
        "layout of relax.nn.max_pool2d is 'NCHD'",
    ),
    (lambda: nn.avg_pool1d(tensor(3, 8)), GraphTypeError, "a tensor of the layout NCW"),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
