"""Padding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import relax
from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax.op import nn
from te_sched.relax.operators import padding
from te_sched.relax.operators.registry import operator_of
from tests.relax.operator_tables import (
    UNKNOWN,
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
    "x": floats(3, 6),
    "i": np.array([5, -7], "int64"),
}
CASES: dict[str, Case] = {
    "pad": (
        lambda v: nn.pad(v["x"], (1, 0, 2, 1), 3.0),
        lambda v: F.pad(v["x"], (2, 1, 1, 0), value=3.0),
    ),
    "pad reflect": (
        lambda v: nn.pad(v["x"], (0, 0, 2, 1), pad_mode="reflect"),
        lambda v: F.pad(v["x"], (2, 1), mode="reflect"),
    ),
    "pad crop": (lambda v: nn.pad(v["x"], (0, 0, -2, 1)), lambda v: F.pad(v["x"], (-2, 1))),
    "pad symmetric": (
        lambda v: nn.pad(v["x"], (0, 0, 2, 1), pad_mode="symmetric"),
        lambda v: np.pad(v["x"], ((0, 0), (2, 1)), mode="symmetric"),
    ),
    "pad replicate": (
        lambda v: nn.pad(v["x"], (0, 0, 7, 2), pad_mode="replicate"),
        lambda v: F.pad(v["x"], (7, 2), mode="replicate"),
    ),
    "pad circular": (
        lambda v: nn.pad(v["x"], (0, 0, 3, 6), pad_mode="circular"),
        lambda v: F.pad(v["x"], (3, 6), mode="circular"),
    ),
    "pad int64": (
        lambda v: nn.pad(v["i"], [1, 2], relax.const((1 << 62) - 1, "int64")),
        lambda v: F.pad(v["i"], (1, 2), value=(1 << 62) - 1),
    ),
}
RESULTS = Results(ARRAYS, CASES, convert=torch.from_numpy, is_exact=False)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_torch(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(padding)


def test_an_unknown_mode_is_left() -> None:
    builder = relax.BlockBuilder()
    call = builder.normalize(nn.pad(tensor(2), (1, 1), pad_mode="nothing"))
    assert operator_of("relax.nn.pad").legalize(builder, call) is call


INFERRED: list[tuple[Build, str]] = [
    (lambda: nn.pad(tensor(N, 2), (1, 1, 0, 2)), text_of("n + 2, 4")),
    (lambda: nn.pad(unknown(2), (1, 1, 0, 2)), of_rank(2)),
    (lambda: nn.pad(unknown(), (1, 1)), UNKNOWN),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


REFUSED: list[tuple[Build, type[Exception], str]] = [
    (lambda: nn.pad(tensor(2, 3), (1, 1)), GraphError, "has 2 widths for 2 dimensions"),
    (lambda: nn.pad(tensor(2), (1, 0.5)), GraphTypeError, r"pad_width .* is \(1, 0.5\), expected"),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
