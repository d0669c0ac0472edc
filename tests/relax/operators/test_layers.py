"""What operators of manipulation, products and layers give, by what is known; their errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from te_sched import relax, tir
from te_sched.errors import GraphError, GraphTypeError
from te_sched.ir import Op, VDevice
from te_sched.relax import op
from te_sched.relax.op import grad, nn

N, M, K = (tir.Var(name, "int64") for name in "nmk")


def tensor(*shape: Any, dtype: str = "float32", device: Any = None) -> Any:
    return relax.Var("x", relax.TensorStructInfo(shape, dtype, device))


def unknown(ndim: int = -1, dtype: str = "float32") -> Any:
    return relax.Var("x", relax.TensorStructInfo(None, dtype, None, ndim))


def ints(*shape: Any) -> Any:
    return tensor(*shape, dtype="int64")


def shape(*sizes: Any, ndim: int = -1) -> Any:
    return relax.Var("s", relax.ShapeStructInfo(sizes or None, -1 if sizes else ndim))


def of_shape(variable: Any) -> Any:
    return relax.Var("x", relax.TensorStructInfo(variable, "float32"))


def inferred(call: Any) -> str:
    return str(relax.BlockBuilder().normalize(call).struct_info)


def _f32(text: str) -> str:
    return f'R.Tensor(({text}), dtype="float32")'


NOT_KNOWN = 'R.Tensor(dtype="float32")'


def _rank(ndim: int) -> str:
    return f'R.Tensor(dtype="float32", ndim={ndim})'


KNOWN: list[tuple[Callable[[], Any], str]] = [
    (lambda: op.broadcast_to(tensor(1, N), (M, N)), _f32("m, n")),
    (lambda: op.broadcast_to(unknown(), shape(2, 3)), 'R.Tensor(s, dtype="float32")'),
    (lambda: op.reshape(tensor(N, M, K), (K, -1)), _f32("k, n * m")),
    (lambda: op.reshape(tensor(N, 6), (2, -1, N)), _f32("2, 3, n")),
    (lambda: op.reshape(unknown(), shape(2, 3)), _f32("2, 3")),
    (lambda: op.flatten(tensor(N, 4)), _f32("n * 4,")),
    (lambda: op.flatten(tensor()), _f32("1,")),
    (lambda: op.flatten(unknown()), _rank(1)),
    (lambda: op.expand_dims(tensor(2, N), [-1, 0]), _f32("1, 2, n, 1")),
    (lambda: op.expand_dims(unknown(2), 1), _rank(3)),
    (lambda: op.expand_dims(unknown(), 1), NOT_KNOWN),
    (lambda: op.squeeze(tensor(1, N, 1), 0), _f32("n, 1")),
    (lambda: op.squeeze(tensor(1, N)), NOT_KNOWN),
    (lambda: op.squeeze(unknown(3), 0), _rank(2)),
    (lambda: op.squeeze(unknown(), 0), NOT_KNOWN),
    (lambda: op.permute_dims(tensor(2, N, 4)), _f32("4, n, 2")),
    (lambda: op.permute_dims(unknown()), NOT_KNOWN),
    (lambda: op.permute_dims(unknown(3), [0, 2, 1]), _rank(3)),
    (
        lambda: op.layout_transform(tensor(2, 6), lambda i, j: (j // 4, i, j % 4), 0),
        _f32("2, 2, 4"),
    ),
    (lambda: op.layout_transform(unknown(2), lambda i, j: (j,)), _rank(1)),
    (lambda: op.concat([tensor(2, N), tensor(2, 3)], 1), _f32("2, n + 3")),
    (lambda: op.concat([tensor(N, 2), tensor(M, 2)], 1), _rank(2)),
    (lambda: op.concat([unknown(), unknown()], 1), NOT_KNOWN),
    (lambda: op.concat([unknown()], 1), NOT_KNOWN),
    (lambda: op.split(tensor(7), 3), f"R.Tuple({_f32('3,')}, {_f32('3,')}, {_f32('1,')})"),
    (lambda: op.split(tensor(7), [2, 9]), f"R.Tuple({_f32('2,')}, {_f32('5,')}, {_f32('0,')})"),
    (lambda: op.split(unknown(), 2), f"R.Tuple({NOT_KNOWN}, {NOT_KNOWN})"),
    (lambda: op.repeat(tensor(N, 2), 3, 1), _f32("n, 6")),
    (lambda: op.repeat(tensor(N, 2), 3), _f32("n * 6,")),
    (lambda: op.repeat(unknown(2), 3), _rank(1)),
    (lambda: op.repeat(unknown(2), 3, 0), _rank(2)),
    (lambda: op.repeat(unknown(), 3, 0), NOT_KNOWN),
    (lambda: op.tile(tensor(N, 2), (2, 1, 3)), _f32("2, n, 6")),
    (lambda: op.tile(unknown(2), 2), _rank(2)),
    (lambda: op.tile(unknown(), 2), NOT_KNOWN),
    (lambda: op.flip(unknown(2), 1), _rank(2)),
    (lambda: op.collapse_sum_like(tensor(2, N), tensor(N)), _f32("n,")),
    (lambda: op.collapse_sum_like(tensor(2, N), unknown(1)), _rank(1)),
    (lambda: op.collapse_sum_to(tensor(2, N), (1, N)), _f32("1, n")),
    (lambda: op.gather_elements(unknown(2), ints(2, N)), _f32("2, n")),
    (lambda: op.gather_elements(unknown(), ints(2)), NOT_KNOWN),
    (lambda: op.gather_elements(tensor(2), unknown(1, "int64")), _rank(1)),
    (lambda: op.gather_nd(tensor(2, N, 4), ints(5, 2)), _f32("5, 4")),
    (lambda: op.gather_nd(unknown(3), ints(5, 2)), _rank(2)),
    (lambda: op.gather_nd(tensor(2), unknown(2, "int64")), NOT_KNOWN),
    (lambda: op.scatter_elements(tensor(N), ints(2), tensor(2)), _f32("n,")),
    (lambda: op.scatter_elements(unknown(1), ints(2), tensor(2)), _rank(1)),
    (lambda: op.scatter_nd(tensor(4, N), ints(2, 1), tensor(2, N)), _f32("4, n")),
    (lambda: op.scatter_nd(unknown(2), ints(2, 1), unknown()), _rank(2)),
    (lambda: op.one_hot(unknown(1, "int64"), 1.0, 0.0, 3), _rank(2)),
    (lambda: op.one_hot(ints(N), 1.0, 0.0, 3), _f32("n, 3")),
    (lambda: op.matmul(tensor(N, 4), tensor(4, M)), _f32("n, m")),
    (lambda: op.matmul(tensor(4), tensor(2, 4, M)), _f32("2, m")),
    (lambda: op.matmul(tensor(N, 2, 4), tensor(M, 4, 2)), _rank(3)),
    (lambda: op.matmul(unknown(2), tensor(4)), _rank(1)),
    (lambda: op.matmul(unknown(), tensor(4)), NOT_KNOWN),
    (lambda: op.einsum((tensor(2, N), tensor(N, 3)), "...j,jk"), _f32("2, 3")),
    (lambda: op.einsum((unknown(2), tensor(2, 3)), "ij,jk"), NOT_KNOWN),
    (lambda: nn.conv2d(tensor(1, 3, N, 8), tensor(4, 3, 3, 3), padding=1), _f32("1, 4, n, 8")),
    (lambda: nn.conv2d(unknown(4), tensor(4, 3, 3, 3)), _rank(4)),
    (
        lambda: nn.conv1d(tensor(1, 2, 8, 4), tensor(4, 8, 3), data_layout="NCW4c"),
        _f32("1, 1, 6, 4"),
    ),
    (
        lambda: nn.conv2d_transpose(tensor(1, 3, N, 8), tensor(3, 4, 2, 2), strides=2),
        _f32("1, 4, n * 2, 16"),
    ),
    (lambda: nn.conv1d_transpose(unknown(), tensor(3, 4, 2)), _rank(3)),
    (lambda: nn.max_pool2d(tensor(1, 2, N, 7), 3, 2, ceil_mode=True), _f32("1, 2, n // 2, 3")),
    (lambda: nn.avg_pool3d(unknown(5), 2), _rank(5)),
    (lambda: nn.adaptive_avg_pool2d(tensor(1, N, M, 7), 2), _f32("1, n, 2, 2")),
    (lambda: nn.adaptive_avg_pool1d(unknown(), 2), _rank(3)),
    (lambda: nn.adaptive_avg_pool2d(tensor(1, 2, 3, 4), None, "NCHW", "NHWC"), _f32("1, 3, 4, 2")),
    (lambda: nn.pad(tensor(N, 2), (1, 1, 0, 2)), _f32("n + 2, 4")),
    (lambda: nn.pad(unknown(2), (1, 1, 0, 2)), _rank(2)),
    (lambda: nn.pad(unknown(), (1, 1)), NOT_KNOWN),
    (lambda: nn.layer_norm(tensor(2, N), tensor(M), tensor(M), -1), _rank(2)),
    (lambda: nn.rms_norm(tensor(2, N), tensor(N)), _f32("2, n")),
    (lambda: nn.group_norm(tensor(2, N, 3), tensor(N), tensor(N), 2, 1, 2), _f32("2, n, 3")),
    (
        lambda: nn.batch_norm(unknown(4), *[tensor(3)] * 4, 1),
        f"R.Tuple({_rank(4)}, {_f32('3,')}, {_f32('3,')})",
    ),
    (
        lambda: nn.batch_norm(tensor(2, N), *[tensor(M)] * 4, 1),
        f"R.Tuple({_rank(2)}, {_rank(1)}, {_rank(1)})",
    ),
    (lambda: nn.dropout(unknown(2)), f"R.Tuple({_rank(2)}, {_rank(2)})"),
    (lambda: nn.nll_loss(tensor(N, 5), ints(N), reduction="none"), _f32("n,")),
    (lambda: nn.nll_loss(unknown(4), ints(2, 3, 3), reduction="none"), _rank(3)),
    (
        lambda: nn.attention(tensor(2, N, 3, 4), tensor(2, M, 3, 4), tensor(2, M, 3, 8)),
        _f32("2, n, 3, 8"),
    ),
    (lambda: grad.max_pool2d_backward(unknown(), tensor(1, 2, N, 8)), _f32("1, 2, n, 8")),
    (lambda: grad.no_grad(tensor(N)), _f32("n,")),
]


@pytest.mark.parametrize(("build", "expected"), KNOWN, ids=[text for _, text in KNOWN])
def test_struct_info_of_call(build: Callable[[], Any], expected: str) -> None:
    assert inferred(build()) == expected


Q = (2, 5, 3, 4)
BAD: list[tuple[type[Exception], str, Callable[[], Any]]] = [
    (
        GraphTypeError,
        "expected a shape of at least 2 sizes",
        lambda: op.broadcast_to(tensor(2, 3), (3,)),
    ),
    (
        GraphError,
        "the sizes of relax.broadcast_to differ: .*3.* and .*4",
        lambda: op.broadcast_to(tensor(3), (4,)),
    ),
    (GraphTypeError, "is 120, expected a shape", lambda: op.reshape(tensor(120), 120)),
    (GraphError, "has a negative size", lambda: op.reshape(tensor(6), (-2, 3))),
    (GraphError, "has several sizes -1", lambda: op.reshape(tensor(6), (-1, -1))),
    (GraphError, "the shape of the tensor is not known", lambda: op.reshape(unknown(2), (-1,))),
    (GraphError, "has a size 0 at place 1", lambda: op.reshape(tensor(6), (6, 0))),
    (
        GraphError,
        "elements of relax.reshape differ",
        lambda: op.reshape(tensor(6), (4,)),
    ),
    (
        GraphError,
        "is called with 1 arguments",
        lambda: relax.Call(Op.get("relax.reshape"), [tensor(6)]),
    ),
    (GraphTypeError, "expected a shape", lambda: op.reshape(tensor(6), tensor(6))),
    (
        GraphError,
        "axis 3 of relax.expand_dims is out of range",
        lambda: op.expand_dims(tensor(2, 3), 3),
    ),
    (GraphError, "are not distinct", lambda: op.expand_dims(tensor(2), [0, -3])),
    (
        GraphError,
        "the squeezed size and 1 of relax.squeeze differ",
        lambda: op.squeeze(tensor(2), 0),
    ),
    (
        GraphTypeError,
        "expected a tensor of a known number",
        lambda: op.permute_dims(unknown(), [0]),
    ),
    (GraphError, "has 1 axes, the tensor has 2", lambda: op.permute_dims(tensor(2, 3), [0])),
    (
        GraphError,
        "pad_value is 1.5, expected a number of int32",
        lambda: op.layout_transform(tensor(2, dtype="int32"), lambda i: i, 1.5),
    ),
    (
        GraphError,
        "has dtype int64, expected float32",
        lambda: op.layout_transform(tensor(2), lambda i: i, relax.PrimValue(1)),
    ),
    (
        GraphError,
        "takes 2 indices, the tensor has 1",
        lambda: op.layout_transform(tensor(2), lambda i, j: i),
    ),
    (
        GraphError,
        r"joins tensors of \[1, 2\] dimensions",
        lambda: op.concat([tensor(2), tensor(2, 3)]),
    ),
    (GraphError, "with axis=None joins tensors of 2", lambda: op.concat([tensor(2, 3)], None)),
    (GraphTypeError, "expected a tuple of tensors", lambda: op.concat(tensor(2))),
    (
        GraphTypeError,
        "have dtypes float32, int8",
        lambda: op.concat([tensor(2), tensor(2, dtype="int8")]),
    ),
    (
        GraphError,
        "are on devices",
        lambda: op.concat([tensor(2, device=VDevice("llvm")), tensor(2, device=VDevice("cuda"))]),
    ),
    (GraphError, "relax.split has 0 parts", lambda: op.split(tensor(2), 0)),
    (GraphError, "a value of indices_or_sections is n", lambda: op.split(tensor(2), [N])),
    (
        GraphTypeError,
        "expected at most 1 dimensions",
        lambda: op.collapse_sum_to(tensor(2), (1, 2)),
    ),
    (GraphTypeError, "expected the size .*4.* or 1", lambda: op.collapse_sum_to(tensor(4), (3,))),
    (
        GraphTypeError,
        "expected a tensor of integers",
        lambda: op.gather_elements(tensor(2), tensor(2)),
    ),
    (
        GraphTypeError,
        "expected a tensor of 1 dimensions",
        lambda: op.gather_elements(tensor(2), ints(2, 2)),
    ),
    (GraphError, "has batch_dims=3", lambda: op.gather_nd(tensor(2), ints(2, 1), 3)),
    (GraphTypeError, "a last size of at most 1", lambda: op.gather_nd(tensor(2), ints(2, 2))),
    (
        GraphTypeError,
        "as many dimensions",
        lambda: op.scatter_elements(tensor(2), ints(2, 2), tensor(2, 2)),
    ),
    (
        GraphTypeError,
        "expected a tensor of the shape",
        lambda: op.scatter_nd(tensor(4, 3), ints(2, 1), tensor(2)),
    ),
    (GraphTypeError, "expected a number", lambda: op.one_hot(ints(2), tensor(), 0.0, 3)),
    (GraphTypeError, "expected a number of float32", lambda: op.one_hot(ints(2), 1.0, 0, 3)),
    (GraphError, "has depth=0", lambda: op.one_hot(ints(2), 1.0, 0.0, 0)),
    (GraphTypeError, "at least 1 dimension", lambda: op.matmul(tensor(), tensor(2))),
    (
        GraphError,
        "the summed sizes of relax.matmul differ",
        lambda: op.matmul(tensor(2, 3), tensor(4, 2)),
    ),
    (GraphError, "do not fit operands", lambda: op.einsum((tensor(2, 3),), "i")),
    (GraphError, r"have a result of \['k'\]", lambda: op.einsum((tensor(2),), "i->k")),
    (
        GraphError,
        "strides has 3 values, expected 1 or 2",
        lambda: nn.conv2d(tensor(1, 3, 8, 8), tensor(4, 3, 3, 3), strides=(1, 1, 1)),
    ),
    (GraphError, "has 0 groups", lambda: nn.conv1d(tensor(1, 3, 8), tensor(4, 3, 3), groups=0)),
    (
        GraphError,
        "has 2 groups of .*5.* output channels",
        lambda: nn.conv1d(tensor(1, 4, 8), tensor(5, 2, 3), groups=2),
    ),
    (
        GraphError,
        "the input channels of relax.nn.conv1d differ",
        lambda: nn.conv1d(tensor(1, 3, 8), tensor(4, 2, 3)),
    ),
    (
        GraphError,
        "data_layout of relax.nn.conv1d is 'NCH'",
        lambda: nn.conv1d(tensor(1, 3, 8), tensor(4, 3, 3), data_layout="NCH"),
    ),
    (
        GraphTypeError,
        "a tensor of the layout NCW",
        lambda: nn.conv1d(tensor(3, 8), tensor(4, 3, 3)),
    ),
    (
        GraphError,
        "is not less than its stride",
        lambda: nn.conv1d_transpose(tensor(1, 3, 8), tensor(3, 4, 3), output_padding=1),
    ),
    (
        GraphError,
        "output_size has 3 values",
        lambda: nn.adaptive_avg_pool2d(tensor(1, 2, 3, 4), (1, 2, 3)),
    ),
    (
        GraphError,
        r"axis of relax.op.nn.softmax is \[0, 1\]",
        lambda: nn.softmax(tensor(2, 3), [0, 1]),
    ),
    (GraphTypeError, "expected a tensor of floats", lambda: nn.gelu(ints(2))),
    (GraphError, "has 2 widths for 2 dimensions", lambda: nn.pad(tensor(2, 3), (1, 1))),
    (
        GraphTypeError,
        "a tensor of dtype float32",
        lambda: nn.rms_norm(tensor(2, 3), tensor(3, dtype="float16")),
    ),
    (GraphTypeError, "a tensor of 1 dimensions", lambda: nn.rms_norm(tensor(2, 3), tensor(2, 3))),
    (
        GraphError,
        "is the axis of channels",
        lambda: nn.group_norm(tensor(2, 4), tensor(4), tensor(4), 2, 1, 1),
    ),
    (
        GraphError,
        "has 3 groups of",
        lambda: nn.group_norm(tensor(2, 4, 5), tensor(4), tensor(4), 3, 1, 2),
    ),
    (
        GraphTypeError,
        "a tensor of 2 dimensions",
        lambda: nn.cross_entropy_with_logits(tensor(2, 3), tensor(2)),
    ),
    (GraphTypeError, "a tensor of integers", lambda: nn.nll_loss(tensor(2, 3), tensor(2))),
    (GraphTypeError, "a tensor of at least 1 dimension", lambda: nn.nll_loss(tensor(), ints())),
    (GraphTypeError, "a tensor of 1 dimensions", lambda: nn.nll_loss(tensor(2, 3), ints(2, 3))),
    (
        GraphTypeError,
        "a tensor of 1 dimension",
        lambda: nn.nll_loss(tensor(2, 3), ints(2), tensor(3, 3)),
    ),
    (
        GraphError,
        "the numbers of classes of relax.nn.nll_loss differ",
        lambda: nn.nll_loss(tensor(2, 3), ints(2), tensor(4)),
    ),
    (
        GraphError,
        "has reduction='max'",
        lambda: nn.nll_loss(tensor(2, 3), ints(2), reduction="max"),
    ),
    (
        GraphTypeError,
        "a tensor of 4 dimensions",
        lambda: nn.attention(tensor(2), tensor(*Q), tensor(*Q)),
    ),
    (
        GraphError,
        "the batches of query and key",
        lambda: nn.attention(tensor(1, 5, 3, 4), tensor(*Q), tensor(*Q)),
    ),
    (
        GraphTypeError,
        "a tensor of 2 to 4 dimensions",
        lambda: nn.attention(*[tensor(*Q)] * 3, tensor(5)),
    ),
    (
        GraphError,
        "the sizes of bias and scores",
        lambda: nn.attention(*[tensor(*Q)] * 3, tensor(2, 3, 5, 7)),
    ),
    (GraphError, "causal_mask='Left'", lambda: nn.attention(*[tensor(*Q)] * 3, causal_mask="Left")),
    (GraphTypeError, "expected a variable", lambda: grad.start_checkpoint(relax.const(1.0))),
]


@pytest.mark.parametrize(("kind", "text", "build"), BAD, ids=[text for _, text, _ in BAD])
def test_call_rejects(kind: type[Exception], text: str, build: Callable[[], Any]) -> None:
    with pytest.raises(kind, match=text):
        relax.BlockBuilder().normalize(build())
