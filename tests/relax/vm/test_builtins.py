"""What instructions call: checks, shapes, views of memory."""

import numpy as np
import pytest

from te_sched import nd
from te_sched.errors import ArgumentError, ArgumentTypeError, CallError
from te_sched.relax.vm import builtins as b
from te_sched.relax.vm.bytecode import ShapeTuple

X = nd.array(np.zeros((2, 3), "int32"))


def test_shapes_are_matched_and_made():
    heap = b.alloc_shape_heap(None, 3)
    b.match_shape(X, heap, 2, 0, 2, 1, 1, "")
    assert b.make_shape(heap, 2, 0, 7, 1, 1) == [7, 3]
    assert b.make_prim_value(heap, 1, 1) == 3
    b.match_prim_value(3, heap, 3, 1, "")
    assert b.tensor_to_shape(b.shape_to_tensor(ShapeTuple([4, 5]))) == [4, 5]


@pytest.mark.parametrize(
    ("check", "error", "text"),
    [
        (lambda: b.check_tensor_info(1, 2, "a"), ArgumentTypeError, "a is an int, expected a ten"),
        (lambda: b.check_tensor_info(X, 3, "", "a"), ArgumentError, "a has ndim 2, expected 3"),
        (lambda: b.check_tensor_info(X, 2, "int8", "a"), ArgumentError, "a has dtype int32"),
        (lambda: b.check_shape_info([], 2, ""), ArgumentTypeError, "a value is a list"),
        (lambda: b.check_shape_info(ShapeTuple([1]), 2, "a"), ArgumentError, "a has 1 sizes"),
        (lambda: b.check_prim_value_info(1.5, "int64", "a"), ArgumentTypeError, "a is a float"),
        (lambda: b.check_tuple_info(X, 2, "a"), ArgumentTypeError, "expected a tuple"),
        (lambda: b.check_tuple_info((X,), 2, "a"), ArgumentError, "a has 1 element, expected 2"),
        (lambda: b.check_func_info(X, "a"), ArgumentTypeError, "expected a function"),
        (lambda: b.match_shape(1, None, 1, 0, 1, "a"), ArgumentTypeError, "expected a tensor or a"),
        (lambda: b.match_shape(X, None, 1, 0, 1, "a"), ArgumentError, "a has 2 dimensions"),
        (lambda: b.match_shape(X, None, 2, 0, 2, 0, 4, "a"), ArgumentError, "expected 4 along"),
        (lambda: b.match_prim_value(3, None, 0, 4, "a"), ArgumentError, "a is 3, expected 4"),
        (lambda: b.reshape(X, ShapeTuple([4])), ArgumentError, "cannot reshape a tensor"),
        (lambda: b.view(X, ShapeTuple([7]), (), ()), ArgumentError, "bytes 0 to 28 of a tensor"),
    ],
)
def test_checks_reject(check, error, text):
    with pytest.raises(error, match=text):
        check()


def test_tensors_stay_inside_of_storages():
    class Machine:
        def device(self, index):
            from te_sched import cpu

            return cpu(index)

    storage = b.alloc_storage(Machine(), ShapeTuple([16]), 0, "uint8")
    tensor = b.alloc_tensor(storage, 8, ShapeTuple([2]), "float32")
    tensor.copyfrom([1.0, 2.0])
    again = b.view(b.alloc_tensor(storage, 0, ShapeTuple([4]), "float32"), ShapeTuple([1]), (), 12)
    assert again.numpy() == 2
    with pytest.raises(CallError, match="does not fit into its storage"):
        b.alloc_tensor(storage, 8, ShapeTuple([3]), "float32")


def test_categories_are_selected_by_numbers():
    rows = nd.array(np.array([[0.25, 0.75], [0.5, 0.5]], "float32"))
    numbers = nd.array(np.array([[0.2], [0.9]], "float32"))
    assert b.multinomial_from_uniform(rows, numbers).numpy().tolist() == [[0], [1]]


def test_relations_of_sizes_are_checked_if_some_do_not_hold():
    heap = b.alloc_shape_heap(None, 3)
    heap.copyfrom([7, 4, 0])
    parts = (
        "at least",
        0,
        9,
        1,
        1,
        "9",
        "m",
        "a size of f",
        "equal",
        1,
        0,
        0,
        5,
        "n",
        "5",
        "sizes",
    )
    b.check_sizes(heap, 2, "main", *parts)
    heap.copyfrom([7, 4, 1])
    with pytest.raises(ArgumentError, match="sizes differ: n = 7 and 5"):
        b.check_sizes(heap, 2, "main", *parts)
    heap.copyfrom([7, 11, 2])
    with pytest.raises(ArgumentError, match="a size of f is 9, expected at least m = 11"):
        b.check_sizes(heap, 2, "main", *parts)
