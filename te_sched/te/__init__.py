"""Declaring: tensors, axes, reductions."""

from te_sched.ir.intrinsics import if_then_else, max_value, min_value
from te_sched.te.declare import compute, const, placeholder, reduce_axis, size_var, thread_axis, var
from te_sched.te.operation import ComputeOp, ExternOp, Operation, PlaceholderOp, ScanOp
from te_sched.te.reducer import comm_reducer, max, min, prod, sum
from te_sched.te.tensor import Tensor, TensorSlice

__all__ = [
    "ComputeOp",
    "ExternOp",
    "Operation",
    "PlaceholderOp",
    "ScanOp",
    "Tensor",
    "TensorSlice",
    "comm_reducer",
    "compute",
    "const",
    "if_then_else",
    "max",
    "max_value",
    "min",
    "min_value",
    "placeholder",
    "prod",
    "reduce_axis",
    "size_var",
    "sum",
    "thread_axis",
    "var",
]
