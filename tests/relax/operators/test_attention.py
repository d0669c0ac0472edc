"""Attention of queries, keys and values by heads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import relax
from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax.op import nn
from te_sched.relax.operators import attention
from te_sched.relax.operators.registry import operator_of
from tests.relax.operator_tables import (
    Build,
    Case,
    M,
    N,
    Results,
    floats,
    inferred,
    operators_of,
    tensor,
    text_of,
)

torch = pytest.importorskip("torch")
F = torch.nn.functional
ARRAYS: dict[str, Any] = {
    "q": floats(2, 5, 3, 4),
    "k": floats(2, 6, 3, 4),
    "v": floats(2, 6, 3, 8),
    "bias": floats(2, 3, 5, 6),
    "heads": floats(3, 5, 6),
    "pairs": floats(5, 6),
    "lengths": floats(2, 1, 1, 6),
}


def attended(v: Any, bias: Any = None, scale: float = 0.5, first: int | None = None) -> Any:
    """Attention; `first` is the diagonal behind which keys are left out."""
    q, k, w = (v[name].transpose(1, 2) for name in "qkv")
    scores = q @ k.transpose(-1, -2) * scale
    scores = scores if bias is None else scores + bias
    if first is not None:
        kept = torch.ones(5, 6).tril(first).bool()
        scores = scores.masked_fill(~kept, float("-inf"))
    return (scores.softmax(-1) @ w).transpose(1, 2)


CASES: dict[str, Case] = {
    "attention": (lambda v: nn.attention(v["q"], v["k"], v["v"]), lambda v: attended(v)),
    "attention bias": (
        lambda v: nn.attention(v["q"], v["k"], v["v"], v["bias"], 0.3),
        lambda v: attended(v, v["bias"], 0.3),
    ),
    "attention causal": (
        lambda v: nn.attention(v["q"], v["k"], v["v"], causal_mask="BottomRight"),
        lambda v: attended(v, first=1),
    ),
    "attention bias of heads": (
        lambda v: nn.attention(v["q"], v["k"], v["v"], v["heads"]),
        lambda v: attended(v, v["heads"]),
    ),
    "attention bias of pairs": (
        lambda v: nn.attention(v["q"], v["k"], v["v"], v["pairs"]),
        lambda v: attended(v, v["pairs"]),
    ),
    "attention causal of the first": (
        lambda v: nn.attention(v["q"], v["k"], v["v"], causal_mask="TopLeft"),
        lambda v: attended(v, first=0),
    ),
    "attention bias of each": (
        lambda v: nn.attention(v["q"], v["k"], v["v"], v["lengths"]),
        lambda v: attended(v, v["lengths"]),
    ),
}
RESULTS = Results(ARRAYS, CASES, convert=torch.from_numpy, is_exact=False)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_torch(name: str) -> None:
    RESULTS.check(name)


@pytest.mark.parametrize("name", ["attention causal far below 0", "attention causal"])
def test_masks_leave_scores_as_they_are_in_builds(name: str) -> None:
    arrays = {**ARRAYS, "q": 40 * np.abs(ARRAYS["q"]), "k": -10 * np.abs(ARRAYS["k"])}
    cases: dict[str, Case] = {
        "attention causal": CASES["attention causal"],
        "attention causal far below 0": CASES["attention causal of the first"],
    }
    Results(arrays, cases, convert=torch.from_numpy).check(name)


def test_every_operator_is_run() -> None:
    assert operators_of(attention) - RESULTS.operators() == {"attention_var_len"}  # of libraries


def test_scales_are_numbers_of_float32() -> None:
    attrs = nn.attention(*[tensor(2, 5, 3, 4)] * 3, scale=2, window_size=3).attrs
    assert (attrs.scale.dtype, attrs.scale.value, attrs.window_size) == ("float32", 2.0, 3)
    assert nn.attention(*[tensor(2, 5, 3, 4)] * 3).attrs.scale is None


def test_windows_have_no_rule() -> None:
    builder = relax.BlockBuilder()
    call = builder.normalize(nn.attention(*[tensor(2, 5, 3, 4)] * 3, window_size=3))
    with pytest.warns(UserWarning, match="with window_size has no rule"):
        assert operator_of(call.op).legalize(builder, call) is call


def test_sequences_of_several_lengths_have_those_of_queries_by_default() -> None:
    starts, length = tensor(3, dtype="int32"), tensor(dtype="int32")
    args = nn.attention_var_len(*[tensor(2, 5, 3, 4)] * 3, starts, length).args
    assert args[3:] == (starts, length, starts, length)


Q = (2, 5, 3, 4)
INFERRED: list[tuple[Build, str]] = [
    (
        lambda: nn.attention(tensor(2, N, 3, 4), tensor(2, M, 3, 4), tensor(2, M, 3, 8)),
        text_of("2, n, 3, 8"),
    ),
    (
        lambda: nn.attention(*[tensor(*Q)] * 3, tensor(1, 3, 1, 5)),
        text_of("2, 5, 3, 4"),
    ),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


REFUSED: list[tuple[Build, type[Exception], str]] = [
    (
        lambda: nn.attention(tensor(2), tensor(*Q), tensor(*Q)),
        GraphTypeError,
        "a tensor of 4 dimensions",
    ),
    (
        lambda: nn.attention(tensor(1, 5, 3, 4), tensor(*Q), tensor(*Q)),
        GraphError,
        "the batches of query and key",
    ),
    (
        lambda: nn.attention(*[tensor(*Q)] * 3, tensor(5)),
        GraphTypeError,
        "a tensor of 2 to 4 dimensions",
    ),
    (
        lambda: nn.attention(*[tensor(*Q)] * 3, tensor(2, 3, 5, 7)),
        GraphError,
        "the sizes of bias and scores",
    ),
    (lambda: nn.attention(*[tensor(*Q)] * 3, causal_mask="Left"), GraphError, "causal_mask='Left'"),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
