"""What operators of elements give, by what is known of their arguments; their errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from te_sched import relax, tir
from te_sched.errors import DeclarationError, GraphError, GraphTypeError
from te_sched.ir import VDevice
from te_sched.relax import op

N, M = tir.Var("n", "int64"), tir.Var("m", "int64")
DEVICE = VDevice("llvm")


def tensor(*shape: Any, dtype: str = "float32", device: Any = None) -> Any:
    return relax.Var("x", relax.TensorStructInfo(shape, dtype, device))


def unknown(ndim: int = -1, dtype: str = "float32") -> Any:
    return relax.Var("x", relax.TensorStructInfo(None, dtype, None, ndim))


def number(dtype: str = "float32") -> Any:
    return relax.Var("x", relax.PrimStructInfo(dtype))


def shape(*sizes: Any, ndim: int = -1) -> Any:
    return relax.Var("s", relax.ShapeStructInfo(sizes or None, ndim if not sizes else -1))


def of_shape(variable: Any) -> Any:
    return relax.Var("x", relax.TensorStructInfo(variable, "float32"))


def inferred(call: Any) -> Any:
    return relax.BlockBuilder().normalize(call).struct_info


KNOWN: list[tuple[Callable[[], Any], str]] = [
    (lambda: op.add(tensor(1, 3), tensor(2, 3)), 'R.Tensor((2, 3), dtype="float32")'),
    (lambda: op.add(tensor(M, 1), tensor(N)), 'R.Tensor((m, n), dtype="float32")'),
    (lambda: op.add(tensor(N), tensor(N + 2)), 'R.Tensor(dtype="float32", ndim=1)'),
    (lambda: op.add(unknown(2), tensor(1, 2, 3)), 'R.Tensor(dtype="float32", ndim=3)'),
    (lambda: op.add(unknown(), tensor(3)), 'R.Tensor(dtype="float32")'),
    (lambda: op.add(unknown(1, ""), tensor(3)), "R.Tensor(ndim=1)"),
    (lambda: op.add(tensor(3), number()), 'R.Tensor((3,), dtype="float32")'),
    (lambda: op.add(number(), number()), 'R.Prim("float32")'),
    (lambda: op.less(tensor(3), tensor(3, dtype="int32")), 'R.Tensor((3,), dtype="bool")'),
    (lambda: op.less(number(), number()), 'R.Prim("bool")'),
    (lambda: op.exp(unknown(3)), 'R.Tensor(dtype="float32", ndim=3)'),
    (lambda: op.isnan(tensor(N)), 'R.Tensor((n,), dtype="bool")'),
    (lambda: op.clip(tensor(2), 0, 1), 'R.Tensor((2,), dtype="float32")'),
    (lambda: op.ewise_fma(tensor(N), tensor(N), tensor(N)), 'R.Tensor((n,), dtype="float32")'),
    (lambda: op.ewise_fma(tensor(N), tensor(M), unknown()), 'R.Tensor(dtype="float32", ndim=1)'),
    (lambda: op.full((2, N), tensor(), "int8"), 'R.Tensor((2, n), dtype="int8")'),
    (lambda: op.full_like(tensor(2), tensor(dtype="int8")), 'R.Tensor((2,), dtype="float32")'),
    (lambda: op.ones_like(unknown(2), "int8"), 'R.Tensor(dtype="int8", ndim=2)'),
    (lambda: op.arange(1, N, 2), 'R.Tensor((n // 2,), dtype="int64")'),
    (lambda: op.arange(N, 0, -1), 'R.Tensor((n,), dtype="int64")'),
    (lambda: op.arange(5, 0), 'R.Tensor((0,), dtype="int64")'),
    (lambda: op.arange(0, number("int64")), 'R.Tensor(dtype="int64", ndim=1)'),
    (lambda: op.eye(N, 3), 'R.Tensor((n, 3), dtype="float32")'),
    (lambda: op.eye(number("int64")), 'R.Tensor(dtype="float32", ndim=2)'),
    (lambda: op.sum(tensor(2, N, 4), [0, -1]), 'R.Tensor((n,), dtype="float32")'),
    (lambda: op.sum(tensor(2, 3), 1, True), 'R.Tensor((2, 1), dtype="float32")'),
    (lambda: op.sum(unknown(3), 1), 'R.Tensor(dtype="float32", ndim=2)'),
    (lambda: op.sum(unknown(), 1), 'R.Tensor(dtype="float32")'),
    (lambda: op.sum(unknown(), None, True), 'R.Tensor(dtype="float32")'),
    (lambda: op.sum(unknown(2), None, True), 'R.Tensor((1, 1), dtype="float32")'),
    (lambda: op.cumsum(tensor(N, 4), None, "int64"), 'R.Tensor((n * 4,), dtype="int64")'),
    (lambda: op.cumsum(unknown(3)), 'R.Tensor(dtype="float32", ndim=1)'),
    (lambda: op.argmax(tensor(2, 3), 1), 'R.Tensor((2,), dtype="int64")'),
    (
        lambda: op.topk(tensor(2, N), 3),
        'R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((2, 3), dtype="int32"))',
    ),
    (lambda: op.topk(tensor(2, 4), 9, 1, "values"), 'R.Tensor((2, 4), dtype="float32")'),
    (lambda: op.unique(tensor(2, 3), axis=1), 'R.Tensor(dtype="float32", ndim=2)'),
    (
        lambda: op.unique(tensor(), return_index=True),
        'R.Tuple(R.Tensor((1,), dtype="float32"), R.Tensor((1,), dtype="int64"))',
    ),
    (
        lambda: op.take(tensor(2, N), tensor(3, 4, dtype="int8"), 0),
        'R.Tensor((3, 4, n), dtype="float32")',
    ),
    (lambda: op.take(tensor(2, N), number("int64"), 1), 'R.Tensor((2,), dtype="float32")'),
    (lambda: op.take(unknown(), unknown(1, "int64"), 1), 'R.Tensor(dtype="float32")'),
    (lambda: op.take(unknown(2), tensor(3, dtype="int64"), 1), 'R.Tensor(dtype="float32", ndim=2)'),
    (lambda: op.strided_slice(tensor(8, N), [0], [-3], [99]), 'R.Tensor((3, n), dtype="float32")'),
    (lambda: op.strided_slice(tensor(8), [0], [5], [3]), 'R.Tensor((0,), dtype="float32")'),
    (lambda: op.strided_slice(unknown(2), [0], [5], [3]), 'R.Tensor(dtype="float32", ndim=2)'),
    (lambda: op.strided_slice(unknown(), [0], [5], [3]), 'R.Tensor(dtype="float32")'),
    (
        lambda: op.strided_slice(tensor(8), [0], [N], [8], None, True),
        'R.Tensor((8 - n,), dtype="float32")',
    ),
    (
        lambda: op.strided_slice(tensor(8), shape(0), shape(2), shape(4)),
        'R.Tensor((2,), dtype="float32")',
    ),
    (
        lambda: op.image.resize2d(tensor(1, 8, 8, 3), 4, layout="NHWC", out_dtype="int8"),
        'R.Tensor((1, 4, 4, 3), dtype="int8")',
    ),
    (lambda: op.image.resize2d(unknown(), (2, 3)), 'R.Tensor(dtype="float32", ndim=4)'),
    (
        lambda: op.quantize(tensor(2, N), tensor(2), tensor(2, dtype="int8"), 0),
        'R.Tensor((2, n), dtype="int8")',
    ),
    (
        lambda: op.multinomial_from_uniform(unknown(2), tensor(6, 1), tensor(6, 1, dtype="int64")),
        'R.Tensor(dtype="int64", ndim=2)',
    ),
    (lambda: op.inspect.tensor_ndim(unknown(3)), "R.Prim(value=3)"),
    (lambda: op.inspect.tensor_dtype_bits(unknown()), "R.Prim(value=32)"),
    (lambda: op.inspect.tensor_dtype_lanes(unknown(dtype="")), 'R.Prim("uint16")'),
    (lambda: tensor(2, N).shape[1], "R.Prim(value=n)"),
    (lambda: tensor(2, N).shape[number("int64")], 'R.Prim("int64")'),
    (lambda: op.print(tensor(2), format="{}"), "R.Tuple"),
    (lambda: op.assert_op(relax.const(True)), "R.Tuple"),
    (
        lambda: op.wrap_param(relax.const([1], "float16"), "float32"),
        'R.Tensor((1,), dtype="float32")',
    ),
]


@pytest.mark.parametrize(("build", "expected"), KNOWN, ids=[text for _, text in KNOWN])
def test_struct_info(build: Callable[[], Any], expected: str) -> None:
    assert str(inferred(build())) == expected


def test_shapes_that_are_variables_stay() -> None:
    s = shape(ndim=2)
    same = of_shape(s)
    for call in (
        op.add(same, same),
        op.exp(same),
        op.ewise_fma(same, same, same),
        op.ones(s, "int8"),
    ):
        assert inferred(call).shape is s


def test_devices_are_those_of_the_arguments() -> None:
    x = tensor(2, 3, device=DEVICE)
    for call in (op.add(x, tensor(2, 3)), op.exp(x), op.sum(x, 1), op.sort(x), op.argmax(x, 1)):
        assert inferred(call).vdevice == DEVICE


FLOAT, INT = tensor(2, 3), tensor(2, 3, dtype="int32")
WRONG: list[tuple[type, str, Callable[[], Any]]] = [
    (GraphTypeError, "argument 0 of relax.add is R.Shape", lambda: op.add(shape(2, 3), FLOAT)),
    (GraphTypeError, "have dtypes float32, int32", lambda: op.add(FLOAT, INT)),
    (GraphError, "sizes 3 and 4 differ", lambda: op.add(FLOAT, tensor(2, 4))),
    (
        GraphTypeError,
        "are on devices",
        lambda: op.add(tensor(2, device=DEVICE), tensor(2, device=VDevice("cuda"))),
    ),
    (GraphTypeError, "expected a tensor of floating-point numbers", lambda: op.exp(INT)),
    (GraphTypeError, "argument 1 of relax.clip", lambda: op.clip(FLOAT, FLOAT, 1)),
    (GraphError, "have different shapes", lambda: op.ewise_fma(FLOAT, FLOAT, tensor(2))),
    (GraphError, "have different shapes", lambda: op.ewise_fma(FLOAT, FLOAT, tensor(2, 4))),
    (GraphTypeError, "shape of relax.op.ones is 4, expected", lambda: op.ones(4, "float32")),
    (GraphTypeError, "expected a shape", lambda: op.ones(FLOAT, "float32")),
    (GraphError, "dtype of a new tensor is not given", lambda: op.zeros((2,), "")),
    (GraphTypeError, "expected a tensor without dimensions", lambda: op.full((2,), FLOAT)),
    (GraphError, "the step of relax.arange is 0", lambda: op.arange(0, 4, 0)),
    (GraphTypeError, "argument 1 of relax.arange", lambda: op.arange(0, FLOAT)),
    (GraphTypeError, "expected a matrix", lambda: op.eye_like(tensor(2))),
    (GraphTypeError, "at least two dimensions", lambda: op.tril(tensor(2))),
    (GraphError, "out of range", lambda: op.sum(FLOAT, 2)),
    (GraphError, "not distinct", lambda: op.sum(FLOAT, [0, -2])),
    (GraphTypeError, "argument axis of relax.op.cumsum is x", lambda: op.cumsum(FLOAT, INT)),
    (GraphError, "ret_type of topk is 'all'", lambda: op.topk(FLOAT, ret_type="all")),
    (GraphTypeError, "expected a tensor of bool", lambda: op.where(INT, FLOAT, FLOAT)),
    (GraphTypeError, "a number that is a constant", lambda: op.unique(FLOAT, axis=number("int64"))),
    (GraphTypeError, "expected a tensor of integers", lambda: op.take(FLOAT, FLOAT, 0)),
    (GraphError, "relax.take has no axis", lambda: op.take(FLOAT, INT)),
    (GraphError, "has 1 axes and 2 end", lambda: op.strided_slice(FLOAT, [0], [0], [1, 2])),
    (
        GraphTypeError,
        "2 numbers, one for each axis",
        lambda: op.strided_slice(FLOAT, shape(0, 1), shape(1), shape(2)),
    ),
    (
        GraphTypeError,
        "a tuple of numbers of known values",
        lambda: op.strided_slice(FLOAT, INT, INT, INT),
    ),
    (GraphTypeError, "axes that are constants", lambda: op.strided_slice(FLOAT, [N], [0], [1])),
    (DeclarationError, "a slice has stride 0", lambda: op.strided_slice(FLOAT, [0], [0], [1], [0])),
    (
        GraphTypeError,
        "expected a tensor of int64",
        lambda: op.dynamic_strided_slice(FLOAT, INT, INT, INT),
    ),
    (
        GraphTypeError,
        "one number for each dimension",
        lambda: op.dynamic_strided_slice(FLOAT, *[tensor(3, dtype="int64")] * 3),
    ),
    (
        GraphTypeError,
        "argument 1 of relax.multinomial_from_uniform .*expected a column",
        lambda: op.multinomial_from_uniform(FLOAT, FLOAT, INT),
    ),
    (
        GraphTypeError,
        "argument 0 of relax.quantize .*float16 or float32",
        lambda: op.quantize(INT, tensor(3), tensor(3, dtype="int8")),
    ),
    (
        GraphError,
        "out_dtype of relax.quantize is int64",
        lambda: op.quantize(FLOAT, tensor(3), tensor(3, dtype="int8"), 1, "int64"),
    ),
    (
        GraphTypeError,
        "a tensor of one dimension at most",
        lambda: op.quantize(FLOAT, FLOAT, tensor(3, dtype="int8")),
    ),
    (
        GraphError,
        "the sizes along axis 1 of relax.quantize differ",
        lambda: op.quantize(FLOAT, tensor(2), tensor(2, dtype="int8")),
    ),
    (GraphError, "is not a layout of images", lambda: op.image.resize2d(FLOAT, 2, layout="OIHW")),
    (GraphTypeError, "4 dimensions, NCHW", lambda: op.image.resize2d(FLOAT, 2)),
    (
        GraphTypeError,
        "expected a shape of two sizes",
        lambda: op.image.resize2d(tensor(1, 2, 3, 4), (2, 3, 4)),
    ),
    (
        GraphTypeError,
        "an axis of int64",
        lambda: op.inspect.tensor_shape_i(FLOAT, relax.const(1.0)),
    ),
    (GraphError, "axis 2 of relax.inspect.tensor_shape_i", lambda: FLOAT.shape[2]),
    (GraphTypeError, "expected a scalar of bool", lambda: op.assert_op(FLOAT)),
    (
        GraphError,
        "moves R.Tensor.* by 4 bytes",
        lambda: op.memory.view(unknown(), relative_byte_offset=4),
    ),
    (
        GraphError,
        "relax.memory.view makes",
        lambda: op.memory.view(tensor(N, dtype=""), (N // 4 + 1, 4)),
    ),
    (GraphTypeError, "the format is 3", lambda: op.print(FLOAT, format=3)),
]


@pytest.mark.parametrize(
    ("error", "message", "build"), WRONG, ids=[message for _, message, _ in WRONG]
)
def test_wrong_arguments(error: type, message: str, build: Callable[[], Any]) -> None:
    with pytest.raises(error, match=message):
        inferred(build())


def test_fields_are_those_of_tensors() -> None:
    assert not hasattr(shape(2, 3), "dtype")
    with pytest.raises(TypeError):
        list(FLOAT.shape)
