"""The packed functions that te_sched brings with it: matrix products by numpy's BLAS.

`registry` finds them by their names in TVM when a program asks for one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from te_sched.runtime.ndarray import NDArray


def matmul(
    left: NDArray, right: NDArray, out: NDArray, left_transposed: Any, right_transposed: Any
) -> None:
    """out = left @ right, of matrices or rows of matrices."""
    a, b = (np.from_dlpack(operand) for operand in (left, right))
    a = np.swapaxes(a, -1, -2) if left_transposed else a
    b = np.swapaxes(b, -1, -2) if right_transposed else b
    out[...] = np.matmul(a, b)


PACKED_FUNCTIONS = {
    f"tvm.contrib.{library}.{name}": matmul
    for library in ("cblas", "mkl", "dnnl")
    for name in ("matmul", "batch_matmul")
}
