"""te_sched.contrib.cblas: matrix products computed by numpy's BLAS, as parts of programs."""

from __future__ import annotations

from typing import Any

from te_sched.ir.calls import call_packed
from te_sched.te.extern import extern
from te_sched.te.tensor import Tensor

__all__ = ["batch_matmul", "matmul"]


def matmul(lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False) -> Any:
    """The product of two matrices, each transposed first if so asked."""
    rows = lhs.shape[1] if transa else lhs.shape[0]
    columns = rhs.shape[0] if transb else rhs.shape[1]
    return extern(
        (rows, columns),
        [lhs, rhs],
        lambda ins, outs: call_packed(
            "tvm.contrib.cblas.matmul", ins[0], ins[1], outs[0], transa, transb
        ),
        name="C",
        dtype=lhs.dtype,
    )


def batch_matmul(lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False) -> Any:
    """The products of two rows of matrices."""
    rows = lhs.shape[2] if transa else lhs.shape[1]
    columns = rhs.shape[1] if transb else rhs.shape[2]
    return extern(
        (lhs.shape[0], rows, columns),
        [lhs, rhs],
        lambda ins, outs: call_packed(
            "tvm.contrib.cblas.batch_matmul", ins[0], ins[1], outs[0], transa, transb
        ),
        name="C",
        dtype=lhs.dtype,
    )
