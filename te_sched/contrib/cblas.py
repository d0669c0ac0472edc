"""te_sched.contrib.cblas: matrix products by numpy's BLAS, as extern operations."""

from __future__ import annotations

from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import DeclarationError
from te_sched.ir.calls import call_packed
from te_sched.signatures import checked
from te_sched.te.extern import extern
from te_sched.te.tensor import Tensor, tensor_label

__all__ = ["batch_matmul", "matmul"]


@checked
def matmul(lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False) -> Any:
    """The product of two matrices, each optionally transposed.

    >>> from te_sched import te
    >>> A, B = te.placeholder((2, 3), name="A"), te.placeholder((3, 4), name="B")
    >>> matmul(A, B).shape
    [2, 4]
    """
    return _product("matmul", 2, lhs, rhs, bool(transa), bool(transb))


@checked
def batch_matmul(lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False) -> Any:
    """The products of two batches of matrices, each optionally transposed.

    >>> from te_sched import te
    >>> A, B = te.placeholder((5, 2, 3), name="A"), te.placeholder((5, 3, 4), name="B")
    >>> batch_matmul(A, B).shape
    [5, 2, 4]
    """
    return _product("batch_matmul", 3, lhs, rhs, bool(transa), bool(transb))


def _product(name: str, rank: int, lhs: Tensor, rhs: Tensor, transa: bool, transb: bool) -> Any:
    for tensor in (lhs, rhs):
        if tensor.ndim != rank:
            raise DeclarationError(
                f"tensor {tensor.name} has {tensor.ndim} dimensions, expected {rank}",
                "",
                "reshape it, or use matmul for matrices and batch_matmul for rows of them",
                tensor_label(tensor),
            )
    rows, columns = lhs.shape[-1 if transa else -2], rhs.shape[-2 if transb else -1]
    return extern(
        (*lhs.shape[:-2], rows, columns),
        [lhs, rhs],
        lambda ins, outs: call_packed(
            f"tvm.contrib.cblas.{name}", ins[0], ins[1], outs[0], transa, transb
        ),
        name="C",
        dtype=lhs.dtype,
    )


_tell_of_absent_names(__name__)
