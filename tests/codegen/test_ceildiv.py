"""Quotients rounded up, of values up to the ends of their types."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te, tir

DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("divisor", [1, 2, 10, 64, 127, -3])
def test_quotients_rounded_up_are_exact(dtype, divisor):
    limits = np.iinfo(dtype)
    if divisor < limits.min:
        pytest.skip("an unsigned type has no negative divisor")
    numbers = [limits.min, limits.min + 1, -1, 0, 1, 9, 10, 11, limits.max - 1, limits.max]
    values = np.array([number for number in numbers if number >= limits.min], dtype)
    A = te.placeholder(values.shape, dtype, name="A")
    B = te.compute(A.shape, lambda i: te.ceildiv(A[i], tir.const(divisor, dtype)), name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(s[B].split(B.op.axis[0], 2)[1])
    results = np.zeros_like(values)
    te_sched.build(s, [A, B], target="llvm")(values, results)
    assert results.tolist() == [-(-int(value) // divisor) for value in values]
