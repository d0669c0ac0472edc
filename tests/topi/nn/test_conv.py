"""Convolutions."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import te
from te_sched.errors import DeclarationError
from te_sched.topi import nn, testing
from tests.topi.layers import FILTER, IMAGE, KERNEL, SIGNAL, nchw, nhwc
from tests.topi.running import Case, case, check, floats, integers


def conv2d(stride: Any, padding: Any, dilation: Any, before: Any, after: Any) -> list[Case]:
    """One convolution in three layouts."""
    steps = (stride, stride) if isinstance(stride, int) else stride
    gaps = (dilation, dilation) if isinstance(dilation, int) else dilation

    def expected(x: Any, k: Any) -> Any:
        return testing.convolution(x, k, steps, before, after, gaps)

    label = f"{stride}-{padding}-{dilation}"
    return [
        case(
            f"nchw-{label}",
            lambda x, k: nn.conv2d_nchw(x, k, stride, padding, dilation),
            expected,
            IMAGE,
            KERNEL,
        ),
        case(
            f"nhwc-{label}",
            lambda x, k: nn.conv2d_nhwc(x, k, stride, padding, dilation),
            lambda x, k: nhwc(expected(nchw(x), k.transpose(3, 2, 0, 1))),
            nhwc(IMAGE),
            KERNEL.transpose(2, 3, 1, 0).copy(),
        ),
        case(
            f"hwcn-{label}",
            lambda x, k: nn.conv2d_hwcn(x, k, stride, padding, dilation),
            lambda x, k: expected(x.transpose(3, 2, 0, 1), k.transpose(3, 2, 0, 1)).transpose(
                2, 3, 1, 0
            ),
            IMAGE.transpose(2, 3, 1, 0).copy(),
            KERNEL.transpose(2, 3, 1, 0).copy(),
        ),
    ]


def depthwise(k: Any) -> Any:
    """The kernel of a grouped convolution from (channel, multiplier, height, width)."""
    return k.reshape(-1, 1, *k.shape[2:])


CASES = [
    *conv2d(1, 0, 1, (0, 0), (0, 0)),
    *conv2d(1, 1, 1, (1, 1), (1, 1)),
    *conv2d((2, 1), (1, 0, 2, 1), (1, 2), (1, 0), (2, 1)),
    *conv2d(2, "SAME", 2, (2, 2), (2, 2)),
    *conv2d(1, "VALID", 1, (0, 0), (0, 0)),
    *conv2d(1, (1, 2), 1, (1, 2), (1, 2)),
    case(
        "conv1d_ncw",
        lambda x, k: nn.conv1d_ncw(x, k, 2, (1, 2), 2),
        lambda x, k: testing.convolution(x, k, (2,), (1,), (2,), (2,)),
        SIGNAL,
        FILTER,
    ),
    case(
        "conv1d_nwc",
        lambda x, k: nn.conv1d_nwc(x, k, 1, "SAME"),
        lambda x, k: testing.convolution(
            x.transpose(0, 2, 1), k.transpose(2, 1, 0), (1,), (1,), (1,), (1,)
        ).transpose(0, 2, 1),
        SIGNAL.transpose(0, 2, 1).copy(),
        FILTER.transpose(2, 1, 0).copy(),
    ),
    case(
        "conv1d_even_kernel",
        lambda x, k: nn.conv1d(x, k, padding="SAME"),
        lambda x, k: testing.convolution(x, k, (1,), (2,), (1,), (1,)),
        SIGNAL,
        floats(5, 3, 4),
    ),
    case(
        "group_conv1d",
        lambda x, k: nn.group_conv1d_ncw(x, k, 1, 1, 1, 3),
        lambda x, k: testing.convolution(x, k, (1,), (1,), (1,), (1,), 3),
        SIGNAL,
        floats(6, 1, 3),
    ),
    case(
        "group_conv2d_nchw",
        lambda x, k: nn.group_conv2d_nchw(x, k, 1, 1, 1, 2),
        lambda x, k: testing.convolution(x, k, (1, 1), (1, 1), (1, 1), (1, 1), 2),
        IMAGE,
        floats(6, 2, 3, 3),
    ),
    case(
        "group_conv2d_nhwc",
        lambda x, k: nn.group_conv2d_nhwc(x, k, 2, 0, 1, 2),
        lambda x, k: nhwc(
            testing.convolution(nchw(x), k.transpose(3, 2, 0, 1), (2, 2), (0, 0), (0, 0), (1, 1), 2)
        ),
        nhwc(IMAGE),
        floats(3, 3, 2, 6),
    ),
    case(
        "conv2d_of_layout",
        lambda x, k: nn.conv2d(x, k, 1, 1, 1, "NCHW"),
        lambda x, k: testing.convolution(x, k, (1, 1), (1, 1), (1, 1), (1, 1)),
        IMAGE,
        KERNEL,
    ),
    case(
        "conv2d_int8",
        lambda x, k: nn.conv2d_nchw(x, k, 1, 0, 1, "int32"),
        lambda x, k: testing.convolution(
            x.astype("int32"), k.astype("int32"), (1, 1), (0, 0), (0, 0), (1, 1)
        ),
        integers(1, 2, 5, 5).astype("int8"),
        integers(3, 2, 3, 3).astype("int8"),
    ),
    case(
        "conv3d",
        lambda x, k: nn.conv3d_ncdhw(x, k, 1, 1, 1),
        lambda x, k: testing.convolution(x, k, (1,) * 3, (1,) * 3, (1,) * 3, (1,) * 3),
        floats(1, 2, 4, 4, 3),
        floats(3, 2, 3, 3, 3),
    ),
    case(
        "depthwise_nchw",
        lambda x, k: nn.depthwise_conv2d_nchw(x, k, 2, "SAME", 2),
        lambda x, k: testing.convolution(x, depthwise(k), (2, 2), (2, 2), (2, 2), (2, 2), 4),
        IMAGE,
        floats(4, 2, 3, 3),
    ),
    case(
        "depthwise_nhwc",
        lambda x, k: nn.depthwise_conv2d_nhwc(x, k, 1, 1),
        lambda x, k: nhwc(
            testing.convolution(
                nchw(x), depthwise(k.transpose(2, 3, 0, 1)), (1, 1), (1, 1), (1, 1), (1, 1), 4
            )
        ),
        nhwc(IMAGE),
        floats(3, 3, 4, 2),
    ),
    case(
        "depthwise_hwio",
        lambda x, k: nn.depthwise_conv2d_nhwc(x, k, 1, 0, kernel_layout="HWIO"),
        lambda x, k: nhwc(
            testing.convolution(
                nchw(x), depthwise(k.transpose(3, 2, 0, 1)), (1, 1), (0, 0), (0, 0), (1, 1), 4
            )
        ),
        nhwc(IMAGE),
        floats(3, 3, 2, 4),
    ),
]


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda x, k: nn.conv2d_nchw(x, k, 1, "SAM", 1), "unknown padding"),
        (lambda x, k: nn.conv2d_nchw(x, k, 1, (1, 2, 3), 1), "2 numbers or 4"),
        (lambda x, k: nn.conv2d_nchw(x, k, (1, 2, 3), 1, 1), "3 numbers for 2 dimensions"),
        (lambda x, k: nn.conv2d_nhwc(x, k, 1, 1, 1), r"number of input channels of kernel \w+ is"),
        (lambda x, k: nn.conv2d(x, k, 1, 1, 1, "NCHWc"), "nn.conv2d: unknown data_layout 'NCHWc'"),
        (
            lambda x, k: nn.group_conv2d_nchw(x, k, 1, 1, 1, 2),
            r"number of input channels of kernel \w+ is",
        ),
        (lambda x, k: nn.conv1d_ncw(x, k), "needs 3 dimensions"),
        (lambda x, k: nn.pool2d(x, 2, 2, 1, 0, "mean"), "nn.pool2d: unknown pool_type 'mean'"),
        (
            lambda x, k: nn.pool2d(x, 2, 2, 1, 0, "max", layout="NCWX"),
            "layout 'NCWX' lacks the dimensions H, W",
        ),
        (lambda x, k: nn.adaptive_pool(x, 2, "max", "NHW4h"), "'NHW4h' lacks the dimensions H, W"),
        (lambda x, k: nn.pad(x, (1, 1)), "for each dimension"),
        (lambda x, k: nn.lrn(x, 4), "odd number"),
        (lambda x, k: nn.softmax(x, 4), "use an axis from -4 to 3"),
    ],
)
def test_layer_rejects(declare: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        declare(te.placeholder((2, 4, 7, 6)), te.placeholder((6, 4, 3, 3)))


@pytest.mark.parametrize("one", CASES, ids=str)
def test_computes_what_numpy_computes(one: Case) -> None:
    check(one)
