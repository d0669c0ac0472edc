"""ConvertLayout: each graph computes the same in another layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from te_sched import relax
from te_sched.errors import GraphError
from te_sched.relax import op
from te_sched.relax.op import nn
from te_sched.relax.transform import ConvertLayout
from tests.relax.transform.compared import IMAGE, MATRIX, RNG, check_same, graph_of, operators_of

KERNEL = RNG.uniform(-1, 1, (4, 4, 3, 3)).astype("float32")


SQUARES = relax.const(RNG.uniform(-1, 1, (1, 4, 4, 4)).astype("float32"))


NHWC = {"relax.nn.conv2d": ["NHWC", "OHWI"]}


LAYOUTS: list[tuple[str, Callable[..., Any]]] = [
    ("conv2d of constants", lambda b, x, w: nn.conv2d(x, relax.const(KERNEL))),
    (
        "conv2d and constants",
        lambda b, x, w: op.maximum(b.emit(op.add(b.emit(nn.conv2d(x, w)), SQUARES)), SQUARES),
    ),
    ("conv2d relu", lambda b, x, w: nn.relu(b.emit(nn.conv2d(x, w)))),
    ("conv2d add", lambda b, x, w: op.add(b.emit(nn.conv2d(x, w, padding=1)), x)),
    ("conv2d sum", lambda b, x, w: op.sum(b.emit(nn.conv2d(x, w)), [1, -1])),
    ("conv2d mean all", lambda b, x, w: op.mean(b.emit(nn.conv2d(x, w)))),
    ("conv2d max keepdims", lambda b, x, w: op.max(b.emit(nn.conv2d(x, w)), [1], True)),
    ("conv2d permute", lambda b, x, w: op.permute_dims(b.emit(nn.conv2d(x, w)), [3, 1, 0, 2])),
    (
        "conv2d expand squeeze",
        lambda b, x, w: op.squeeze(b.emit(op.expand_dims(b.emit(nn.conv2d(x, w)), [0, 3])), [0, 3]),
    ),
    (
        "conv2d slice",
        lambda b, x, w: op.strided_slice(b.emit(nn.conv2d(x, w)), [1, 3], [0, 1], [3, 4], [2, 1]),
    ),
    (
        "conv2d concat split",
        lambda b, x, w: op.split(
            b.emit(op.concat([b.emit(nn.conv2d(x, w)), b.emit(nn.conv2d(x, w))], 1)), [1, 5], 1
        ),
    ),
    ("conv2d pool", lambda b, x, w: nn.max_pool2d(b.emit(nn.conv2d(x, w)), 2)),
    ("conv2d softmax", lambda b, x, w: nn.softmax(b.emit(nn.conv2d(x, w)), 1)),
    ("conv2d flip tanh", lambda b, x, w: op.tanh(b.emit(op.flip(b.emit(nn.conv2d(x, w)), 1)))),
    ("conv2d reshape", lambda b, x, w: op.reshape(b.emit(nn.conv2d(x, w)), (2, -1))),
]


@pytest.mark.parametrize("case", LAYOUTS, ids=lambda case: case[0])
def test_convert_layout_computes_the_same(case: tuple[str, Callable[..., Any]]) -> None:
    before = graph_of([IMAGE, KERNEL], case[1])
    after = ConvertLayout(NHWC)(before)
    assert operators_of(after).startswith("permute_dims permute_dims conv2d")
    check_same(before, after, [IMAGE, KERNEL], 2e-5)


def test_convert_layout_leaves_other_blocks() -> None:
    before = graph_of([MATRIX], lambda builder, x: op.tanh(x))
    assert ConvertLayout(NHWC)(before)["main"] is before["main"]


@pytest.mark.parametrize(
    ("layouts", "text"),
    [(["NHWC"], "has 1 desired layouts"), (["NHWC8c", "OHWI"], "is asked for NHWC8c")],
)
def test_convert_layout_rejects(layouts: list[str], text: str) -> None:
    before = graph_of([IMAGE, KERNEL], lambda builder, x, w: nn.conv2d(x, w))
    with pytest.raises(GraphError, match=text):
        ConvertLayout({"relax.nn.conv2d": layouts})(before)
