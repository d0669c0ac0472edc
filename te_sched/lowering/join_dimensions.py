"""Replace the indices of each access by one flat index, as code generation needs it.

    T = Buffer((2, 4))                  T = Buffer((8,))
    T[i, j] = 1.0              ->       T[i * 4 + j] = 1.0

Flattening keeps the dimensions that `te.AXIS_SEPARATOR` separates and the strides of views, as TVM
prints them. Used by programs to run. Must not know targets.
"""

from __future__ import annotations

from functools import reduce

from te_sched.config import AS_TVM, Lowering
from te_sched.ir import ops
from te_sched.ir.expr import Buffer, Expr, IntImm, Ramp
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.visitor import AccessMapper, replace


def join_dimensions(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with one index for each access, in elements from the start of the buffer."""
    return func.with_body(_Joiner().visit(func.body))


class _Joiner(AccessMapper):
    def renewed(self, buffer: Buffer) -> Buffer:
        if len(buffer.shape) == 1 and not buffer.strides:
            return buffer
        return replace(buffer, axis_separators=()).get_flattened_buffer()

    def moved(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return (_flat(buffer, indices),)


def _flat(buffer: Buffer, indices: tuple[Expr, ...]) -> Expr:
    """The offset of an element from the start, in elements; only the last index may be a vector."""
    if not indices:
        return IntImm(0)
    strides = buffer.strides or _compact(buffer.shape)
    steps = [_scaled(index, stride) for index, stride in zip(indices, strides, strict=True)]
    return reduce(offset_by, steps)


def _compact(shape: tuple[Expr, ...]) -> tuple[Expr, ...]:
    strides: list[Expr] = [IntImm(1, shape[-1].dtype)]
    for extent in reversed(shape[1:]):
        strides.insert(0, ops.mul(extent, strides[0]))
    return tuple(strides)


def _scaled(index: Expr, stride: Expr) -> Expr:
    if type(index) is Ramp:
        return Ramp(ops.mul(index.base, stride), ops.mul(index.stride, stride), index.lanes)
    return ops.mul(index, stride)


def offset_by(start: Expr, step: Expr) -> Expr:
    """The sum of two indices; a ramp stays one."""
    if type(step) is Ramp:
        return Ramp(ops.add(start, step.base), step.stride, step.lanes)
    return ops.add(start, step)
