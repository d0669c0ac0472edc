"""What is odd but legal: data types of numpy, empty axes, unsigned divisions."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te, tir


def test_numpy_data_types_and_shapes_are_taken() -> None:
    for dtype in (np.float32, np.dtype("float32"), "float32"):
        assert te.placeholder(np.array([2, 3]), dtype=dtype).dtype == "float32"
        assert te.const(1, dtype).dtype == "float32"
    assert te.placeholder((2,), dtype=bool).dtype == te.placeholder((2,), "uint1").dtype == "bool"
    assert te.reduce_axis(te_sched.Range(te.const(0), te.const(3))).dom.extent.value == 3
    assert te.reduce_axis(te_sched.Range(0, 3)).dom.extent.value == 3  # type: ignore[arg-type]


def test_bound_buffers_are_arguments() -> None:
    B = te.placeholder((8,), name="B")
    C = te.compute((8,), lambda i: B[i] + 1, name="C")
    buffer = tir.decl_buffer((8,), name="buffer")
    module = te_sched.build(te.create_schedule(C.op), iter([B, buffer]), binds={C: buffer})
    out = np.zeros(8, "float32")
    module(np.ones(8, "float32"), out)
    np.testing.assert_array_equal(out, 2)


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0, 0), (1, 1)])
def test_fused_axes_may_be_empty(shape: tuple[int, int]) -> None:
    source = te.placeholder(shape, name="source")
    twice = te.compute(shape, lambda i, j: source[i, j] * 2, name="twice")
    s = te.create_schedule(twice.op)
    outer, _ = s[twice].split(s[twice].fuse(*twice.op.axis), 5)
    s[twice].parallel(outer)
    out = np.zeros(shape, "float32")
    te_sched.build(s, [source, twice])(np.ones(shape, "float32"), out)
    np.testing.assert_array_equal(out, 2)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_unsigned_numbers_are_divided_as_such(dtype: str) -> None:
    high = np.iinfo(dtype).max
    values = np.array([high, high - 1, 200, 7], dtype)
    divisors = np.array([2, high, 130, 3], dtype)
    a, b = te.placeholder((4,), dtype, name="a"), te.placeholder((4,), dtype, name="b")
    for function, expected in ((te.floordiv, values // divisors), (te.floormod, values % divisors)):
        c = te.compute((4,), lambda i, f=function: f(a[i], b[i]), name="c")
        out = np.zeros(4, dtype)
        te_sched.build(te.create_schedule(c.op), [a, b, c])(values, divisors, out)
        np.testing.assert_array_equal(out, expected)
