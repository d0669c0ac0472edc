"""Convolutions and transposed convolutions of one to three dimensions."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from te_sched import relax
from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax.op import nn
from te_sched.relax.operators import convolution
from te_sched.relax.operators.registry import operator_of
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

torch = pytest.importorskip("torch")
F = torch.nn.functional
ARRAYS: dict[str, Any] = {
    "line": floats(2, 4, 9),
    "image": floats(2, 4, 6, 7),
    "last": floats(2, 6, 7, 4),  # with the channels at the end
    "box": floats(1, 2, 4, 5, 6),
    "w1": floats(6, 2, 3),
    "w2": floats(6, 4, 3, 2),
    "w2g": floats(4, 1, 3, 3),
    "w2last": floats(3, 2, 4, 6),
    "w3": floats(3, 2, 2, 3, 2),
    "t1": floats(4, 3, 3),
    "t2": floats(4, 3, 3, 2),
    "t3": floats(2, 3, 2, 3, 2),
}
CASES: dict[str, Case] = {
    "conv1d": (
        lambda v: nn.conv1d(v["line"], v["w1"], strides=2, padding=[1, 2], groups=2),
        lambda v: F.conv1d(F.pad(v["line"], (1, 2)), v["w1"], stride=2, groups=2),
    ),
    "conv2d": (
        lambda v: nn.conv2d(v["image"], v["w2"], strides=(2, 1), padding=(1, 0), dilation=(1, 2)),
        lambda v: F.conv2d(v["image"], v["w2"], stride=(2, 1), padding=(1, 0), dilation=(1, 2)),
    ),
    "conv2d groups": (
        lambda v: nn.conv2d(v["image"], v["w2g"], padding=1, groups=4),
        lambda v: F.conv2d(v["image"], v["w2g"], padding=1, groups=4),
    ),
    "conv2d NHWC": (
        lambda v: nn.conv2d(v["last"], v["w2last"], data_layout="NHWC", kernel_layout="HWIO"),
        lambda v: F.conv2d(v["last"].permute(0, 3, 1, 2), v["w2last"].permute(3, 2, 0, 1)).permute(
            0, 2, 3, 1
        ),
    ),
    "conv3d": (
        lambda v: nn.conv3d(v["box"], v["w3"], padding=1),
        lambda v: F.conv3d(v["box"], v["w3"], padding=1),
    ),
    "conv1d_transpose": (
        lambda v: nn.conv1d_transpose(v["line"], v["t1"], strides=2, padding=1, output_padding=1),
        lambda v: F.conv_transpose1d(v["line"], v["t1"], stride=2, padding=1, output_padding=1),
    ),
    "conv2d_transpose": (
        lambda v: nn.conv2d_transpose(v["image"], v["t2"], strides=(2, 3), padding=1),
        lambda v: F.conv_transpose2d(v["image"], v["t2"], stride=(2, 3), padding=1),
    ),
    "conv3d_transpose": (
        lambda v: nn.conv3d_transpose(v["box"], v["t3"], (1, 2, 3), 1, (0, 1, 2), groups=2),
        lambda v: F.conv_transpose3d(v["box"], v["t3"], None, (1, 2, 3), 1, (0, 1, 2), 2),
    ),
    "conv2d_transpose groups": (
        lambda v: nn.conv2d_transpose(
            v["image"], v["t2"], (2, 1), 1, (1, 0), dilation=(1, 2), groups=2
        ),
        lambda v: F.conv_transpose2d(v["image"], v["t2"], None, (2, 1), 1, (1, 0), 2, (1, 2)),
    ),
}
RESULTS = Results(ARRAYS, CASES, convert=torch.from_numpy, is_exact=False)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_torch(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(convolution)


DEFAULTS: list[tuple[Any, dict[str, object]]] = [
    (nn.conv1d, {"strides": 1, "padding": 0, "dilation": 1, "data_layout": "NCW"}),
    (nn.conv2d, {"strides": (1, 1), "padding": (0, 0), "kernel_layout": "OIHW"}),
    (nn.conv3d, {"dilation": (1, 1, 1), "kernel_layout": "OIDHW", "out_layout": None}),
    (nn.conv1d_transpose, {"output_padding": 0, "kernel_layout": "IOW"}),
    (nn.conv2d_transpose, {"output_padding": (0, 0), "kernel_layout": "IOHW"}),
    (nn.conv3d_transpose, {"output_padding": (0, 0, 0), "kernel_layout": "IODHW"}),
]


@pytest.mark.parametrize(("function", "defaults"), DEFAULTS)
def test_defaults_are_those_of_the_rank(function: Any, defaults: dict[str, object]) -> None:
    parameters = inspect.signature(function).parameters
    assert {name: parameters[name].default for name in defaults} == defaults


def test_attributes_have_a_number_for_each_dimension() -> None:
    call = nn.conv2d(tensor(1, 3, 8, 8), tensor(4, 3, 3, 3), strides=2, padding=(1, 0))
    values = {name: [int(one) for one in call.attrs[name]] for name in ("strides", "padding")}
    assert values == {"strides": [2, 2], "padding": [1, 0, 1, 0]}
    assert (call.attrs.out_layout, call.attrs.out_dtype) == ("NCHW", "")


UNWRITTEN: list[Build] = [
    lambda: nn.conv1d(tensor(1, 4, 8), tensor(4, 4, 3), out_layout="NWC"),
    lambda: nn.conv1d_transpose(tensor(1, 8, 4), tensor(4, 4, 3), data_layout="NWC"),
]


@pytest.mark.parametrize("build", UNWRITTEN)
def test_layouts_without_a_rule_are_left(build: Build) -> None:
    builder = relax.BlockBuilder()
    call = builder.normalize(build())
    rule = operator_of(call.op).legalize
    assert rule is not None
    with pytest.warns(UserWarning, match="has no rule"):
        assert rule(builder, call) is call


INFERRED: list[tuple[Build, str]] = [
    (lambda: nn.conv2d(tensor(1, 3, N, 8), tensor(4, 3, 3, 3), padding=1), text_of("1, 4, n, 8")),
    (lambda: nn.conv2d(unknown(4), tensor(4, 3, 3, 3)), of_rank(4)),
    (
        lambda: nn.conv1d(tensor(1, 2, 8, 4), tensor(4, 8, 3), data_layout="NCW4c"),
        text_of("1, 1, 6, 4"),
    ),
    (
        lambda: nn.conv2d_transpose(tensor(1, 3, N, 8), tensor(3, 4, 2, 2), strides=2),
        text_of("1, 4, n * 2, 16"),
    ),
    (lambda: nn.conv1d_transpose(unknown(), tensor(3, 4, 2)), of_rank(3)),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


X, W = tensor(1, 3, 8), tensor(4, 3, 3)
REFUSED: list[tuple[Build, type[Exception], str]] = [
    (
        lambda: nn.conv2d(tensor(1, 3, 8, 8), tensor(4, 3, 3, 3), strides=(1, 1, 1)),
        GraphError,
        "strides has 3 values, expected 1 or 2",
    ),
    (lambda: nn.conv1d(X, W, groups=0), GraphError, "has 0 groups"),
    (lambda: nn.conv1d(X, W, strides=0), GraphError, "strides is 0, expected at least 1"),
    (lambda: nn.conv1d_transpose(X, W, dilation=0), GraphError, "dilation is 0, expected at least"),
    (lambda: nn.conv1d_transpose(X, W, output_padding=-1), GraphError, "output_padding is -1"),
    (
        lambda: nn.conv1d(tensor(1, 4, 8), tensor(5, 2, 3), groups=2),
        GraphError,
        "has 2 groups of .*5.* output channels",
    ),
    (
        lambda: nn.conv1d(tensor(1, 3, 8), tensor(4, 2, 3)),
        GraphError,
        "the input channels of relax.nn.conv1d differ",
    ),
    (
        lambda: nn.conv1d(tensor(1, 3, 8), tensor(4, 3, 3), data_layout="NCH"),
        GraphError,
        "data_layout of relax.nn.conv1d is 'NCH'",
    ),
    (
        lambda: nn.conv1d(tensor(3, 8), tensor(4, 3, 3)),
        GraphTypeError,
        "a tensor of the layout NCW",
    ),
    (
        lambda: nn.conv1d_transpose(tensor(1, 3, 8), tensor(3, 4, 3), output_padding=1),
        GraphError,
        "is not less than its stride",
    ),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
