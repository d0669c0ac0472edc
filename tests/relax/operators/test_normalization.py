"""Normalizations, and dropout."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import relax
from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax import op
from te_sched.relax.op import nn
from te_sched.relax.operators import normalization
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
    "c4": floats(4, low=1),
    "d4": floats(4, low=0.5),
    "c6": floats(6),
    "d6": floats(6),
    "line": floats(2, 4, 6),
    "far": floats(2, 4, 6) + 999,
    "w": floats(4, 6),
}


def moved(x: Any, mean: Any, variance: Any) -> Any:
    """The new mean and variance of batch_norm, with the variance of the whole."""
    axes = (0, 2, 3)
    return [
        0.9 * mean + 0.1 * x.mean(axes),
        0.9 * variance + 0.1 * x.var(axes, unbiased=False),
    ]


CASES: dict[str, Case] = {
    "batch_norm": (
        lambda v: nn.batch_norm(v["image"], v["c4"], v["d4"], v["d4"], v["c4"], 1),
        lambda v: [
            F.batch_norm(v["image"], None, None, v["c4"], v["d4"], training=True),
            *moved(v["image"], v["d4"], v["c4"]),
        ],
    ),
    "layer_norm": (
        lambda v: nn.layer_norm(v["x"], v["c6"], v["d6"], -1),
        lambda v: F.layer_norm(v["x"], (6,), v["c6"], v["d6"]),
    ),
    "group_norm": (
        lambda v: nn.group_norm(v["image"], v["c4"], v["d4"], 2, 1, [2, 3]),
        lambda v: F.group_norm(v["image"], 2, v["c4"], v["d4"]),
    ),
    "rms_norm": (
        lambda v: nn.rms_norm(v["x"], v["c6"], -1, 1e-5),
        lambda v: F.rms_norm(v["x"], (6,), v["c6"], 1e-5),
    ),
    "layer_norm float16": (
        lambda v: nn.layer_norm(*[op.astype(v[name], "float16") for name in ("x", "c6", "d6")], -1),
        lambda v: F.layer_norm(v["x"], (6,), v["c6"], v["d6"]),
    ),
    "layer_norm axes": (
        lambda v: nn.layer_norm(v["line"], v["w"], v["w"], [1, 2], 1e-3),
        lambda v: F.layer_norm(v["line"], (4, 6), v["w"], v["w"], 1e-3),
    ),
    "layer_norm without scale": (
        lambda v: nn.layer_norm(v["x"], v["c6"], v["d6"], -1, scale=False),
        lambda v: F.layer_norm(v["x"], (6,), None, v["d6"]),
    ),
    "layer_norm without center": (
        lambda v: nn.layer_norm(v["x"], v["c6"], v["d6"], -1, center=False),
        lambda v: F.layer_norm(v["x"], (6,), v["c6"]),
    ),
    "group_norm plain": (
        lambda v: nn.group_norm(v["line"], v["c4"], v["d4"], 2, 1, 2, center=False, scale=False),
        lambda v: F.group_norm(v["line"], 2),
    ),
    "rms_norm axes": (
        lambda v: nn.rms_norm(v["line"], v["w"], [-2, -1]),
        lambda v: F.rms_norm(v["line"], (4, 6), v["w"], 1e-5),
    ),
    "batch_norm plain": (
        lambda v: relax.TupleGetItem(
            nn.batch_norm(v["line"], *[v["c4"]] * 4, 1, 1e-3, center=False, scale=False), 0
        ),
        lambda v: F.batch_norm(v["line"], None, None, training=True, eps=1e-3),
    ),
}
RESULTS = Results(ARRAYS, CASES, convert=torch.from_numpy, is_exact=False)
# Of elements far from 0, of which TVM's rules lose the digits.
FAR: dict[str, Case] = {
    "layer_norm": (
        lambda v: nn.layer_norm(v["far"], v["c6"], v["d6"], -1),
        lambda v: F.layer_norm(v["far"].double(), (6,), v["c6"].double(), v["d6"].double()),
    ),
    "group_norm": (
        lambda v: nn.group_norm(v["far"], v["c4"], v["d4"], 2, 1, 2),
        lambda v: F.group_norm(v["far"].double(), 2, v["c4"].double(), v["d4"].double()),
    ),
}


@pytest.mark.filterwarnings("ignore:LegalizeOps computes relax.nn.batch_norm")
@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_torch(name: str) -> None:
    RESULTS.check(name)


def test_builds_keep_the_digits_of_elements_far_from_zero() -> None:
    results = Results(ARRAYS, FAR, convert=torch.from_numpy)
    for name in FAR:
        results.check(name)


def test_every_operator_is_run() -> None:
    assert operators_of(normalization) - RESULTS.operators() == {"dropout"}


@pytest.mark.parametrize("name", ["inference", "training"])
def test_batch_norm_has_rules_of_inference_and_training(name: str) -> None:
    """The moving mean and variance stay in inference; in training they become those of the data."""
    x, parameters = tensor(2, 3, 4), [tensor(3) for _ in range(4)]
    builder = relax.BlockBuilder()
    with builder.function("main", [x, *parameters]):
        call = builder.normalize(nn.batch_norm(x, *parameters, 1))
        rule = getattr(operator_of("relax.nn.batch_norm"), name)
        normalized, *moved = rule(builder, call).fields
        builder.emit_func_output(x)
    assert (moved == parameters[2:]) is (name == "inference")
    assert isinstance(normalized, relax.Var) is (name == "training")


def test_dropout_has_no_rule() -> None:
    builder = relax.BlockBuilder()
    call = builder.normalize(nn.dropout(tensor(2), 0.25))
    assert call.attrs.rate == 0.25
    with pytest.warns(UserWarning, match="dropout has no rule"):
        assert operator_of("relax.nn.dropout").legalize(builder, call) is call


X = tensor(2, 3, 4, 5)
NHWC = (0, 2, 3, 1)
PLANS: list[tuple[Build, Any, Any, dict[str, Any]]] = [
    (lambda: nn.batch_norm(X, *[tensor(3)] * 4, 1), NHWC, [NHWC, None, None], {"axis": 3}),
    (lambda: nn.layer_norm(X, tensor(5), tensor(5), [-1]), NHWC, NHWC, {"axes": (2,)}),
    (lambda: nn.dropout(X), NHWC, [NHWC, NHWC], {}),
]


@pytest.mark.parametrize(("build", "inputs", "output", "attrs"), PLANS)
def test_orders_of_dimensions(
    build: Build, inputs: Any, output: Any, attrs: dict[str, Any]
) -> None:
    plan = followed(build(), inputs)
    assert plan is not None
    assert (plan.inputs, plan.output, plan.attrs) == ({0: inputs}, output, attrs)


INFERRED: list[tuple[Build, str]] = [
    (lambda: nn.layer_norm(tensor(2, N), tensor(M), tensor(M), -1), of_rank(2)),
    (lambda: nn.rms_norm(tensor(2, N), tensor(N)), text_of("2, n")),
    (lambda: nn.group_norm(tensor(2, N, 3), tensor(N), tensor(N), 2, 1, 2), text_of("2, n, 3")),
    (
        lambda: nn.batch_norm(unknown(4), *[tensor(3)] * 4, 1),
        f"R.Tuple({of_rank(4)}, {text_of('3,')}, {text_of('3,')})",
    ),
    (
        lambda: nn.batch_norm(tensor(2, N), *[tensor(M)] * 4, 1),
        f"R.Tuple({of_rank(2)}, {of_rank(1)}, {of_rank(1)})",
    ),
    (lambda: nn.dropout(unknown(2)), f"R.Tuple({of_rank(2)}, {of_rank(2)})"),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


REFUSED: list[tuple[Build, type[Exception], str]] = [
    (
        lambda: nn.rms_norm(tensor(2, 3), tensor(3, dtype="float16")),
        GraphTypeError,
        "a tensor of dtype float32",
    ),
    (lambda: nn.rms_norm(tensor(2, 3), tensor(2, 3)), GraphTypeError, "a tensor of 1 dimensions"),
    (
        lambda: nn.group_norm(tensor(2, 4), tensor(4), tensor(4), 2, 1, 1),
        GraphError,
        "is the axis of channels",
    ),
    (
        lambda: nn.group_norm(tensor(2, 4, 5), tensor(4), tensor(4), 3, 1, 2),
        GraphError,
        "has 3 groups of",
    ),
    (
        lambda: nn.group_norm(tensor(2, 4, 5), tensor(4), tensor(4), 0, 1, 2),
        GraphError,
        "group_norm has 0 groups",
    ),
    (
        lambda: nn.layer_norm(tensor(2, 3), tensor(4), tensor(4), -1),
        GraphError,
        "the sizes of the tensor and its parameters of relax.nn.layer_norm differ: 3 and 4",
    ),
    (
        lambda: nn.layer_norm(ints(2, 3), tensor(3), tensor(3), -1),
        GraphTypeError,
        "argument 0 of relax.nn.layer_norm .* floating",
    ),
    (lambda: nn.rms_norm(tensor(2, 3), tensor(3), 2), GraphError, "axis 2 of relax.nn.rms_norm"),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
