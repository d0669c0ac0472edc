"""te_sched.testing: comparing results, with TVM's names."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Fail unless two arrays are equal up to `atol + rtol * |desired|` in every element.

    Both may be arrays of te_sched or of numpy.
    """
    actual, desired = (
        x.numpy() if hasattr(x, "numpy") else np.asanyarray(x) for x in (actual, desired)
    )
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=True)


__all__ = ["assert_allclose"]
