"""Shapes as values, and as tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import nd, relax
from te_sched.errors import GraphTypeError
from te_sched.relax import op
from te_sched.relax.operators.registry import operator_of
from tests.relax.operator_tables import (
    Build,
    N,
    inferred,
    ints,
    number,
    shape,
    tensor,
    text_of,
    unknown,
)

INFERRED: list[tuple[Build, str]] = [
    (lambda: op.shape_of(tensor(4, N)), "R.Shape([4, n])"),
    (lambda: op.shape_of(unknown(2)), "R.Shape(ndim=2)"),
    (lambda: op.shape_of(unknown()), "R.Shape"),
    (lambda: op.shape_to_tensor(relax.ShapeExpr([4, N])), text_of("2,", "int64")),
    (lambda: op.shape_to_tensor(shape(ndim=2)), text_of("2,", "int64")),
    (lambda: op.shape_to_tensor(shape()), 'R.Tensor(dtype="int64", ndim=1)'),
    (lambda: op.tensor_to_shape(relax.const([2, 3], "int64")), "R.Shape(ndim=2)"),
    (lambda: op.tensor_to_shape(ints(N)), "R.Shape"),
    (lambda: op.tensor_to_shape(unknown(dtype="")), "R.Shape"),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())).removesuffix("(ndim=-1)") == text


REFUSED: list[tuple[Build, str]] = [
    (lambda: op.shape_of(shape(2)), "expected a tensor"),
    (lambda: op.shape_to_tensor(tensor(2)), "expected a shape"),
    (lambda: op.tensor_to_shape(tensor(2)), "expected a tensor of int64 with one dimension"),
    (lambda: op.tensor_to_shape(ints(2, 2)), "expected a tensor of int64 with one dimension"),
    (lambda: op.tensor_to_shape(number("int64")), "expected a tensor"),
]


@pytest.mark.parametrize(("build", "text"), REFUSED)
def test_calls_are_refused(build: Build, text: str) -> None:
    with pytest.raises(GraphTypeError, match=text):
        inferred(build())


def rewritten(x: Any) -> Any:
    """The value of a shape of a tensor by the rule of inference, and the bindings before it."""
    rule = operator_of("relax.tensor_to_shape").inference
    assert rule is not None
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        call = builder.normalize(op.tensor_to_shape(x))
        value = rule(builder, call)
        builder.emit_func_output(x)
    return value, builder.get()["main"].body.blocks


def test_sizes_in_a_tensor_become_variables() -> None:
    value, blocks = rewritten(ints(2))
    assert len(value.values) == 2
    packed, cast = blocks[0].bindings[-2:]
    assert str(packed.var.struct_info) == "R.Shape(ndim=2)"
    assert cast.struct_info.values == value.values
    assert isinstance(rewritten(ints(N))[0], relax.Call)  # of a number that is not known


def test_shapes_become_tensors_and_back() -> None:
    x = tensor(N, 2)
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        sizes = builder.emit(op.shape_to_tensor(builder.emit(op.shape_of(x))))
        back = builder.emit(op.tensor_to_shape(sizes))
        builder.emit_func_output(relax.Tuple([sizes, back]))
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), nd.cpu())
    sizes, back = machine["main"](nd.array(np.ones((5, 2), "float32")))
    assert sizes.numpy().tolist() == list(back) == [5, 2]
