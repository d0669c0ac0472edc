"""Patterns that libraries share."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import relax
from te_sched.relax.backend import patterns

IMAGE, KERNEL = (relax.TensorStructInfo(one, "float32") for one in ([1, 4, 8, 8], [4, 4, 3, 3]))
MATRIX = relax.TensorStructInfo([4, 4], "float32")
X, W = relax.Var("x", MATRIX), relax.Var("w", MATRIX)


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("activation", [None, "relax.nn.relu"])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_product_matches_what_it_is_made_for(
    with_bias: bool, activation: str | None, transposed: bool
) -> None:
    pattern, parts = patterns.make_matmul_pattern(with_bias, activation, transposed)
    value: Any = relax.op.matmul(X, relax.op.permute_dims(W) if transposed else W)
    value = relax.op.add(value, X) if with_bias else value
    value = relax.op.nn.relu(value) if activation else value
    assert pattern.match(value)
    assert not pattern.match(relax.op.exp(value))
    assert ("bias" in parts) == with_bias


def test_residual_blocks_match_in_both_orders() -> None:
    convolution = patterns.make_conv2d_pattern(with_bias=True)
    pattern, _ = patterns.make_residual_block_pattern(convolution, "relax.add", "relax.nn.relu")
    x, w = relax.Var("x", IMAGE), relax.Var("w", KERNEL)
    value = relax.op.add(relax.op.nn.conv2d(x, w, padding=1), x)
    for residual in (relax.op.add(value, x), relax.op.add(x, value)):
        assert pattern.match(relax.op.nn.relu(residual))
    assert not pattern.match(relax.op.nn.relu(relax.op.multiply(value, x)))


@pytest.mark.parametrize(("with_bias", "count"), [(False, 3), (True, 4)])
def test_attention_has_a_bias_if_it_is_asked_for(with_bias: bool, count: int) -> None:
    pattern, parts = patterns.make_attention_pattern(with_bias)
    size = relax.TensorStructInfo([1, 4, 2, 8], "float32")
    q, k, v = (relax.Var(name, size) for name in "qkv")
    bias = relax.Var("b", relax.TensorStructInfo([1, 2, 4, 4], "float32"))
    call = relax.op.nn.attention(q, k, v, *([bias] if with_bias else []))
    assert pattern.match(call)
    assert str(pattern).count("*") == count
    assert parts
