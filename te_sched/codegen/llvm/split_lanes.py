"""Stores of vectors whose lanes are not a power of two, as several that LLVM has registers for.

A store of 48 lanes is one of 32 and one of 16: LLVM would keep such vectors in memory where a loop
adds to them. Only elementwise computations are split. Must not know how stores are written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched.codegen.llvm import quirks
from te_sched.codegen.llvm.types import MOST_LANES
from te_sched.codegen.llvm.vector_math import is_known
from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir.stmt import BufferStore
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import replace, walk

_LEAST = 4  # lanes of what is split off
_WIDEST_PART = 64


class _Whole(Exception):
    """A part that cannot be split."""


def split_lanes(node: BufferStore, is_alone: Callable[[E.Var], bool]) -> list[BufferStore]:
    """The stores in place of one; the same one where there is nothing to gain.

    `is_alone` says that no pointer but this one reaches the memory behind it.
    """
    if (
        len(node.indices) != 1
        or node.predicate is not None
        or type(node.indices[0]) is not E.Ramp
        or not quirks.ODD_LANES.is_here
    ):
        return [node]
    lanes = dtypes.lanes(node.indices[0].dtype)
    if not lanes & (lanes - 1) or not 2 * _LEAST <= lanes <= MOST_LANES:
        return [node]
    if dtypes.lanes(node.buffer.dtype) > 1:
        return [node]
    for part in walk(node.value):  # a later part must not load elements that an earlier one stores
        if type(part) is not E.BufferLoad:
            continue
        if part.buffer.data is not node.buffer.data:
            if not (is_alone(part.buffer.data) and is_alone(node.buffer.data)):
                return [node]
        else:
            same = len(part.indices) == 1 and structural_equal(part.indices[0], node.indices[0])
            if not same or part.buffer.dtype != node.buffer.dtype:
                return [node]
    try:
        return [
            replace(
                node,
                indices=(_part(node.indices[0], start, count),),
                value=_part(node.value, start, count),
            )
            for start, count in _parts(lanes)
        ]
    except _Whole:
        return [node]


def _parts(lanes: int) -> list[tuple[int, int]]:
    """First lane and number of lanes of each part, large ones first."""
    parts, start = [], 0
    while start < lanes:
        count = min(_WIDEST_PART, 1 << (lanes - start).bit_length() - 1)
        if count < _LEAST:
            raise _Whole
        parts.append((start, count))
        start += count
    return parts


def _part(e: E.Expr, start: int, count: int) -> E.Expr:
    if dtypes.lanes(e.dtype) == 1:
        return e
    method = _METHODS.get(type(e))
    if method is None:
        raise _Whole
    return method(e, start, count)


def _ramp(e: E.Ramp, start: int, count: int) -> E.Expr:
    return E.Ramp(ops.add(e.base, ops.mul(e.stride, start)), e.stride, count)


def _broadcast(e: E.Broadcast, start: int, count: int) -> E.Expr:
    del start
    if dtypes.lanes(e.value.dtype) > 1:
        raise _Whole
    return E.Broadcast(e.value, count)


def _binary(e: E.BinaryOp | E.CompareOp, start: int, count: int) -> E.Expr:
    return replace(e, a=_part(e.a, start, count), b=_part(e.b, start, count))


def _cast(e: E.Cast, start: int, count: int) -> E.Expr:
    return E.Cast(dtypes.with_lanes(e.dtype, count), _part(e.value, start, count))


def _load(e: E.BufferLoad, start: int, count: int) -> E.Expr:
    if len(e.indices) != 1 or dtypes.lanes(e.buffer.dtype) > 1 or e.predicate is not None:
        raise _Whole
    return E.BufferLoad(e.buffer, (_part(e.indices[0], start, count),))


def _call(e: E.Call, start: int, count: int) -> E.Expr:
    if not is_known(e.op.removeprefix("tir."), e.dtype):
        raise _Whole
    args = tuple([_part(argument, start, count) for argument in e.args])
    return E.Call(dtypes.with_lanes(e.dtype, count), e.op, args)


_METHODS: dict[type, Callable[[Any, int, int], E.Expr]] = {
    E.Ramp: _ramp,
    E.Broadcast: _broadcast,
    E.Cast: _cast,
    E.BufferLoad: _load,
    E.Call: _call,
    **dict.fromkeys((E.Add, E.Sub, E.Mul, E.Div, E.Min, E.Max), _binary),
}
