"""The declaration of a tensor in mathematical notation. Must not know schedules."""

from __future__ import annotations

from te_sched.ir.expr import Expr, IterVar, Range, Reduce
from te_sched.ir.ops import is_const
from te_sched.te.intrin_call import TensorComputeOp
from te_sched.te.operation import (
    ComputeOp,
    ExternOp,
    Operation,
    PlaceholderOp,
    ScanOp,
)
from te_sched.te.tensor import Tensor
from te_sched.views.notation import Notation, array_type

_NOTATION = Notation()


def type_text(tensor: Tensor) -> str:
    """ "float32[1024, n]"."""
    return array_type(tensor.dtype, tensor.shape, _NOTATION.text)


def declaration(tensor: Tensor) -> tuple[str, ...]:
    """The lines that describe a tensor: "C[i, j] = sum(A[i, k] * B[k, j], axis=k)", then the
    domains of its axes.
    """
    op = tensor.op
    if isinstance(op, PlaceholderOp):
        return (f"{tensor.name} is given by the caller",)
    if isinstance(op, ComputeOp):
        return _computed(tensor, op)
    if isinstance(op, ScanOp):
        index = tensor.value_index
        step = op.scan_axis.var.name
        return (
            f"{tensor.name} begins as {op.init[index].name}",
            f"{tensor.name}[{step}, ...] = {op.update[index].name}[{step}, ...]",
            _domain(op.scan_axis),
        )
    if isinstance(op, TensorComputeOp):
        return _called(tensor, op)
    return (
        f"{tensor.name} = {_reader(op)}({', '.join(tensor.name for tensor in op.input_tensors)})",
    )


def _computed(tensor: Tensor, op: ComputeOp) -> tuple[str, ...]:
    body: Expr = op.body[tensor.value_index]
    names = ", ".join([axis.var.name for axis in op.axis])
    reduced = body.axis if isinstance(body, Reduce) else ()
    line = f"{tensor.name}[{names}] = {_NOTATION.text(body)}"
    return (line, *map(_domain, (*op.axis, *reduced)))


def _called(tensor: Tensor, op: TensorComputeOp) -> tuple[str, ...]:
    regions = zip(op.inputs, op.input_regions, strict=True)
    inputs = [f"{tensor.name}[{', '.join(map(_range_text, region))}]" for tensor, region in regions]
    arguments = [*inputs, *map(_NOTATION.text, op.scalar_inputs)]
    if op.reduce_axis:
        arguments.append(f"reduce_axis={', '.join([axis.var.name for axis in op.reduce_axis])}")
    axes = ", ".join([":" if axis.kind == "Opaque" else axis.var.name for axis in op.axis])
    line = f"{tensor.name}[{axes}] = {op.intrin.name}({', '.join(arguments)})"
    return (line, *map(_domain, (*op.axis[: op.schedulable_ndim], *op.reduce_axis)))


def _range_text(bound: Range) -> str:
    first = _NOTATION.text(bound.min)
    return (
        first
        if is_const(bound.extent, 1)
        else f"{first}:{_NOTATION.text(bound.min + bound.extent)}"
    )


def _domain(axis: IterVar) -> str:
    kind = ", reduced" if axis.kind == "CommReduce" else ""
    return f"  {axis.var.name} in {_NOTATION.text(axis.dom)}{kind}"


def _reader(op: Operation) -> str:
    return "extern" if type(op) is ExternOp else "hybrid"
