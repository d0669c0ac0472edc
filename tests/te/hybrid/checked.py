"""Scripts as operations against scripts as Python."""

import numpy as np
import pytest

from te_sched import build, te
from te_sched.errors import DeclarationError
from te_sched.te.hybrid import script

SIZES = {"n": 9, "m": 4}


def check(function, *args, sizes=None):
    """The operation on random arrays against the script run by Python."""
    outs = function(*args)
    outs = outs if isinstance(outs, list) else [outs]
    params = [arg for arg in args if isinstance(arg, te.Tensor | type(te.var()))]
    module = build(te.create_schedule([outs[0].op]), [*params, *outs])
    concrete = [value_of(arg) for arg in args]
    expected = function(*concrete)
    expected = expected if isinstance(expected, tuple) else (expected,)
    found = [np.zeros_like(one) for one in expected]
    module(
        *(one for one, arg in zip(concrete, args, strict=True) if any(arg is p for p in params)),
        *found,
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def value_of(arg):
    if isinstance(arg, te.Tensor):
        shape = [value_of(extent) for extent in arg.shape]
        return (np.random.rand(*shape) * 9 + 1).astype(arg.dtype)
    if hasattr(arg, "name"):
        return SIZES[arg.name]
    return getattr(arg, "value", arg)


@script
def outer(n, m, a, b):
    """Every product."""
    c = output_tensor((n, m), a.dtype)  # noqa: F821
    for i in range(n):
        for j in range(m):
            c[i, j] = a[i] * b[j]
    return c


def refused(function, match):
    with pytest.raises(DeclarationError, match=match) as caught:
        function(te.placeholder((4, 4), name="a"))
    assert __file__ in str(caught.value)
