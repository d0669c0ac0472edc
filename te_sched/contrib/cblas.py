"""te_sched.contrib.cblas: matrix products computed by numpy's BLAS, as parts of programs."""

from __future__ import annotations

from typing import Any

from te_sched.errors import DeclarationError
from te_sched.ir.calls import call_packed
from te_sched.signatures import checked
from te_sched.te.extern import extern
from te_sched.te.tensor import Tensor, tensor_label

__all__ = ["batch_matmul", "matmul"]


def _check_ranks(lhs: Tensor, rhs: Tensor, rank: int) -> None:
    for tensor in (lhs, rhs):
        if tensor.ndim != rank:
            raise DeclarationError(
                f"a product of matrices with {tensor.name} of {tensor.ndim} dimensions",
                f"{rank} are needed",
                "reshape it, or use matmul for matrices and batch_matmul for rows of them",
                tensor_label(tensor),
            )


@checked
def matmul(lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False) -> Any:
    """The product of two matrices, each transposed first if so asked."""
    _check_ranks(lhs, rhs, 2)
    rows = lhs.shape[1] if transa else lhs.shape[0]
    columns = rhs.shape[0] if transb else rhs.shape[1]
    return extern(
        (rows, columns),
        [lhs, rhs],
        lambda ins, outs: call_packed(
            "tvm.contrib.cblas.matmul", ins[0], ins[1], outs[0], bool(transa), bool(transb)
        ),
        name="C",
        dtype=lhs.dtype,
    )


@checked
def batch_matmul(lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False) -> Any:
    """The products of two rows of matrices."""
    _check_ranks(lhs, rhs, 3)
    rows = lhs.shape[2] if transa else lhs.shape[1]
    columns = rhs.shape[1] if transb else rhs.shape[2]
    return extern(
        (lhs.shape[0], rows, columns),
        [lhs, rhs],
        lambda ins, outs: call_packed(
            "tvm.contrib.cblas.batch_matmul", ins[0], ins[1], outs[0], bool(transa), bool(transb)
        ),
        name="C",
        dtype=lhs.dtype,
    )
