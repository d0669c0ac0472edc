"""Arguments for calls of a program: random inputs, outputs of zeros, and its number of operations.
Must not know the purpose of calls.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from te_sched.arith.analyzer import Analyzer
from te_sched.cli.problems import CommandError
from te_sched.cli.recording import Found
from te_sched.errors import did_you_mean
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Add, Buffer, Div, Expr, IntImm, Mul, Reduce, Sub, Var
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.visitor import substitute, variables_of, walk
from te_sched.schedule.schedule import Schedule
from te_sched.story.states import BlockState
from te_sched.te.operation import ComputeOp, Operation, PlaceholderOp
from te_sched.te.tensor import Tensor

_SIZE = 100  # of a symbolic extent that is not given
_SMALL = 8  # integers may be indices
_ARITHMETIC = (Add, Sub, Mul, Div)


class Sizes:
    """The symbolic extents of a schedule."""

    def __init__(self, record: Found, size_options: Mapping[str, int]) -> None:
        self.values: dict[Var, Expr] = {
            var: ops.const(size_options.get(var.name, _SIZE), var.dtype) for var in _symbols(record)
        }

    def of(self, extent: Expr) -> int | None:
        """An extent as a number, if it is one."""
        if isinstance(extent, IntImm):
            return extent.value
        size = Analyzer().simplify(substitute(extent, self.values))
        return size.value if isinstance(size, IntImm) else None

    def shape_of(self, arg: Tensor | Buffer) -> tuple[int, ...]:
        """The shape of an argument."""
        shape = [self.of(extent) for extent in arg.shape]
        if any(extent is None for extent in shape):
            raise CommandError(
                f"argument {arg.name} has shape {arg.shape}, which no size determines",
                "its extents are known only at the call",
                "call the program yourself",
            )
        return tuple([extent or 0 for extent in shape])

    def __str__(self) -> str:
        return ", ".join(f"{var.name} = {value}" for var, value in self.values.items())


def check_sizes(chosen: Sequence[Found], size_options: Mapping[str, int]) -> None:
    """Refuse sizes of extents that are not in any schedule."""
    names = list(dict.fromkeys(var.name for record in chosen for var in _symbols(record)))
    for name in size_options.keys() - set(names):
        raise CommandError(
            f"no symbolic extent named {name} for --size {name}={size_options[name]}",
            "",
            f"use {', '.join(names)}{did_you_mean(name, names)}"
            if names
            else "leave it out: all extents are numbers",
        )


def _symbols(record: Found) -> list[Var]:
    seen: dict[Var, None] = {}
    for arg in record.parameters:
        if not isinstance(arg, Var):
            for var in variables_of(*arg.shape):
                seen[var] = None
    return list(seen)


def random_arguments(record: Found, sizes: Sizes) -> list[Any]:
    """Arrays of numpy (bfloat16 as its bits) and scalars to call a schedule's function with.

    The same in each run. Integers are small enough to be indices of every dimension.
    """
    rng = np.random.default_rng(0)
    parameters = record.parameters
    arrays = [array_param for array_param in parameters if not isinstance(array_param, Var)]
    extents = [
        extent for array_param in arrays for extent in sizes.shape_of(array_param) if extent > 0
    ]
    most = min([_SMALL, *extents])
    outputs = _outputs(record)
    values: list[Any] = []
    for parameter in parameters:
        if isinstance(parameter, Var):
            value = sizes.values.get(parameter)
            other = 0.5 if dtypes.is_float(parameter.dtype) else 1
            values.append(value.value if isinstance(value, IntImm) else other)
        else:
            shape = sizes.shape_of(parameter)
            zeros = isinstance(parameter, Tensor) and parameter.op in outputs
            values.append(
                _array(shape, parameter.dtype, None if zeros else rng, most, parameter.name)
            )
    return values


def _outputs(record: Found) -> set[Operation]:
    if not isinstance(record.inputs, Schedule):
        return set()
    outputs = {tensor.op for tensor in record.arguments or () if isinstance(tensor, Tensor)}
    return {op for op in outputs if not isinstance(op, PlaceholderOp)}


def _array(
    shape: tuple[int, ...], dtype: str, rng: np.random.Generator | None, most: int, name: str
) -> np.ndarray[Any, Any]:
    try:
        if rng is None:
            return np.zeros(shape, "uint16" if dtype == "bfloat16" else dtype)
        if dtype == "bfloat16":
            return (rng.random(shape, "float32").view("uint32") >> 16).astype("uint16")
        if dtypes.is_float(dtype):
            return rng.random(shape).astype(dtype)
        return rng.integers(0, 2 if dtype == "bool" else most, shape).astype(dtype)
    except TypeError:
        raise CommandError(
            f"argument {name} has dtype {dtype}, which numpy lacks",
            "",
            "call the program yourself",
        ) from None


def iterations(schedule: Any, sizes: Sizes) -> int | None:
    """The number of elements and terms of reductions that a schedule declares; None if unknown."""
    counts = [_points(op, sizes) for op in _computations(schedule)]
    return None if None in counts else sum(count for count in counts if count is not None)


def operations(schedule: Any, sizes: Sizes) -> int | None:
    """The number of float additions, subtractions, multiplications and divisions that a schedule
    declares, or None. Each computation counts once, however often the schedule repeats it. Of a
    function, the number of operations on values in its loops, if its sizes are numbers.
    """
    if isinstance(schedule, PrimFunc):
        state = BlockState(IRModule({"main": schedule}), "main")
        return state.figures()[id(schedule)].operations or None
    if not isinstance(schedule, Schedule):
        return None
    if any(not isinstance(op, ComputeOp | PlaceholderOp) for op in schedule.declared):
        return None
    total = 0
    for op in _computations(schedule):
        points = _points(op, sizes)
        if points is None:
            return None
        total += points * _per_point(op.body)
    return total or None


def _computations(schedule: Any) -> Iterable[ComputeOp]:
    if isinstance(schedule, Schedule):
        yield from (op for op in schedule.declared if isinstance(op, ComputeOp))


def _points(op: ComputeOp, sizes: Sizes) -> int | None:
    extents = [sizes.of(axis.dom.extent) for axis in (*op.axis, *op.reduce_axis) if axis.dom]
    numbers = [extent for extent in extents if extent is not None]
    return math.prod(numbers) if len(numbers) == len(extents) else None


def _per_point(body: Sequence[Expr]) -> int:
    first = body[0]
    if isinstance(first, Reduce):  # each component is the whole reduction
        return _count([*first.source, *first.combiner.result])
    return _count(body)


def _count(exprs: Sequence[Expr]) -> int:
    return sum(
        isinstance(node, _ARITHMETIC) and dtypes.is_float(node.dtype)
        for expr in exprs
        for node in walk(expr)
    )
