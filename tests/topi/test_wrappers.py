"""Errors of functions that are made of others name the function that the user called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from te_sched import te, topi
from te_sched.errors import DeclarationError

IMAGE = te.placeholder((1, 5, 7, 7), name="IMAGE")
ROWS = te.placeholder((4, 8), name="ROWS")
WIDE = te.placeholder((16, 9), name="WIDE")
VECTOR = te.placeholder((5,), name="VECTOR")

CALLS: list[tuple[Callable[[], Any], str]] = [
    (lambda: topi.nn.dense(ROWS, WIDE), r"topi\.nn\.dense: inner extent of weight is 9, exp"),
    (lambda: topi.nn.dense(VECTOR, WIDE), r"topi\.nn\.dense needs 2 dimensions, VECTOR has "),
    (
        lambda: topi.nn.dense(ROWS, ROWS, VECTOR),
        r"topi\.nn\.dense: product and bias cannot broadcast shapes \(4, 4\) and \(5\)",
    ),
    (lambda: topi.nn.matmul(ROWS, WIDE), r"topi\.nn\.matmul: inner extent of tensor_b is 16"),
    (lambda: topi.nn.conv1d(ROWS, WIDE), r"topi\.nn\.conv1d needs 3 dimensions"),
    (lambda: topi.nn.conv2d(ROWS, IMAGE, 1, 0, 1), r"topi\.nn\.conv2d needs 4 dimensions"),
    (
        lambda: topi.nn.conv2d_transpose_nchw(ROWS, IMAGE, 1, 0, "float32", 0),
        r"topi\.nn\.conv2d_transpose_nchw needs 4 dimensions",
    ),
    (lambda: topi.nn.global_pool(IMAGE, "mean"), r"topi\.nn\.global_pool: unknown pool_type"),
    (lambda: topi.nn.mirror_pad(VECTOR, (1, 1)), r"topi\.nn\.mirror_pad amounts \(1, 1\) do "),
    (lambda: topi.nn.scale_shift_nchw(ROWS, ROWS, ROWS), r"topi\.nn\.scale_shift_nchw needs 4"),
    (lambda: topi.cumsum(ROWS, -9), r"topi\.cumsum: axis -9 is out of range"),
    (lambda: topi.take(ROWS, VECTOR), r"topi\.take: indices has dtype float32, expected int"),
]


@pytest.mark.parametrize(("call", "fault"), CALLS)
def test_the_called_function_is_named(call: Callable[[], Any], fault: str) -> None:
    with pytest.raises(DeclarationError, match=rf"^{fault}") as caught:
        call()
    assert caught.value.args == (caught.value.fault,)
    assert caught.value.about[-1].file == __file__
