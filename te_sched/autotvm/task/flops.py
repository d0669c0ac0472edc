"""The number of arithmetic operations of a schedule's program.

Operations on loaded values count, also of integers and comparisons; casts, calls, conditions of
selects and indices do not. Must not know templates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from te_sched.errors import FlopCalculationError as FlopCalculationError
from te_sched.errors import Subject
from te_sched.ir.expr import (
    BinaryOp,
    CompareOp,
    Expr,
    IntImm,
    IterVar,
    Not,
    ProducerLoad,
    Reduce,
    Select,
)
from te_sched.ir.visitor import children
from te_sched.schedule.schedule import Schedule
from te_sched.signatures import checked
from te_sched.te.operation import ComputeOp, Operation, PlaceholderOp

_HELP = "set the number in the template: cfg.add_flop(2 * n * m)"


@checked
def compute_flop(sch: Schedule) -> int:
    """The number of arithmetic operations of the program of a schedule.

    >>> A = te.placeholder((8, 4), name="A")
    >>> k = te.reduce_axis((0, 4), name="k")
    >>> B = te.compute((8,), lambda i: te.sum(A[i, k] * 2.0, axis=k), name="B")
    >>> compute_flop(te.create_schedule(B.op))
    64

    Raises
    ------
    FlopCalculationError if there are none, or they cannot be counted.
    """
    ops: dict[Operation, None] = {}
    pending = [sch[op].origin_op for op in sch.outputs]
    while pending:
        op = pending.pop()
        if op not in ops:
            ops[op] = None
            pending += [tensor.op for tensor in op.input_tensors]
    total = sum(map(_operations, ops))
    if not total:
        raise FlopCalculationError(
            "cannot count the operations of the schedule",
            "it has no arithmetic",
            _HELP,
            in_tvm="Cannot find float number operation in this operator",
        )
    return total


def _operations(op: Operation) -> int:
    if isinstance(op, PlaceholderOp):
        return 0
    if not isinstance(op, ComputeOp):
        raise _uncountable(op, "it is not te.compute")
    if len(op.body) > 1:
        raise _uncountable(op, "it has several outputs")
    value = op.body[0]
    if isinstance(value, Reduce):
        each = sum(map(_count, (*value.combiner.result, *value.source)))
        return _size(op, (*op.axis, *value.axis)) * each
    return _size(op, op.axis) * _count(value)


def _size(op: Operation, axes: Iterable[IterVar]) -> int:
    extents = [None if axis.dom is None else axis.dom.extent for axis in axes]
    constants = [extent.value for extent in extents if isinstance(extent, IntImm)]
    if len(constants) < len(extents):
        raise _uncountable(op, "the length of an axis is not constant")
    return math.prod(constants)


def _count(value: Expr) -> int:
    """The operations of an expression, without indices and conditions of selects."""
    pending: list[Any] = [value]
    count = 0
    while pending:
        node = pending.pop()
        count += isinstance(node, BinaryOp | CompareOp | Not)
        if isinstance(node, Select):
            pending += [node.true_value, node.false_value]
        elif not isinstance(node, ProducerLoad):
            pending += children(node)
    return count


def _uncountable(op: Operation, why: str) -> FlopCalculationError:
    where = Subject("operation", op.name)
    fault = f"FLOP estimator fails for this operator: cannot count the operations of {op.name}"
    return FlopCalculationError(fault, why, _HELP, where)
