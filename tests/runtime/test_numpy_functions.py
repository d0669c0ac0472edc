"""The packed functions that are implemented by numpy, called as programs call them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd

ROWS = np.float32([[2, 1, 2, np.nan, 0], [1, 1, 0, 3, 2]])


def call(name: str, *arguments: Any) -> None:
    te_sched.get_global_func(f"tvm.contrib.{name}")(*arguments)


@pytest.mark.parametrize(
    ("up", "expected"),
    [
        (True, [[4, 1, 0, 2, 3], [2, 0, 1, 4, 3]]),
        (False, [[3, 0, 2, 1, 4], [3, 4, 0, 1, 2]]),
    ],
)
def test_equal_elements_keep_their_order(up: bool, expected: list[list[int]]) -> None:
    out = nd.empty((2, 5), "int32")
    call("sort.argsort", nd.array(ROWS), out, 1, up)
    assert out.numpy().tolist() == expected
    values = nd.empty((2, 5))
    call("sort.sort", nd.array(ROWS), values, 1, up)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(ROWS, out.numpy(), 1))


def test_nan_of_bfloat16_is_last() -> None:
    data, out = nd.array(ROWS, dtype="bfloat16"), nd.empty((2, 5), "int32")
    call("sort.argsort", data, out, 1, True)
    assert out.numpy()[0].tolist() == [4, 1, 0, 2, 3]


@pytest.mark.parametrize("axis", [0, 1])
def test_elements_after_the_valid_ones_stay(axis: int) -> None:
    data = np.float32([[3, 2, 1], [1, 2, 3]])
    data, out = (data.T if axis == 0 else data), nd.empty((3, 2) if axis == 0 else (2, 3), "int32")
    call("sort.argsort_nms", nd.array(data), nd.array(np.int32([2, 3])), out, axis, True)
    places = out.numpy().T if axis == 0 else out.numpy()
    assert places.tolist() == [[1, 0, 2], [0, 1, 2]]


@pytest.mark.parametrize(("k", "count"), [(2, 2), (0, 5)])
def test_the_largest_of_rows(k: int, count: int) -> None:
    data = np.float32([[5, 1, 4, 2, 3]])
    values, places = nd.empty((1, count)), nd.empty((1, count), "int64")
    call("sort.topk", nd.array(data), values, places, k, 1, "both", False)
    order = np.argsort(-data)[:, :count]
    np.testing.assert_array_equal(places.numpy(), order)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(data, order, 1))
    call("sort.topk", nd.array(data), places, k, 1, "indices", True)
    np.testing.assert_array_equal(places.numpy(), np.argsort(data)[:, :count])


@pytest.mark.parametrize("library", ["cblas", "mkl", "dnnl"])
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_products_of_matrices(library: str, turned: tuple[bool, bool]) -> None:
    draw = np.random.default_rng(0)
    a, b = draw.random((2, 3, 4), "float32"), draw.random((2, 4, 5), "float32")
    operands = [
        np.ascontiguousarray(one.swapaxes(1, 2)) if is_turned else one
        for one, is_turned in zip((a, b), turned, strict=True)
    ]
    out = nd.empty((2, 3, 5))
    call(f"{library}.batch_matmul", *map(nd.array, operands), out, *turned)
    np.testing.assert_allclose(out.numpy(), a @ b, rtol=1e-5)
