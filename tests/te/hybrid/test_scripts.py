"""Scripts that are called: with arguments, by other scripts."""

import numpy as np
import pytest

from te_sched import build, te
from te_sched.errors import DeclarationError
from te_sched.te.hybrid import script
from tests.te.hybrid.checked import check, outer, refused


def test_scripts_call_scripts():
    @script
    def shifted(a, b):
        c = outer(4, 4, a, b)
        d = output_tensor(c.shape, c.dtype)  # noqa: F821
        for i in range(4):
            for j in range(4):
                d[i, j] = c[i, j] + i * j
        return d

    check(shifted, te.placeholder((4,), name="a"), te.placeholder((4,), name="b"))


def test_arguments_by_name_and_by_default():
    @script
    def scaled(a, factor, shift=1.0):
        b = output_tensor(a.shape, a.dtype)  # noqa: F821
        for i in range(a.shape[0]):
            b[i] = a[i] * factor + shift
        return b

    a = te.placeholder((5,), name="a")
    b = scaled(factor=2.0, a=a)
    module = build(te.create_schedule(b.op), [a, b])
    x, y = np.arange(5, dtype="float32"), np.zeros(5, "float32")
    module(x, y)
    np.testing.assert_allclose(y, scaled(x, shift=1.0, factor=2.0))
    with pytest.raises(DeclarationError, match="missing a required argument: 'factor'"):
        scaled(a)


def test_errors_of_what_a_script_calls_show_its_line():
    @script
    def wrong(a):
        b = output_tensor((4,), "float32")  # noqa: F821
        for i in range("x"):
            b[i] = a[i]
        return b

    refused(wrong, "hybrid script: TypeError: .*: for i in range")
