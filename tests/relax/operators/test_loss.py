"""Losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax.op import nn
from te_sched.relax.operators import loss
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
    "log": np.log(floats(3, 6, low=0.1, high=1)),
    "labels": np.array([0, 5, 2], "int64"),
    "classes": np.array([[1, 3, 0], [2, 1, 1]], "int64"),
    "dense": np.log(floats(2, 4, 3, low=0.1, high=1)),
    "weights": floats(6, low=0.5, high=1),
    "padded": np.array([0, -1, 2], "int64"),
    "label": np.array(2, "int64"),
}
CASES: dict[str, Case] = {
    "cross_entropy_with_logits": (
        lambda v: nn.cross_entropy_with_logits(v["log"], v["x"]),
        lambda v: -(v["log"] * v["x"]).sum() / 3,
    ),
    "nll_loss": (
        lambda v: nn.nll_loss(v["log"], v["labels"], v["weights"]),
        lambda v: F.nll_loss(v["log"], v["labels"], v["weights"]),
    ),
    "nll_loss ignored": (
        lambda v: nn.nll_loss(v["dense"], v["classes"], reduction="none", ignore_index=3),
        lambda v: F.nll_loss(v["dense"], v["classes"], reduction="none", ignore_index=3),
    ),
    "cross_entropy_with_logits row": (
        lambda v: nn.cross_entropy_with_logits(v["weights"], v["weights"]),
        lambda v: -(v["weights"] ** 2).sum(),
    ),
    "nll_loss sum": (
        lambda v: nn.nll_loss(v["log"], v["labels"], v["weights"], "sum", 5),
        lambda v: F.nll_loss(v["log"], v["labels"], v["weights"], reduction="sum", ignore_index=5),
    ),
    "nll_loss mean ignored": (
        lambda v: nn.nll_loss(v["log"], v["padded"], v["weights"], "mean", -1),
        lambda v: F.nll_loss(v["log"], v["padded"], v["weights"], ignore_index=-1),
    ),
    "nll_loss of one": (
        lambda v: nn.nll_loss(v["weights"], v["label"]),
        lambda v: F.nll_loss(v["weights"], v["label"]),
    ),
}
RESULTS = Results(ARRAYS, CASES, convert=torch.from_numpy, is_exact=False)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_torch(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(loss)


INFERRED: list[tuple[Build, str]] = [
    (lambda: nn.nll_loss(tensor(N, 5), ints(N), reduction="none"), text_of("n,")),
    (lambda: nn.nll_loss(unknown(4), ints(2, 3, 3), reduction="none"), of_rank(3)),
    (lambda: nn.nll_loss(tensor(5), ints(), reduction="none"), text_of("")),
    (lambda: nn.nll_loss(unknown(), unknown(dtype="int64")), text_of("")),
    (lambda: nn.nll_loss(unknown(), unknown(dtype="int64"), reduction="none"), UNKNOWN),
    (lambda: nn.cross_entropy_with_logits(tensor(N, 3), unknown(2)), text_of("")),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


REFUSED: list[tuple[Build, type[Exception], str]] = [
    (
        lambda: nn.cross_entropy_with_logits(tensor(2, 3), tensor(2)),
        GraphTypeError,
        "a tensor of 2 dimensions",
    ),
    (lambda: nn.nll_loss(tensor(2, 3), tensor(2)), GraphTypeError, "a tensor of integers"),
    (lambda: nn.nll_loss(tensor(), ints()), GraphTypeError, "a tensor of at least 1 dimension"),
    (lambda: nn.nll_loss(tensor(2, 3), ints(2, 3)), GraphTypeError, "a tensor of 1 dimensions"),
    (
        lambda: nn.nll_loss(tensor(2, 3), ints(2), tensor(3, 3)),
        GraphTypeError,
        "a tensor of 1 dimension",
    ),
    (
        lambda: nn.nll_loss(tensor(2, 3), ints(2), tensor(4)),
        GraphError,
        "the numbers of classes of relax.nn.nll_loss differ",
    ),
    (
        lambda: nn.nll_loss(tensor(2, 3), ints(2), reduction="max"),
        GraphError,
        "has reduction='max'",
    ),
    (
        lambda: nn.nll_loss(tensor(2, 3), ints(4)),
        GraphError,
        "the sizes of predictions and targets of relax.nn.nll_loss differ: 2 and 4",
    ),
    (
        lambda: nn.cross_entropy_with_logits(tensor(2, 3), tensor(2, 4)),
        GraphError,
        "the sizes of relax.nn.cross_entropy_with_logits differ: 3 and 4",
    ),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
