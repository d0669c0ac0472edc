"""Functions that copy the elements of a tensor in their order."""

import pytest

from te_sched import te, tir, topi
from te_sched.relax.analysis import has_reshape_pattern

N = tir.Var("n", "int64")


def is_reshape(function, *shape):
    a = te.placeholder(shape, name="A")
    return has_reshape_pattern(te.create_prim_func([a, function(a)]))


@pytest.mark.parametrize(
    ("function", "shape", "expected"),
    [
        (lambda a: topi.reshape(a, (2, 12)), (4, 6), True),
        (topi.nn.flatten, (2, 3, 4), True),
        (lambda a: topi.expand_dims(a, 1), (4, 6), True),
        (lambda a: topi.squeeze(a, 0), (1, 6), True),
        (lambda a: topi.expand_dims(a, 1), (N, 6), True),
        (lambda a: topi.transpose(a, (0, 2, 1)), (2, 1, 5), True),
        (topi.transpose, (4, 6), False),
        (lambda a: topi.flip(a, 0), (4,), False),
        (lambda a: topi.strided_slice(a, [0], [2]), (4,), True),  # callers compare the sizes
        (lambda a: topi.strided_slice(a, [1], [3]), (4,), False),
        (topi.exp, (4,), False),
        (lambda a: topi.reshape(a, (3, 0)), (0, 6), False),
    ],
)
def test_the_order_of_elements(function, shape, expected):
    assert is_reshape(function, *shape) == expected


def test_sums_and_functions_of_one_buffer_are_not_reshapes():
    assert not is_reshape(lambda a: topi.sum(a, axis=1), 4, 1)
    a = te.placeholder((4,), name="A")
    assert not has_reshape_pattern(te.create_prim_func([a]))


def test_a_copy_of_the_second_of_two_tensors_is_not_a_reshape():
    a, b = te.placeholder((4,), name="A"), te.placeholder((4,), name="B")
    assert not has_reshape_pattern(te.create_prim_func([a, b, topi.reshape(b, (2, 2))]))
