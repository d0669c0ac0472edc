"""Running sums, scattering, sorting, layouts and rarer layers do what numpy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, topi
from te_sched.errors import DeclarationError
from te_sched.topi.testing import convolution
from tests.topi.reference import transposed
from tests.topi.running import case, check, floats, integers

X, CUBE = floats(4, 6), floats(2, 3, 4)
TIES = integers(5, 7, low=0, high=4)
PLACES = np.array([[0, 3, 2], [1, 1, 3]], "int32")
IMAGES = floats(2, 4, 6, 6)


def exclusive(values: Any, axis: int, function: Any, start: float) -> Any:
    moved = np.moveaxis(function(values, axis), axis, -1)
    first = np.full((*moved.shape[:-1], 1), start)
    return np.moveaxis(np.concatenate([first, moved[..., :-1]], -1), -1, axis)


def scattered(function: Any) -> Any:
    def reference(x: Any, i: Any, u: Any) -> Any:
        out = x.copy()
        for at in np.ndindex(i.shape):
            place = (at[0], i[at])
            out[place] = function(out[place], u[at])
        return out

    return reference


def scattered_nd(function: Any) -> Any:
    def reference(x: Any, i: Any, u: Any) -> Any:
        out = x.copy()
        for point in range(i.shape[1]):
            place = tuple(i[:, point])
            out[place] = function(out[place], u[point])
        return out

    return reference


COMBINE = {
    "update": lambda a, b: b,
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}
POINTS = np.array([[0, 2, 0], [1, 0, 1]], "int32")

SCANS = [
    case("cumsum", topi.cumsum, np.cumsum, X),
    *[
        case(
            f"cumsum-{axis}",
            lambda x, axis=axis: topi.cumsum(x, axis),
            lambda x, axis=axis: np.cumsum(x, axis),
            CUBE,
        )
        for axis in (0, 1, -1)
    ],
    case("cumprod", lambda x: topi.cumprod(x, 1), lambda x: np.cumprod(x, 1), X),
    case(
        "cumsum-type",
        lambda x: topi.cumsum(x, 0, "int64"),
        lambda x: np.cumsum(x, 0, "int64"),
        TIES,
    ),
    case(
        "cumsum-exclusive",
        lambda x: topi.cumsum(x, 1, exclusive=True),
        lambda x: exclusive(x, 1, np.cumsum, 0).astype("float32"),
        CUBE,
    ),
    case(
        "cumprod-exclusive",
        lambda x: topi.cumprod(x, 0, exclusive=True),
        lambda x: exclusive(x, 0, np.cumprod, 1).astype("float32"),
        CUBE,
    ),
    case("cumsum-empty", lambda x: topi.cumsum(x, 1), lambda x: np.cumsum(x, 1), floats(3, 0)),
]

SCATTERING = [
    *[
        case(
            f"scatter_elements-{mode}",
            lambda x, i, u, mode=mode: topi.scatter_elements(x, i, u, 1, mode),
            scattered(COMBINE[mode]),
            X,
            PLACES,
            floats(2, 3, seed=1),
        )
        for mode in COMBINE
    ],
    case(
        "scatter_elements-negative",
        lambda x, i, u: topi.scatter_elements(x, i, u, -1),
        scattered(COMBINE["update"]),
        X,
        PLACES - 4,
        floats(2, 3, seed=1),
    ),
    *[
        case(
            f"scatter_nd-{mode}",
            lambda x, i, u, mode=mode: topi.scatter_nd(x, i, u, mode),
            scattered_nd(COMBINE[mode]),
            floats(3, 2, 4),
            POINTS,
            floats(3, 4, seed=1),
        )
        for mode in COMBINE
    ],
    case(
        "sparse_to_dense",
        lambda i, v: topi.sparse_to_dense(i, (3, 5), v, 2.0),
        lambda i, v: np.array([[2, 2, 2, 2, 2], [2, *v[:1], 2, 2, 2], [2, 2, 2, 2, v[1]]], "f"),
        np.array([[1, 1], [2, 4]], "int32"),
        floats(2),
    ),
    case(
        "sparse_to_dense-vector",
        lambda i, v: topi.sparse_to_dense(i, [4], v),
        lambda i, v: np.array([v[1], 0, 0, v[0]], "float32"),
        np.array([3, 0], "int32"),
        floats(2),
    ),
    case(
        "invert_permutation", topi.invert_permutation, np.argsort, np.array([2, 0, 3, 1], "int32")
    ),
    *[
        case(
            f"searchsorted-{right}",
            lambda x, v, right=right: topi.searchsorted(x, v, right),
            lambda x, v, right=right: np.searchsorted(x, v, "right" if right else "left"),
            np.array([0, 1, 1, 2, 5], "int32"),
            integers(3, 4, low=-2, high=7),
        )
        for right in (False, True)
    ],
    case(
        "searchsorted-rows",
        topi.searchsorted,
        lambda x, v: np.stack([np.searchsorted(a, b) for a, b in zip(x, v, strict=True)]),
        np.sort(X, 1),
        floats(4, 3, seed=2),
    ),
    case(
        "unravel_index",
        topi.unravel_index,
        lambda i, s: np.array(np.unravel_index(i, tuple(s))).astype("int32"),
        integers(5, low=0, high=24),
        np.array([2, 3, 4], "int32"),
    ),
]


def topped(x: Any, k: int, axis: int, up: bool) -> tuple[Any, Any]:
    keys = x if up else -x
    order = np.take(np.argsort(keys, axis, kind="stable"), np.arange(k), axis)
    return np.take_along_axis(x, order, axis), order


SORTING = [
    case("sort", topi.sort, np.sort, X),
    case("sort-0", lambda x: topi.sort(x, 0, 0), lambda x: -np.sort(-x, 0), X),
    *[
        case(
            f"argsort-{up}",
            lambda x, up=up: topi.argsort(x, axis=0, is_ascend=up, dtype="int32"),
            lambda x, up=up: np.argsort(x if up else -x, 0, kind="stable").astype("int32"),
            TIES,
        )
        for up in (0, 1)
    ],
    case(
        "argsort-valid",
        lambda x, n: topi.argsort(x, n, is_ascend=1),
        lambda x, n: np.array([[1, 2, 0, 3], [0, 1, 2, 3]], "float32"),
        np.array([[3, 1, 2, 0], [9, 8, 7, 6]], "float32"),
        np.array([3, 1], "int32"),
    ),
    *[
        case(
            f"topk-{axis}-{up}",
            lambda x, axis=axis, up=up: topi.topk(x, 3, axis, is_ascend=up),
            lambda x, axis=axis, up=up: topped(x, 3, axis, up),
            TIES,
        )
        for axis in (0, 1)
        for up in (False, True)
    ],
    case("topk-values", lambda x: topi.topk(x, 0, 0, "values"), lambda x: -np.sort(-x, 0), X),
    case(
        "topk-indices",
        lambda x: topi.topk(x, 2, ret_type="indices", dtype="int32"),
        lambda x: np.argsort(-x, -1)[:, :2].astype("int32"),
        X,
    ),
]

ROWS = floats(3, 5, 2)


def reversed_rows(x: Any, n: Any) -> Any:
    out = x.copy()
    for b, count in enumerate(n):
        out[b, :count] = x[b, :count][::-1]
    return out


def with_diagonal(x: Any, d: Any) -> Any:
    out = x.copy()
    for i in range(3):
        out[..., i, i + 1] = d[..., i]
    return out


REARRANGING = [
    case(
        "layout-block",
        lambda x: topi.layout_transform(x, "NCHW", "NCHW2c"),
        lambda x: x.reshape(2, 2, 2, 6, 6).transpose(0, 1, 3, 4, 2),
        IMAGES,
    ),
    case(
        "layout-unblock",
        lambda x: topi.layout_transform(x, "NCHW2c", "NHWC"),
        lambda x: x.transpose(0, 2, 3, 1, 4).reshape(2, 6, 6, 4),
        floats(2, 2, 6, 6, 2),
    ),
    case(
        "layout-reblock",
        lambda x: topi.layout_transform(x, "NC4c", "CN2c"),
        lambda x: x.reshape(2, 6, 2).transpose(1, 0, 2),
        floats(2, 3, 4),
    ),
    case(
        "layout-nested",
        lambda x: topi.layout_transform(x, "OI", "OI2i4o2i"),
        lambda x: x.reshape(2, 4, 2, 2, 2).transpose(0, 2, 3, 1, 4),
        floats(8, 8),
    ),
    case(
        "sliding_window",
        lambda x: topi.sliding_window(x, 1, (2, 2), (1, 2)),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 2), (1, 2))[:, :, ::2],
        CUBE,
    ),
    case(
        "reverse_sequence",
        topi.reverse_sequence,
        reversed_rows,
        ROWS,
        np.array([2, 5, 0], "int32"),
    ),
    *[
        case(
            f"strided_set-{step}",
            lambda x, v, s=(begin, end, step): topi.strided_set(x, v, *s),
            lambda x, v, s=(begin, end, step): _assigned(x, v, s),
            X,
            floats(*X[tuple(map(slice, begin, end, step))].shape, seed=3),
        )
        for begin, end, step in (
            ((1, 0), (3, 5), (1, 2)),
            ((3, -1), (0, 1), (-2, -1)),
            ((0, 2), (4, 99), (3, 2)),
        )
    ],
    case(
        "matrix_set_diag",
        lambda x, d: topi.matrix_set_diag(x, d, 1),
        with_diagonal,
        floats(2, 3, 4),
        floats(2, 3, seed=1),
    ),
    case(
        "matrix_set_diag-several",
        lambda x, d: topi.matrix_set_diag(x, d, (-1, 1)),
        lambda x, d: np.where(
            [[1, 1, 0], [1, 1, 1], [0, 1, 1]],
            [[d[1, 0], d[0, 1], 0], [d[2, 0], d[1, 1], d[0, 2]], [0, d[2, 1], d[1, 2]]],
            x,
        ).astype("float32"),
        floats(3, 3),
        floats(3, 3, seed=1),
    ),
    case(
        "collapse_sum",
        lambda x: topi.collapse_sum(x, (3, 1)),
        lambda x: x.sum((0, 2))[:, None],
        CUBE,
    ),
    case(
        "space_to_batch",
        lambda x: topi.nn.space_to_batch_nd(x, [2, 3], [1, 0], [1, 0], 1.5),
        lambda x: (
            np.pad(x, [(0, 0), (1, 1), (0, 0), (0, 0)], constant_values=1.5)
            .reshape(2, 3, 2, 2, 3, 3)
            .transpose(2, 4, 0, 1, 3, 5)
            .reshape(12, 3, 2, 3)
        ),
        floats(2, 4, 6, 3),
    ),
    case(
        "batch_to_space",
        lambda x: topi.nn.batch_to_space_nd(x, [2, 2], [1, 0], [0, 2]),
        lambda x: (
            x.reshape(2, 2, 1, 3, 2, 5).transpose(2, 3, 0, 4, 1, 5).reshape(1, 6, 4, 5)[:, 1:, :2]
        ),
        floats(4, 3, 2, 5),
    ),
]


def _assigned(x: Any, v: Any, bounds: Any) -> Any:
    out = x.copy()
    out[tuple(map(slice, *bounds))] = v
    return out


def normalized(x: Any, axes: tuple[int, ...]) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def column(v: Any) -> Any:
    return v[:, None, None]


def blocked(x: Any, block: int) -> Any:
    n, c, h, w = x.shape
    return np.ascontiguousarray(x.reshape(n, c // block, block, h, w).transpose(0, 1, 3, 4, 2))


def whole(x: Any) -> Any:
    n, c, h, w, b = x.shape
    return x.transpose(0, 1, 4, 2, 3).reshape(n, c * b, h, w)


def kernel_of(blocks: Any) -> Any:
    o, i, h, w, ib, ob = blocks.shape
    return blocks.transpose(0, 5, 1, 4, 2, 3).reshape(o * ob, i * ib, h, w)


def conv_blocked(stride: int, groups: int) -> Any:
    def reference(x: Any, k: Any) -> Any:
        pads, steps = (1, 1), (stride, stride)
        out = convolution(whole(x), kernel_of(k), steps, pads, pads, (1, 1), groups)
        return blocked(out, k.shape[5]).astype("float32")

    return reference


LOSS = (floats(3, 4, seed=5), np.array([1, 3, 0], "int32"), floats(4, low=0.5))


def losses(p: Any, t: Any, w: Any, ignore: int = 0) -> tuple[Any, Any]:
    kept = (t != ignore).astype("float32")
    return -p[np.arange(len(t)), t] * w[t] * kept, (w[t] * kept).sum()


def grouped_transposed(x: Any, k: Any) -> Any:
    parts = zip(np.split(x, 2, 1), np.split(k, 2, 0), strict=True)
    return np.concatenate([transposed(a, b, 2, 1, 1) for a, b in parts], 1).astype("float32")


LAYERS = [
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
    *[
        case(
            f"conv2d_NCHWc-{stride}-{groups}",
            lambda x, k, s=stride: topi.nn.conv2d_NCHWc(x, k, s, 1, 1, "NCHW2c", "NCHW3c"),
            conv_blocked(stride, groups),
            blocked(IMAGES, 2),
            floats(2, 2 // groups, 3, 3, 2, 3),
        )
        for stride in (1, 2)
        for groups in (1, 2)
    ],
    case(
        "depthwise_conv2d_NCHWc",
        lambda x, k: topi.nn.depthwise_conv2d_NCHWc(x, k, 1, 1, 1, "NCHW2c", "NCHW4c"),
        lambda x, k: blocked(
            convolution(whole(x), kernel_of(k), (1, 1), (1, 1), (1, 1), (1, 1), 4), 4
        ).astype("float32"),
        blocked(IMAGES, 2),
        floats(2, 1, 3, 3, 1, 4),
    ),
    case(
        "unpack_NCHWc",
        lambda x: topi.nn.unpack_NCHWc_to_nchw(x, "float32"),
        whole,
        floats(2, 2, 3, 3, 4),
    ),
    case(
        "dense_pack",
        topi.nn.dense_pack,
        lambda x, w, b: x @ w.transpose(1, 0, 2).reshape(6, 4) + b,
        X,
        floats(2, 6, 2),
        floats(4),
    ),
    case(
        "conv3d_transpose",
        lambda x, k: topi.nn.conv3d_transpose_ncdhw(x, k, 2, 1, "float32", 1),
        lambda x, k: transposed(x, k, 2, 1, 1).astype("float32"),
        floats(1, 2, 3, 3, 3),
        floats(2, 3, 3, 3, 3),
    ),
    case(
        "group_conv2d_transpose",
        lambda x, k: topi.nn.group_conv2d_transpose_nchw(x, k, 2, 1, "float32", 1, 2),
        grouped_transposed,
        floats(1, 4, 4, 4),
        floats(4, 3, 3, 3),
    ),
    case(
        "group_conv1d_transpose",
        lambda x, k: topi.nn.group_conv1d_transpose_ncw(x, k, 2, 1, "float32", 1, 2),
        grouped_transposed,
        floats(1, 4, 5),
        floats(4, 3, 3),
    ),
    case(
        "upsampling3d",
        lambda x: topi.nn.upsampling3d(x, 1, 2, 3),
        lambda x: x.repeat(2, 3).repeat(3, 4),
        floats(1, 2, 2, 3, 2),
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
    case(
        "fast_softmax",
        topi.nn.fast_softmax,
        lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True),
        X,
    ),
    case("fast_exp", topi.fast_exp, np.exp, X),
    case("fast_tanh", topi.fast_tanh, np.tanh, X),
    case(
        "ceil_log2",
        topi.ceil_log2,
        lambda x: np.ceil(np.log2(x)),
        np.array([1, 3, 4, 5, 1000], "float32"),
    ),
    case(
        "const_matrix",
        lambda x: te.compute((2, 2), lambda i, j: x(i, j) * topi.utils.const_matrix(MATRIX)(i, j)),
        lambda x: x * MATRIX,
        floats(2, 2),
    ),
]
MATRIX = np.array([[1, 2], [3, 4]], "float32")


@pytest.mark.parametrize("one", SCANS + SCATTERING + SORTING + REARRANGING + LAYERS, ids=str)
def test_as_numpy(one: Any) -> None:
    check(one)


T, I = te.placeholder((4, 6), name="T"), te.placeholder((4, 6), "int32", name="I")  # noqa: E741

REFUSED = {
    "layout": (
        lambda: topi.layout_transform(T, "NC", "NC4c"),
        "block 4 does not divide 6, the extent of C",
    ),
    "letters": (lambda: topi.layout_transform(T, "NC", "NH"), "name different dimensions"),
    "layout text": (lambda: topi.layout_transform(T, "NC", "N4C"), "is one capital letter"),
    "layout rank": (lambda: topi.layout_transform(T, "NCH", "NHC"), "rank of NCH is 3, expected 2"),
    "scatter": (lambda: topi.scatter_elements(T, I, T, 0, "mean"), "unknown reduction 'mean'"),
    "axis": (lambda: topi.cumsum(T, 2), "use an axis from -2 to 1"),
    "topk": (lambda: topi.topk(T, te.var("k")), "must be constant"),
    "topk of few": (lambda: topi.topk(T, 7), "exceeds extent 6"),
    "topk type": (lambda: topi.topk(T, 1, ret_type="all"), "unknown ret_type 'all'"),
    "align": (lambda: topi.matrix_set_diag(T, T, 0, "UP"), "unknown align 'UP'"),
    "collapse": (lambda: topi.collapse_sum(T, (3,)), "does not broadcast"),
    "set": (lambda: topi.strided_set(T, T, (0, 0), (2, 2)), "extent of v is 4, expected 2"),
    "loss": (lambda: topi.nn.nll_loss(T, I, T, "max", 0), "unknown reduction 'max'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_rejects(name: str) -> None:
    action, message = REFUSED[name]
    with pytest.raises(DeclarationError, match=message):
        action()


def test_running_sums_of_symbolic_shapes() -> None:
    n = te.var("n")
    a = te.placeholder((n, 3), name="a")
    b = topi.cumsum(a, 0)
    function = te_sched.build(te.create_schedule(b.op), [a, b])
    for count in (0, 1, 5):
        values, out = floats(count, 3), np.zeros((count, 3), "float32")
        function(values, out)
        np.testing.assert_allclose(out, np.cumsum(values, 0), rtol=1e-6)
