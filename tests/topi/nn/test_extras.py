"""Less common layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import topi
from te_sched.errors import DeclarationError
from tests.topi.inputs import IMAGES, I, T
from tests.topi.running import Case, case, check, floats


def normalized(x: Any, axes: tuple[int, ...]) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def column(v: Any) -> Any:
    return v[:, None, None]


LOSS = (floats(3, 4, seed=5), np.array([1, 3, 0], "int32"), floats(4, low=0.5))


def losses(p: Any, t: Any, w: Any, ignore: int = 0) -> tuple[Any, Any]:
    kept = (t != ignore).astype("float32")
    return -p[np.arange(len(t)), t] * w[t] * kept, (w[t] * kept).sum()


CASES = [
    case(
        "instance_norm",
        lambda x, g, b: topi.nn.instance_norm(x, g, b, (2, 3)),
        lambda x, g, b: normalized(x, (2, 3)) * column(g) + column(b),
        IMAGES,
        floats(4),
        floats(4, seed=1),
    ),
    case(
        "group_norm",
        lambda x, g, b: topi.nn.group_norm(x, g, b, 2, 1, (2, 3)),
        lambda x, g, b: (
            normalized(x.reshape(2, 2, 2, 6, 6), (2, 3, 4)).reshape(x.shape) * column(g) + column(b)
        ),
        IMAGES,
        floats(4),
        floats(4, seed=1),
    ),
    case(
        "scale_shift_nchwc",
        topi.nn.scale_shift_nchwc,
        lambda x, a, b: x * a[:, None, None] + b[:, None, None],
        floats(1, 2, 3, 3, 4),
        floats(2, 4),
        floats(2, 4, seed=1),
    ),
    case("nll-none", lambda *x: topi.nn.nll_loss(*x, "none", 0), lambda *x: losses(*x)[0], *LOSS),
    case(
        "nll-sum",
        lambda *x: topi.nn.nll_loss(*x, "sum", -1),
        lambda *x: losses(*x, -1)[0].sum(),
        *LOSS,
    ),
    case(
        "nll-mean",
        lambda *x: topi.nn.nll_loss(*x, "mean", 0),
        lambda *x: losses(*x)[0].sum() / losses(*x)[1],
        *LOSS,
    ),
    case(
        "fifo_buffer",
        lambda x, b: topi.nn.fifo_buffer(x, b, 1),
        lambda x, b: np.concatenate([b[:, 2:], x], 1),
        floats(2, 2, 3),
        floats(2, 5, 3),
    ),
]


REFUSED = {"loss": (lambda: topi.nn.nll_loss(T, I, T, "max", 0), "unknown reduction 'max'")}


@pytest.mark.parametrize("one", CASES, ids=str)
def test_computes_what_numpy_computes(one: Case) -> None:
    check(one)


@pytest.mark.parametrize("name", REFUSED)
def test_rejects(name: str) -> None:
    action, message = REFUSED[name]
    with pytest.raises(DeclarationError, match=message):
        action()
