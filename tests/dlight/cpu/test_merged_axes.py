"""The last two dimensions of open sizes as one: where, and what is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import dlight, te, topi
from te_sched.dlight.cpu.merged_axes import with_merged_axes
from te_sched.dlight.simple_accesses import with_simple_accesses
from te_sched.ir.stmt import PrimFunc
from te_sched.target import Target

LLVM = Target("llvm")
N, M = (te.var(name, "int64") for name in "nm")
SIZES = [(5, 7), (1, 1), (1, 9), (16, 20), (0, 3), (3, 0)]
Build = Callable[[Any, Any], Any]


def image(name: str = "A", channels: int = 6, sizes: tuple[Any, Any] = (N, M)) -> Any:
    return te.placeholder((1, channels, *sizes), "float32", name)


def merged_shapes(func: PrimFunc) -> list[int]:
    """The ranks of the views that are read and written."""
    text = str(with_merged_axes(with_simple_accesses(func)))
    return [text.count("_rows = T.Buffer("), text.count("_rows[")]


def gated(a: Any, weight: Any) -> Any:
    return topi.multiply(topi.sigmoid(a), weight)


def pointwise(a: Any, weight: Any) -> Any:
    return topi.nn.relu(topi.nn.conv2d(a, weight, 1, 0, 1))


def means(a: Any, weight: Any) -> Any:
    return topi.multiply(topi.sum(a, [2, 3], keepdims=True), weight)


PROGRAMS: dict[str, tuple[Build, tuple[int, ...], Callable[[Any, Any], Any]]] = {
    "gate": (gated, (1, 6, 1, 1), lambda a, w: w / (1 + np.exp(-a))),
    "product": (
        pointwise,
        (4, 6, 1, 1),
        lambda a, w: np.maximum(np.einsum("nchw,fc->nfhw", a, w[:, :, 0, 0]), 0),
    ),
    "sum": (means, (1, 6, 1, 1), lambda a, w: a.sum((2, 3), keepdims=True) * w),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_merged_programs_compute_the_same(name: str) -> None:
    make, shape, expected = PROGRAMS[name]
    a, weight = image(), te.placeholder(shape, "float32", "W")
    func = te.create_prim_func([a, weight, make(a, weight)])
    assert merged_shapes(func)[0] > 0
    sch = dlight.cpu.Default().apply(func, LLVM, False)
    built = te_sched.build(sch.mod["main"], target="llvm")
    for sizes in SIZES:
        data = np.random.default_rng(0).uniform(-1, 1, (1, 6, *sizes)).astype("float32")
        weights = np.random.default_rng(1).uniform(-1, 1, shape).astype("float32")
        wanted = expected(data, weights)
        out = np.full(wanted.shape, np.nan, "float32")
        built(data, weights, out)
        np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-5)


def shifted(a: Any) -> Any:
    return te.compute(a.shape, lambda n, c, y, x: a[n, c, y, x] * y.astype("float32"))


def transposed(a: Any) -> Any:
    return te.compute((1, 6, M, N), lambda n, c, x, y: a[n, c, y, x])


def window(a: Any) -> Any:
    return topi.nn.pool2d(a, (2, 2), (1, 1), (1, 1), (0, 0, 0, 0), "max")


def reshaped(a: Any) -> Any:
    return te.compute((1, 6, N), lambda n, c, y: a[n, c, y, 0])


@pytest.mark.parametrize("make", [shifted, transposed, window, reshaped])
def test_dimensions_that_are_needed_apart_stay(make: Callable[[Any], Any]) -> None:
    a = image()
    func = te.create_prim_func([a, make(a)])
    assert with_merged_axes(func) is func


@pytest.mark.parametrize("shape", [(N, M), (1, 1, N, M), (7, 9)])
def test_arrays_of_one_image_stay(shape: tuple[Any, ...]) -> None:
    """Without another dimension no loop would be left for the processors to share."""
    a = te.placeholder(shape, "float32", "A")
    func = te.create_prim_func([a, topi.exp(a)])
    assert with_merged_axes(func) is func


@pytest.mark.parametrize(("columns", "is_merged"), [(7, True), (16, False), (20, True)])
def test_given_rows_that_vectors_do_not_divide_are_merged(columns: int, is_merged: bool) -> None:
    a = te.placeholder((2, 6, 5, columns), "float32", "A")
    func = te.create_prim_func([a, topi.sum(topi.exp(a), [2, 3])])
    assert ("A_rows" in str(with_merged_axes(with_simple_accesses(func), 16))) == is_merged
    built = te_sched.build(dlight.cpu.Default().apply(func, LLVM, False).mod["main"], "llvm")
    data = np.random.default_rng(0).uniform(-1, 1, (2, 6, 5, columns)).astype("float32")
    out = np.empty((2, 6), "float32")
    built(data, out)
    np.testing.assert_allclose(out, np.exp(data).sum((2, 3)), rtol=1e-5)


def test_products_of_given_sizes_stay() -> None:
    a, w = te.placeholder((1, 6, 5, 7), "float32", "A"), te.placeholder((4, 6, 1, 1), name="W")
    func = te.create_prim_func([a, w, pointwise(a, w)])
    assert with_merged_axes(func, 16) is func


def test_a_block_that_needs_them_apart_keeps_those_of_all_its_buffers() -> None:
    """The sum is not merged, though the reader of the other result could be."""
    a, b = image("A"), image("B")
    func = te.create_prim_func([a, b, topi.add(shifted(a), b)])
    assert with_merged_axes(func) is func
    one, other = image("A"), image("B")
    func = te.create_prim_func([one, other, transposed(one), topi.exp(other)])
    assert merged_shapes(func)[0] > 0
    assert "A_rows" not in str(with_merged_axes(func))


def test_one_open_size_suffices() -> None:
    a = image(sizes=(N, 8))
    assert merged_shapes(te.create_prim_func([a, topi.exp(a)]))[0] > 0


def test_arrays_of_other_strides_are_refused_or_computed_right() -> None:
    a = image()
    sch = dlight.cpu.Default().apply(te.create_prim_func([a, topi.exp(a)]), LLVM, False)
    built = te_sched.build(sch.mod["main"], target="llvm")
    data = np.random.default_rng(0).uniform(-1, 1, (1, 6, 4, 10)).astype("float32")[..., ::2]
    out = np.empty((1, 6, 4, 5), "float32")
    with pytest.raises(te_sched.CallError, match="stride"):
        built(data, out)
