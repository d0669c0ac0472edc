"""Gradients of pools."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.topi import nn
from tests.topi.running import Case, case, check, floats


def gradient(grads: Any, data: Any, kernel: int, stride: int, padding: int, kind: str) -> Any:
    """Each element of the pool gives its gradient to its window."""
    border = [(0, 0), (0, 0), (padding, padding), (padding, padding)]
    fill = -np.inf if kind == "max" else 0.0
    padded = np.pad(data, border, constant_values=fill)
    out = np.zeros_like(padded)
    for n, c, y, x in np.ndindex(grads.shape):
        rows, columns = (
            slice(y * stride, y * stride + kernel),
            slice(x * stride, x * stride + kernel),
        )
        window = padded[n, c, rows, columns]
        if kind == "max":
            at = np.unravel_index(window.argmax(), window.shape)
            out[n, c, rows, columns][at] += grads[n, c, y, x]
        else:
            out[n, c, rows, columns] += grads[n, c, y, x] / kernel**2
    inner = slice(padding, -padding or None)
    return out[:, :, inner, inner]


CASES = [
    case(
        f"{kind}-{kernel}-{stride}-{padding}",
        lambda g, x, k=kernel, s=stride, p=padding, kind=kind: nn.pool_grad(g, x, k, s, p, kind),
        lambda g, x, k=kernel, s=stride, p=padding, kind=kind: gradient(g, x, k, s, p, kind),
        floats(1, 2, out, out),
        floats(1, 2, 6, 6, seed=1),
    )
    for kind in ("max", "avg")
    for kernel, stride, padding, out in ((2, 2, 0, 3), (3, 2, 1, 3), (3, 1, 0, 4))
]


@pytest.mark.parametrize("one", CASES, ids=str)
def test_gradients_are_those_of_the_windows(one: Case) -> None:
    check(one)
