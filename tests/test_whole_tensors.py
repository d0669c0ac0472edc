"""Operators on whole tensors load topi; those on a tensor without dimensions do not."""

from __future__ import annotations

import subprocess
import sys

import pytest

import te_sched
from te_sched import whole_tensors
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


ELEMENT = """
import sys
from te_sched import te
a = te.placeholder((), name="a")
print(type(a + 1.0).__name__, type(a.astype("int32")).__name__, "te_sched.topi" in sys.modules)
"""


def test_an_element_needs_no_topi() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ELEMENT], capture_output=True, text=True, check=True
    )
    assert done.stdout == "Add Cast False\n"
