"""Loads and stores of buffers: contiguous vectors, strided and gathered ones, bools as bytes.

Must not know statements; indices arrive as values.
"""

from __future__ import annotations

from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.types import Value, llvm_type, memory_type, slot_type, unknown
from te_sched.ir import dtypes
from te_sched.ir.expr import Buffer


def address(
    out: FunctionText, pointer: Value, dtype: str, index: Value, inside: bool = True
) -> str:
    """The address of element `index` of an array of `dtype`; `inside` says that it exists."""
    if index.text == "0":
        return pointer.text
    bounds = "inbounds " if inside else ""
    return out.emit(
        f"getelementptr {bounds}{slot_type(dtype)}, ptr {pointer.text}, i64 {_as_i64(out, index)}"
    )


def _as_i64(out: FunctionText, index: Value) -> str:
    if not index.text.startswith("%") or dtypes.bits(index.dtype) == 64:
        return index.text
    extend = "sext" if dtypes.is_int(index.dtype) else "zext"
    return out.emit(f"{extend} {llvm_type(index.dtype)} {index.text} to i64")


def load(out: FunctionText, buffer: Buffer, index: Value, base: Value | None = None) -> Value:
    """buffer[index]; a vector `index` gathers, unless `base` says that it is base, base + 1, ..."""
    pointer = out.lookup(buffer.data)
    inner = dtypes.lanes(buffer.dtype)
    lanes = dtypes.lanes(index.dtype)
    if lanes == 1 or base is not None:
        first = index if base is None else base
        dtype = dtypes.with_lanes(buffer.dtype, lanes * inner)
        return _load_at(out, buffer, address(out, pointer, buffer.dtype, first), dtype)
    lane_dtype = buffer.dtype
    values = [
        _load_at(out, buffer, address(out, pointer, lane_dtype, lane(out, index, k)), lane_dtype)
        for k in range(lanes)
    ]
    return concatenate(out, values)


def store(
    out: FunctionText, buffer: Buffer, index: Value, value: Value, base: Value | None = None
) -> None:
    """buffer[index] = value; a vector scatters in the order of lanes, unless `base` is given."""
    pointer = out.lookup(buffer.data)
    lanes = dtypes.lanes(index.dtype)
    if lanes == 1 or base is not None:
        first = index if base is None else base
        _store_at(out, buffer, address(out, pointer, buffer.dtype, first), value)
        return
    inner = dtypes.lanes(buffer.dtype)
    for k in range(lanes):
        part = lane(out, value, k) if inner == 1 else _slice(out, value, k * inner, inner)
        _store_at(out, buffer, address(out, pointer, buffer.dtype, lane(out, index, k)), part)


def lane(out: FunctionText, vector: Value, number: int) -> Value:
    """One lane of a vector; of a scalar, the scalar."""
    if dtypes.lanes(vector.dtype) == 1:
        return vector
    text = out.emit(f"extractelement {llvm_type(vector.dtype)} {vector.text}, i64 {number}")
    return Value(text, dtypes.element(vector.dtype), vector.lo, vector.hi, vector.data)


def broadcast(out: FunctionText, value: Value, lanes: int) -> Value:
    """A vector of copies of a scalar."""
    dtype = dtypes.with_lanes(value.dtype, lanes)
    kind, scalar = llvm_type(dtype), llvm_type(value.dtype)
    if not value.text.startswith("%"):
        return Value(f"splat ({scalar} {value.text})", dtype, value.lo, value.hi, value.data)
    one = out.emit(f"insertelement {kind} poison, {scalar} {value.text}, i64 0")
    text = out.emit(f"shufflevector {kind} {one}, {kind} poison, <{lanes} x i32> zeroinitializer")
    return Value(text, dtype, value.lo, value.hi, value.data)


def concatenate(out: FunctionText, values: list[Value]) -> Value:
    """The lanes of all values, one after the other, as one vector."""
    parts = [lane(out, value, k) for value in values for k in range(dtypes.lanes(value.dtype))]
    dtype = dtypes.with_lanes(parts[0].dtype, len(parts))
    text = "poison"
    for number, part in enumerate(parts):
        element = f"{llvm_type(part.dtype)} {part.text}"
        text = out.emit(f"insertelement {llvm_type(dtype)} {text}, {element}, i64 {number}")
    lo, hi = min(part.lo for part in parts), max(part.hi for part in parts)
    return Value(text, dtype, lo, hi, any(part.data for part in parts))


def shuffle(out: FunctionText, vectors: list[Value], indices: list[int]) -> Value:
    """Lanes `indices` of the concatenation of `vectors`."""
    places = [(vector, k) for vector in vectors for k in range(dtypes.lanes(vector.dtype))]
    chosen = [lane(out, *places[index]) for index in indices]
    return chosen[0] if len(chosen) == 1 else concatenate(out, chosen)


def _slice(out: FunctionText, vector: Value, start: int, count: int) -> Value:
    return concatenate(out, [lane(out, vector, start + k) for k in range(count)])


def _load_at(out: FunctionText, buffer: Buffer, place: str, dtype: str) -> Value:
    align = dtypes.storage_bytes(dtypes.element(dtype))
    scope = out.scopes.suffix(buffer.data)
    text = out.emit(f"load {memory_type(dtype)}, ptr {place}, align {align}{scope}")
    if dtypes.is_bool(dtype):
        text = out.emit(f"icmp ne {memory_type(dtype)} {text}, zeroinitializer")
    return unknown(text, dtype)


def _store_at(out: FunctionText, buffer: Buffer, place: str, value: Value) -> None:
    text, kind = value.text, memory_type(value.dtype)
    if dtypes.is_bool(value.dtype):
        text = out.emit(f"zext {llvm_type(value.dtype)} {text} to {kind}")
    align = dtypes.storage_bytes(dtypes.element(value.dtype))
    out.do(f"store {kind} {text}, ptr {place}, align {align}{out.scopes.suffix(buffer.data)}")
