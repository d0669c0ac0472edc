"""Activations: functions of each element, and softmax along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import relax
from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax.op import nn
from te_sched.relax.operators import activations
from te_sched.relax.operators.registry import operator_of
from tests.relax.operator_tables import (
    UNKNOWN,
    Build,
    Case,
    N,
    Results,
    floats,
    inferred,
    ints,
    of_rank,
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
    "special": np.array([-1.0, np.nan, np.inf, -0.0], "float32"),
    "half": floats(3, 4).astype("float16"),
    "large": np.array([[-200, 100, 0], [300, 100, -1]], "float32"),
}
CASES: dict[str, Case] = {
    "relu": (lambda v: nn.relu(v["x"]), lambda v: F.relu(v["x"])),
    "leakyrelu": (lambda v: nn.leakyrelu(v["x"], 0.2), lambda v: F.leaky_relu(v["x"], 0.2)),
    "gelu": (lambda v: nn.gelu(v["x"]), lambda v: F.gelu(v["x"])),
    "gelu_tanh": (lambda v: nn.gelu_tanh(v["x"]), lambda v: F.gelu(v["x"], approximate="tanh")),
    "silu": (lambda v: nn.silu(v["x"]), lambda v: F.silu(v["x"])),
    "softmax": (lambda v: nn.softmax(v["image"], 1), lambda v: v["image"].softmax(1)),
    "log_softmax": (lambda v: nn.log_softmax(v["x"]), lambda v: v["x"].log_softmax(-1)),
    "relu NaN": (lambda v: nn.relu(v["special"]), lambda v: F.relu(v["special"])),
    "leakyrelu default": (lambda v: nn.leakyrelu(v["x"]), lambda v: F.leaky_relu(v["x"])),
    "gelu float16": (lambda v: nn.gelu(v["half"]), lambda v: F.gelu(v["half"])),
    "silu large": (lambda v: nn.silu(v["large"]), lambda v: F.silu(v["large"])),
    "softmax large": (lambda v: nn.softmax(v["large"], 0), lambda v: v["large"].softmax(0)),
    "log_softmax large": (
        lambda v: nn.log_softmax(v["large"], -1),
        lambda v: v["large"].log_softmax(-1),
    ),
}
RESULTS = Results(ARRAYS, CASES, convert=torch.from_numpy, is_exact=False)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_torch(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(activations)


def test_softmax_has_another_rule_in_approximate_builds() -> None:
    builder = relax.BlockBuilder()
    call = builder.normalize(nn.softmax(tensor(2, 3), 0))
    rule = operator_of("relax.nn.softmax").approximate
    assert rule is not None
    assert rule(builder, call).args[0].name_hint == "fast_softmax"


INFERRED: list[tuple[Build, str]] = [
    (lambda: nn.relu(ints(2, N)), text_of("2, n", "int64")),
    (lambda: nn.gelu(unknown(3)), of_rank(3)),
    (lambda: nn.softmax(unknown(), 5), UNKNOWN),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


REFUSED: list[tuple[Build, type[Exception], str]] = [
    (
        lambda: nn.softmax(tensor(2, 3), [0, 1]),
        GraphError,
        r"axis of relax.op.nn.softmax is \[0, 1\]",
    ),
    (lambda: nn.gelu(ints(2)), GraphTypeError, "expected a tensor of floating"),
    (lambda: nn.softmax(tensor(2, 3), 2), GraphError, "axis 2 of relax.nn.softmax is out of range"),
    (lambda: nn.log_softmax(tensor(), 0), GraphError, "the tensor has no axis"),
    (lambda: nn.silu(ints(2)), GraphTypeError, "expected a tensor of floating"),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
