"""Layers compute what their definitions in numpy compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import te, topi
from te_sched.errors import DeclarationError
from te_sched.topi import nn, testing
from tests.topi import reference
from tests.topi.running import Case, case, check, floats, integers

IMAGE, KERNEL = floats(2, 4, 7, 6), floats(6, 4, 3, 3)
SIGNAL, FILTER = floats(1, 3, 8), floats(5, 3, 3)


def nhwc(x: Any) -> Any:
    return x.transpose(0, 2, 3, 1).copy()


def nchw(x: Any) -> Any:
    return x.transpose(0, 3, 1, 2)


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


CONVOLUTIONS = [
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
    *[
        case(
            f"transposed-{stride}-{padding}-{extra}",
            lambda x, k, a=(stride, padding, extra): nn.conv2d_transpose_nchw(
                x, k, (a[0], a[0]), (a[1], a[1]), "float32", (a[2], a[2])
            ),
            lambda x, k, a=(stride, padding, extra): reference.transposed(x, k, *a),
            floats(1, 4, 5, 3),
            floats(4, 3, 3, 3),
        )
        for stride, padding, extra in ((1, 0, 0), (2, 1, 0), (2, 1, 1))
    ],
    case(
        "transposed_1d",
        lambda x, k: nn.conv1d_transpose_ncw(x, k, (2,), (1,), "float32", (0,)),
        lambda x, k: reference.transposed(x, k, 2, 1, 0),
        SIGNAL,
        floats(3, 2, 3),
    ),
]


def pool(*given: Any, **more: Any) -> Case:
    window, stride, dilation, padding, kind = given
    return case(
        f"pool2d-{given}-{more}",
        lambda x: nn.pool2d(x, *given, **more),
        lambda x: reference.pooling(x, window, stride, dilation, padding, kind, **more),
        IMAGE,
    )


POOLS = [
    pool((2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max"),
    pool((3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "max"),
    pool((3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "avg"),
    pool((3, 2), (1, 2), (1, 1), (1, 0, 2, 1), "avg", count_include_pad=False),
    pool((3, 3), (2, 2), (1, 1), (0, 0, 0, 0), "avg", ceil_mode=True),
    pool((3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "avg", ceil_mode=True, count_include_pad=False),
    pool((2, 2), (1, 1), (2, 3), (1, 1, 1, 1), "avg", count_include_pad=False),
    pool((2, 2), (2, 2), (2, 2), (0, 1, 2, 0), "max"),
    case(
        "pool2d_nhwc",
        lambda x: nn.pool2d(x, (3, 3), (2, 2), (1, 1), (1, 1), "max", layout="NHWC"),
        lambda x: nhwc(reference.pooling(nchw(x), (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "max")),
        nhwc(IMAGE),
    ),
    case(
        "pool2d_nchw4c",
        lambda x: nn.pool2d(x, 3, 2, 1, 1, "avg", layout="NCHW4c"),
        lambda x: np.stack(
            [
                reference.pooling(x[..., c], (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "avg")
                for c in range(4)
            ],
            -1,
        ),
        floats(2, 3, 6, 5, 4),
    ),
    case(
        "adaptive_nchw4c",
        lambda x: nn.adaptive_pool(x, (3, 2), "avg", "NCHW4c"),
        lambda x: np.stack([reference.adaptive(x[..., c], (3, 2), "avg") for c in range(4)], -1),
        floats(2, 3, 6, 5, 4),
    ),
    case(
        "pool1d",
        lambda x: nn.pool1d(x, 3, 2, 1, (1, 1), "avg"),
        lambda x: reference.pooling(x, (3,), (2,), (1,), (1, 1), "avg"),
        SIGNAL,
    ),
    case(
        "pool3d",
        lambda x: nn.pool3d(x, (2, 2, 2), (2, 1, 2), (1, 1, 1), (0, 0, 0, 1, 0, 1), "max"),
        lambda x: reference.pooling(x, (2, 2, 2), (2, 1, 2), (1, 1, 1), (0, 0, 0, 1, 0, 1), "max"),
        floats(1, 2, 5, 4, 3),
    ),
    *[
        case(
            f"adaptive-{size}-{kind}",
            lambda x, size=size, kind=kind: nn.adaptive_pool(x, size, kind),
            lambda x, size=size, kind=kind: reference.adaptive(x, size, kind),
            IMAGE,
        )
        for size in ((1, 1), (3, 2), (4, 6))
        for kind in ("max", "avg")
    ],
    case(
        "adaptive_1d",
        lambda x: nn.adaptive_pool1d(x, 3, "avg"),
        lambda x: reference.adaptive(x, (3,), "avg"),
        SIGNAL,
    ),
    case(
        "global_avg",
        lambda x: nn.global_pool(x, "avg"),
        lambda x: x.mean((2, 3), keepdims=True),
        IMAGE,
    ),
    case(
        "global_max_nhwc",
        lambda x: nn.global_pool(x, "max", "NHWC"),
        lambda x: x.max((1, 2), keepdims=True),
        nhwc(IMAGE),
    ),
]

A, GAMMA, BETA = floats(4, 6), floats(6), floats(6, seed=1)
MEAN, VARIANCE = floats(4), floats(4, low=0.5)


def column(x: Any) -> Any:
    return x[:, None, None]


def batch_norm(x: Any, g: Any, b: Any, m: Any, v: Any) -> Any:
    return (x - column(m)) / np.sqrt(column(v) + 1e-5) * column(g) + column(b), m, v


def batch_norm_training(x: Any, g: Any, b: Any, m: Any, v: Any) -> Any:
    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
    return batch_norm(x, g, b, mean, variance)[0], 0.8 * m + 0.2 * mean, 0.8 * v + 0.2 * variance


OTHERS = [
    case("dense", nn.dense, lambda x, w: x @ w.T, A, floats(5, 6)),
    case("dense_bias", nn.dense, lambda x, w, b: x @ w.T + b, A, floats(5, 6), floats(5)),
    case(
        "dense_int8",
        lambda x, w: nn.dense(x, w, out_dtype="int32"),
        lambda x, w: x.astype("int32") @ w.astype("int32").T,
        integers(4, 6, low=-100, high=100).astype("int8"),
        integers(5, 6, low=-100, high=100).astype("int8"),
    ),
    case("nn_matmul", nn.matmul, np.matmul, A, floats(6, 5)),
    case(
        "nn_matmul_tt",
        lambda a, b: nn.matmul(a, b, None, None, True, True),
        lambda a, b: a.T @ b.T,
        A,
        floats(5, 4),
    ),
    case(
        "batch_matmul",
        nn.batch_matmul,
        lambda a, b: a @ b.transpose(0, 2, 1),
        floats(2, 3, 4),
        floats(2, 5, 4),
    ),
    case(
        "batch_matmul_of_one",
        lambda a, b: nn.batch_matmul(a, b, transpose_a=True, transpose_b=False),
        lambda a, b: a.transpose(0, 2, 1) @ b,
        floats(1, 4, 3),
        floats(2, 4, 5),
    ),
    case("bias_add", nn.bias_add, lambda x, b: x + column(b), IMAGE, floats(4)),
    case("bias_add_last", lambda x, b: nn.bias_add(x, b, -1), np.add, A, GAMMA),
    case("pad", lambda x: nn.pad(x, (1, 2)), lambda x: np.pad(x, ((1, 1), (2, 2))), A),
    case(
        "pad_value",
        lambda x: nn.pad(x, (1, 2), (0, 1), 2.5),
        lambda x: np.pad(x, ((1, 0), (2, 1)), constant_values=2.5),
        A,
    ),
    *[
        case(
            f"mirror-{mode}",
            lambda x, mode=mode: nn.mirror_pad(x, (1, 2), (2, 1), mode.upper()),
            lambda x, mode=mode: np.pad(x, ((1, 2), (2, 1)), mode),
            A,
        )
        for mode in ("symmetric", "reflect")
    ],
    case(
        "dilate",
        lambda x: nn.dilate(x, (2, 3)),
        lambda x: np.kron(x, [[1, 0, 0], [0, 0, 0]])[:-1, :-2],
        A,
    ),
    *[
        case(
            f"{name}-{axis}",
            lambda x, name=name, axis=axis: getattr(nn, name)(x, axis),
            lambda x, name=name, axis=axis: (np.log if name == "log_softmax" else np.asarray)(
                testing.softmax_python(x, axis)
            ),
            array,
        )
        for name in ("softmax", "log_softmax")
        for array, axis in ((A, -1), (A, 0), (IMAGE, 1))
    ],
    case(
        "batch_norm", nn.batch_norm, batch_norm, IMAGE, MEAN, VARIANCE, floats(4, seed=2), VARIANCE
    ),
    case(
        "batch_norm_training",
        lambda *x: nn.batch_norm(*x, training=True, momentum=0.2),
        batch_norm_training,
        IMAGE,
        MEAN,
        VARIANCE,
        floats(4, seed=2),
        VARIANCE,
    ),
    case(
        "batch_norm_plain",
        lambda *x: nn.batch_norm(*x, axis=-1, epsilon=0.1, center=False, scale=False)[0],
        lambda x, g, b, m, v: (x - m) / np.sqrt(v + 0.1),
        floats(3, 4),
        *[MEAN] * 3,
        VARIANCE,
    ),
    case(
        "scale_shift_nchw",
        nn.scale_shift_nchw,
        lambda x, s, t: x * column(s) + column(t),
        IMAGE,
        MEAN,
        VARIANCE,
    ),
    case(
        "scale_shift_nhwc",
        nn.scale_shift_nhwc,
        lambda x, s, t: x * s + t,
        nhwc(IMAGE),
        MEAN,
        VARIANCE,
    ),
    case(
        "layer_norm",
        lambda x, g, b: nn.layer_norm(x, g, b, [1]),
        lambda x, g, b: reference.normalized(x, (1,)) * g + b,
        A,
        GAMMA,
        BETA,
    ),
    case(
        "layer_norm_of_two",
        lambda x, g, b: nn.layer_norm(x, g, b, [2, 3]),
        lambda x, g, b: reference.normalized(x, (2, 3)) * g + b,
        IMAGE,
        floats(7, 6),
        floats(7, 6, seed=1),
    ),
    case(
        "rms_norm",
        lambda x, g: nn.rms_norm(x, g, [1]),
        lambda x, g: x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-5) * g,
        A,
        GAMMA,
    ),
    case(
        "lrn",
        lambda x: nn.lrn(x, 3, 1, 0.1, 0.75, 2),
        lambda x: testing.lrn_python(x, 3, 1, 2, 0.1, 0.75),
        IMAGE,
    ),
    case(
        "upsampling",
        lambda x: nn.upsampling(x, 2, 3),
        lambda x: x.repeat(2, 2).repeat(3, 3),
        IMAGE,
    ),
    case(
        "depth_to_space",
        lambda x: nn.depth_to_space(x, 2),
        lambda x: x.reshape(2, 2, 2, 1, 7, 6).transpose(0, 3, 4, 1, 5, 2).reshape(2, 1, 14, 12),
        IMAGE,
    ),
    case(
        "space_to_depth",
        lambda x: nn.space_to_depth(nn.depth_to_space(x, 2), 2),
        lambda x: x,
        IMAGE,
    ),
]


@pytest.mark.parametrize("one", [*CONVOLUTIONS, *POOLS, *OTHERS], ids=str)
def test_layer_computes_its_definition(one: Case) -> None:
    check(one)


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


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (1, (1, 1, 1, 1)),
        ((1, 2), (1, 2, 1, 2)),
        ((1, 2, 3, 4), (1, 2, 3, 4)),
        ("SAME", (1, 2, 1, 1)),
        ("VALID", (0, 0, 0, 0)),
    ],
)
def test_pad_tuple(given: Any, expected: Any) -> None:
    assert nn.get_pad_tuple(given, (3, 4)) == expected
    assert topi.nn.get_pad_tuple1d("SAME", 4) == (2, 1)
