"""Loads and stores: single elements, wide accesses where they are aligned, gathers and scatters.

The offset of a wide access must be a multiple of its size, which arithmetic proves; accesses
without a proof are split into smaller ones, down to single elements. Arrays themselves
begin at multiples of 16 bytes. Must not know statements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from te_sched.codegen.cuda import types
from te_sched.codegen.cuda.pieces import UNARY, Piece, PieceLanes, element, offset, operation
from te_sched.codegen.cuda.writer import KernelText
from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E


@dataclass(frozen=True, slots=True)
class ElementSpan:
    """Elements first, first + 1, ... of an array, and how many of them one access takes."""

    first: E.Expr
    count: int
    step: int


def span_of(out: KernelText, buffer: E.Buffer, index: E.Expr) -> ElementSpan | None:
    """The contiguous elements at an index; None where they are not contiguous."""
    inner = dtypes.lanes(buffer.dtype)
    if dtypes.lanes(index.dtype) == 1:
        first, count = index, inner
    elif isinstance(index, E.Ramp) and _is_one(index.stride):
        first, count = index.base, index.lanes * inner
    else:
        return None
    if inner > 1:
        first = ops.mul(first, inner)
    size = dtypes.storage_bytes(dtypes.element(buffer.dtype))
    step = math.gcd(count, _multiple(out, first), types.WIDEST // size)
    if types.carrier_type(dtypes.with_lanes(buffer.dtype, step)) is None:
        step = 1
    return ElementSpan(first, count, step)


def _is_one(value: E.Expr) -> bool:
    return isinstance(value, E.IntImm) and value.value == 1


def _multiple(out: KernelText, index: E.Expr) -> int:
    """A number that divides an index; 0 for the index 0."""
    if isinstance(index, E.IntImm):
        return index.value
    return math.gcd(*out.analyzer.modular_set(index))


def pointer(out: KernelText, data: E.Var, dtype: str) -> str:
    """The name of an array, as one of elements of `dtype`."""
    (name,) = out.look_up(data)
    declared = out.elements.get(data)
    if declared == dtypes.element(dtype):
        return name.text
    const = "const " if data in out.readonly else ""
    return f"({const}{out.unit.type_of(dtype)}*){name.at(UNARY)}"


def place(out: KernelText, buffer: E.Buffer, index: Piece) -> Piece:
    """One element as something that is read or assigned to."""
    name = pointer(out, buffer.data, buffer.dtype)
    return element(f"({name})" if name.startswith("(") else name, index)


def address(out: KernelText, buffer: E.Buffer, index: E.Expr) -> Piece:
    """The address of one element."""
    inner = dtypes.lanes(buffer.dtype)
    first = index.base if isinstance(index, E.Ramp) else index
    piece = out.scalar(ops.mul(first, inner) if inner > 1 else first)
    return offset(pointer(out, buffer.data, buffer.dtype), piece)


def _wide(out: KernelText, buffer: E.Buffer, index: Piece, count: int) -> str:
    dtype = dtypes.with_lanes(buffer.dtype, count)
    start = offset(pointer(out, buffer.data, buffer.dtype), index)
    const = "const " if buffer.data in out.readonly else ""
    return f"*({const}{types.carrier_type(dtype)}*){start.at(UNARY)}"


def _parts(out: KernelText, span: ElementSpan) -> list[Piece]:
    """Where each access begins."""
    if span.count == span.step:
        return [out.scalar(span.first)]
    dtype = span.first.dtype
    if isinstance(span.first, E.IntImm):
        start = span.first.value
        return [types.integer(start + k, dtype) for k in range(0, span.count, span.step)]
    first = out.simple(out.scalar(span.first), dtype, "i")
    return [_plus(first, k, dtype) for k in range(0, span.count, span.step)]


def _plus(first: Piece, number: int, dtype: str) -> Piece:
    return operation("+", first, types.integer(number, dtype)) if number else first


def load(out: KernelText, buffer: E.Buffer, indices: tuple[E.Expr, ...]) -> list[Piece]:
    """The lanes of buffer[indices]."""
    (index,) = indices
    out.unit.type_of(buffer.dtype)
    if isinstance(index, E.Broadcast):  # one element in every lane
        element_lanes = load(out, buffer, (index.value,))
        return [out.simple(lane, buffer.dtype) for lane in element_lanes] * index.lanes
    span = span_of(out, buffer, index)
    if span is None:
        return [place(out, buffer, part) for part in _scattered(out, buffer, index)]
    if span.step == 1:
        return [place(out, buffer, part) for part in _parts(out, span)]
    dtype = dtypes.with_lanes(buffer.dtype, span.step)
    lanes: list[Piece] = []
    for part in _parts(out, span):
        loaded = _define_wide(out, dtype, _wide(out, buffer, part, span.step))
        if span.step == span.count:
            return loaded
        lanes += loaded
    return lanes


def _define_wide(out: KernelText, dtype: str, text: str) -> PieceLanes:
    name, vector = out.names.fresh("v"), types.vector_type(dtype)
    if vector is not None:
        out.do(f"const {vector} {name} = {text};")
    else:
        out.do(f"{out.aligned_array(dtype, name)};")
        out.do(f"*({types.carrier_type(dtype)}*){name} = {text};")
    return out.lanes_of(name, dtype)


def _scattered(out: KernelText, buffer: E.Buffer, index: E.Expr) -> list[Piece]:
    """Each element of an index that is not contiguous."""
    inner, dtype = dtypes.lanes(buffer.dtype), dtypes.element(index.dtype)
    parts = out.lanes(index)
    if inner == 1:
        return parts
    scaled = [operation("*", part, types.integer(inner, dtype)) for part in parts]
    return [_plus(part, k, dtype) for part in scaled for k in range(inner)]


def copy(out: KernelText, target: E.BufferLoad, source: E.BufferLoad) -> bool:
    """target = source in wide accesses, if both can be accessed so; else nothing is written."""
    if target.buffer.data is source.buffer.data or source.dtype != target.dtype:
        return False
    spans = [span_of(out, access.buffer, access.indices[0]) for access in (target, source)]
    to, origin = spans
    if to is None or origin is None or to.step != origin.step or to.step == 1:
        return False
    out.unit.type_of(source.dtype)
    for left, right in zip(_parts(out, to), _parts(out, origin), strict=True):
        value = _wide(out, source.buffer, right, to.step)
        out.do(f"{_wide(out, target.buffer, left, to.step)} = {value};")
    return True


def store(
    out: KernelText, buffer: E.Buffer, indices: tuple[E.Expr, ...], lanes: list[Piece], reads: bool
) -> None:
    """buffer[indices] = lanes; `reads` is whether the lanes still read from the same array."""
    (index,) = indices
    out.unit.type_of(buffer.dtype)
    span = span_of(out, buffer, index)
    count = (
        span.count if span is not None else dtypes.lanes(index.dtype) * dtypes.lanes(buffer.dtype)
    )
    if len(lanes) == 1 < count:
        lanes = [out.simple(lanes[0], buffer.dtype)] * count
    if reads and count > 1 and (span is None or span.step < count):
        lanes = [out.define("v", dtypes.element(buffer.dtype), [lane])[0] for lane in lanes]
    if span is None or span.step == 1:
        parts = _scattered(out, buffer, index) if span is None else _parts(out, span)
        for part, lane in zip(parts, lanes, strict=True):
            out.do(f"{place(out, buffer, part).text} = {lane.text};")
        return
    dtype = dtypes.with_lanes(buffer.dtype, span.step)
    for number, part in enumerate(_parts(out, span)):
        some = lanes
        if span.step < count:
            some = lanes[number * span.step : (number + 1) * span.step]
        text = _as_wide(out, dtype, some)
        out.do(f"{_wide(out, buffer, part, span.step)} = {text};")


def _as_wide(out: KernelText, dtype: str, lanes: list[Piece]) -> str:
    if types.vector_type(dtype) is not None:
        return out.whole(dtype, lanes)
    if not isinstance(lanes, PieceLanes):
        lanes = out.define("v", dtype, lanes)
    whole = lanes.whole if isinstance(lanes, PieceLanes) else None
    return f"*(const {types.carrier_type(dtype)}*){whole}"
