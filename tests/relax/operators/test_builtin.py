"""Operators of memory before it is planned."""

from __future__ import annotations

import pytest

from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax.op import builtin
from te_sched.relax.operators.registry import operator_of
from tests.relax.operator_tables import N, inferred, shape, tensor, text_of


def test_an_allocated_tensor_has_the_shape_and_dtype_of_its_arguments() -> None:
    assert str(inferred(builtin.alloc_tensor((N, 2), "int8", 0))) == text_of("n, 2", "int8")
    assert str(inferred(builtin.alloc_tensor(shape(ndim=2), "int8", 0))).endswith("ndim=2)")
    call = builtin.alloc_tensor((4,), "float32", 1, "global.texture")
    assert [arg.value for arg in call.args[1:]] == ["float32", 1, "global.texture"]


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ((tensor(4), "int8", 0), GraphError, "the shape of relax.builtin.alloc_tensor is R.Tensor"),
        (((4,), tensor(4), 0), GraphTypeError, "the dtype of relax.builtin.alloc_tensor is x"),
    ],
)
def test_what_is_not_a_shape_or_dtype_is_refused(
    arguments: tuple[object, ...], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        inferred(builtin.alloc_tensor(*arguments))


def test_it_is_lowered_by_a_pass_alone() -> None:
    lower = operator_of("relax.builtin.alloc_tensor").lower
    assert lower is not None
    with pytest.raises(GraphError, match="alloc_tensor is left in the graph"):
        lower(builtin.alloc_tensor((4,), "float32", 0))


def test_the_tensor_whose_lifting_stops_is_itself() -> None:
    x = tensor(3)
    assert inferred(builtin.stop_lift_params(x)) is x.struct_info
