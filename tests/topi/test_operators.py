"""Python's operators on whole tensors, in processes that have not loaded topi."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te


def test_arrays_are_no_operands() -> None:
    a = te.placeholder((4,), name="a")
    for action in (lambda: np.ones(4) + a, lambda: a * np.ones(4), lambda: np.ones(4) - a[0]):
        with pytest.raises(
            te_sched.DeclarationError, match="an ndarray cannot be used in an expression"
        ):
            action()
    for number in (np.float32(2), np.int64(2)):
        assert str(number * a[0]) == str(te.const(number) * a[0])
        assert (number * a).shape == a.shape


def test_an_element_is_still_asked_for_its_index() -> None:
    a = te.placeholder((4,), name="a")
    with pytest.raises(te_sched.DeclarationError, match="index it"):
        te.compute((4,), lambda i: a[i] + a)
    with pytest.raises(te_sched.DeclarationError, match=r"index it|a tensor"):
        te.compute((4,), lambda i: a + 1.0)
    np.testing.assert_equal(te.compute((4,), lambda i: a[i] + 1.0).ndim, 1)


def test_an_element_and_a_variable_with_a_whole_tensor() -> None:
    a, n = te.placeholder((4,), name="a"), te.var("n", "float32")
    x = np.arange(1, 5, dtype="float32")
    for made, expected in (
        (a[1] - a, x[1] - x),
        (a[2] * 2.0 / a, x[2] * 2 / x),
        (n + a, 3 + x),
        (n * a, 3 * x),
    ):
        out = np.zeros(4, "float32")
        te_sched.build(te.create_schedule(made.op), [n, a, made])(3.0, x, out)
        np.testing.assert_allclose(out, expected)
