"""What a tensor has at run time, as numbers; `tests/relax/vm/test_run_functions.py` runs them."""

from __future__ import annotations

import pytest

from te_sched import relax
from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax import op
from te_sched.relax.operators.registry import operator_of
from tests.relax.operator_tables import Build, N, inferred, number, shape, tensor, unknown

X = tensor(2, N, dtype="int8")
INFERRED: list[tuple[Build, str]] = [
    (lambda: X.dtype.type_code, "R.Prim(value=0)"),
    (lambda: op.inspect.tensor_dtype_code(tensor(2)), "R.Prim(value=2)"),
    (lambda: op.inspect.tensor_dtype_code(unknown(dtype="")), 'R.Prim("uint8")'),
    (lambda: X.dtype.bits, "R.Prim(value=8)"),
    (lambda: op.inspect.tensor_dtype_bits(unknown(dtype="")), 'R.Prim("uint8")'),
    (lambda: X.dtype.lanes, "R.Prim(value=1)"),
    (lambda: op.inspect.tensor_dtype_lanes(unknown(dtype="")), 'R.Prim("uint16")'),
    (lambda: X.ndim, "R.Prim(value=2)"),
    (lambda: unknown().ndim, 'R.Prim("int32")'),
    (lambda: X.shape[1], "R.Prim(value=n)"),
    (lambda: X.shape[number("int64")], 'R.Prim("int64")'),
    (lambda: unknown(2).shape[1], 'R.Prim("int64")'),
    (lambda: X.strides[0], 'R.Prim("int64")'),
    (lambda: X.byte_offset, 'R.Prim("uint64")'),
    (lambda: X.elem_offset, 'R.Prim("uint64")'),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


REFUSED: list[tuple[Build, type[Exception], str]] = [
    (lambda: X.shape[2], GraphError, "axis 2 of relax.inspect.tensor_shape_i is out of range"),
    (lambda: X.strides[-1], GraphError, "axis -1 of relax.inspect.tensor_stride_i"),
    (
        lambda: op.inspect.tensor_shape_i(X, relax.const(1.0)),
        GraphTypeError,
        "expected an axis of int64",
    ),
    (lambda: op.inspect.tensor_ndim(shape(2)), GraphTypeError, "expected a tensor"),
    (lambda: op.inspect.tensor_byte_offset(shape(2)), GraphTypeError, "expected a tensor"),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())


def test_a_shape_has_the_fields_of_a_shape_alone() -> None:
    assert not hasattr(shape(2, 3), "dtype")
    with pytest.raises(TypeError):
        list(X.shape)


def test_fields_are_read_by_functions_of_their_names() -> None:
    assert op.inspect.tensor_ndim.__name__ == "tensor_ndim"
    for name in ("tensor_ndim", "tensor_shape_i", "tensor_stride_i", "tensor_elem_offset"):
        assert operator_of(f"relax.inspect.{name}").packed == f"relax.inspect.{name}"
