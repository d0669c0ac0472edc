"""Axes, sizes and results by what is known, which operators that move elements share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from te_sched import relax
from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax.operators import sizes
from te_sched.relax.size_relations import SizeRelations
from tests.relax.operator_tables import K, M, N, ints, shape, tensor, text_of, unknown

CALL = relax.op.concat([tensor(N, 3), tensor(N, 3)])
BUILDER = relax.BlockBuilder()

ANSWERS: list[tuple[Callable[[], Any], Any]] = [
    (lambda: sizes.as_axes(None), None),
    (lambda: sizes.as_axes(-1), (-1,)),
    (lambda: sizes.as_axes([0, 2]), (0, 2)),
    (lambda: [str(size) for size in sizes.as_sizes(3, 2, "strides")], ["T.int64(3)"] * 2),
    (lambda: sizes.as_sizes((N, 2), 2, "strides")[0], N),
    (lambda: [size.dtype for size in sizes.as_sizes(3, 1, "size", dtype="int32")], ["int32"]),
    (lambda: [size.value for size in sizes.as_padding(1, 2)], [1, 1, 1, 1]),
    (lambda: [size.value for size in sizes.as_padding((1, 2), 2)], [1, 2, 1, 2]),
    (lambda: [size.value for size in sizes.as_padding((1, 2, 3, 4), 2)], [1, 2, 3, 4]),
    (lambda: str(sizes.as_shape([N, 2])), "R.shape([n, 2])"),
    (lambda: sizes.axis_of(CALL, -1, 3), 2),
    (lambda: sizes.axes_of(CALL, [-1, 0], 3), [2, 0]),
    (lambda: sizes.given_sizes(4, "k"), (4,)),
    (lambda: str(sizes.product([N, M, K])), "n * m * k"),
    (lambda: sizes.product([]).value, 1),
    (lambda: sizes.known_sizes(unknown(2).struct_info), None),
    (lambda: len(sizes.fields_of(CALL, 0)), 2),
    (lambda: str(sizes.unknown(ints(2).struct_info, 3)), 'R.Tensor(dtype="int64", ndim=3)'),
    (lambda: str(sizes.sized(ints(2).struct_info, [N], "int8")), text_of("n,", "int8")),
]


@pytest.mark.parametrize(("answer", "expected"), ANSWERS)
def test_answers(answer: Callable[[], Any], expected: Any) -> None:
    assert answer() == expected


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: sizes.as_sizes([1, 2], 3, "strides"),
        GraphError,
        "strides has 2 values, expected 1 or 3",
    ),
    (
        lambda: sizes.as_sizes([1, 0], 2, "strides", least=1),
        GraphError,
        r"strides is \[1, 0\], expected at least 1",
    ),
    (lambda: sizes.check_groups(0, "conv1d"), GraphError, "conv1d has 0 groups"),
    (lambda: sizes.as_padding([1, 2, 3], 2), GraphError, "padding has 3 values"),
    (lambda: sizes.axis_of(CALL, 2, 2), GraphError, "axis 2 of relax.concat is out of range for 2"),
    (lambda: sizes.axis_of(CALL, 0, 0), GraphError, "the tensor has no axis"),
    (lambda: sizes.axes_of(CALL, [0, -2], 2), GraphError, r"the axes \[0, -2\] .* not distinct"),
    (
        lambda: sizes.fields_of(relax.op.exp(tensor(2)), 0),
        GraphTypeError,
        "expected a tuple of tensors",
    ),
    (lambda: sizes.shape_argument(CALL, 0), GraphTypeError, "expected a shape"),
    (lambda: sizes.given_sizes([1, 2.5], "k"), GraphTypeError, "a value of k is 2.5"),
    (
        lambda: sizes.check_equal(CALL, BUILDER, N, N + 1, "the sizes"),
        GraphError,
        r"the sizes of relax.concat differ: n and n \+ 1",
    ),
    (
        lambda: sizes.check_at_least(CALL, BUILDER, N, N + 1, "the size"),
        GraphError,
        r"the size of relax.concat is n, expected at least n \+ 1",
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), REFUSED)
def test_refusals(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()


def test_sizes_of_a_variable_that_is_a_shape() -> None:
    known = relax.TensorStructInfo(shape(N, 2), "float32")
    values = sizes.known_sizes(known)
    assert values is not None
    assert values[0] is N
    assert sizes.known_sizes(relax.TensorStructInfo(shape(ndim=2), "float32")) is None


def test_relations_that_are_not_proved_are_left_to_calls() -> None:
    builder = relax.BlockBuilder()
    builder.relations = SizeRelations()
    sizes.check_equal(CALL, builder, N, M, "the sizes")
    sizes.check_equal(CALL, builder, N, N, "the sizes")
    sizes.check_at_least(CALL, builder, N, M, "the size")
    relations = [(one.kind, one.subject) for one in builder.relations.items]
    assert relations == [
        ("equal", "the sizes of relax.concat"),
        ("at least", "the size of relax.concat"),
    ]
