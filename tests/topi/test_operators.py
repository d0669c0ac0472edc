"""Python's operators on whole tensors, in processes that have not loaded topi."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import te_sched
from te_sched import te, whole_tensors
from te_sched.te.tensor import Tensor

PROGRAM = """
import sys
import numpy as np
import te_sched
from te_sched import te

assert "te_sched.topi" not in sys.modules
a, b = te.placeholder((2, 3), name="a"), te.placeholder((3,), name="b")
s = te.placeholder((), name="s")
te.compute((2,), lambda i: s + 1.0 - s * a[i, 0])
assert "te_sched.topi" not in sys.modules
c = {expression}
x, y = np.arange(6, dtype="float32").reshape(2, 3), np.array([1, 2, 4], "float32")
out = np.zeros((2, 3), c.dtype)
te_sched.build(te.create_schedule(c.op), [a, b, c])(x, y, out)
a, b = x, y
np.testing.assert_allclose(out, {expression})
"""
EXPRESSIONS = ["a + b", "2.0 - a * b", "-(a / b)", "(a * 1.5 - b).astype('int32')", "b * a + 1.0"]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_operators_load_topi(expression: str) -> None:
    program = PROGRAM.format(expression=expression)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_operators_of_topi_take_their_place() -> None:
    assert te_sched.topi is not None
    for name in whole_tensors.OPERATORS:
        assert getattr(Tensor, name).__module__ == "te_sched.topi.operators"


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
