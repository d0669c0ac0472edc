"""Loads and stores of buffers: contiguous vectors, strided and gathered ones, bools as bytes.

Must not know statements; indices arrive as values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.types import (
    Value,
    intrinsic_suffix,
    llvm_type,
    mask_type,
    memory_type,
    power_of_two_in,
    slot_type,
    unknown,
)
from te_sched.ir import dtypes
from te_sched.ir.expr import Buffer, IntImm

STREAM_ALIGNMENT = 16  # of vectors that are stored past the caches
_MOST_SHUFFLED = 4  # strides up to this one are picked from contiguous vectors
_LEAST_MASKED = 4  # lanes of vectors with masks, and more
_LEAST_GATHERED = 32  # bits of an element; smaller ones are faster one by one


def address(
    out: FunctionText, pointer: Value, dtype: str, index: Value, inside: bool = True
) -> str:
    """The address of element `index` of an array of `dtype`; `inside` says that it exists.

    A constant is added to the address of the other term, as LLVM does it: its analyses of sums of
    32 bits take their time.
    """
    if index.text == "0":
        return pointer.text
    element = f"getelementptr {'inbounds ' if inside else ''}{slot_type(dtype)}, ptr"
    base = index if index.base is None else index.base
    start = out.emit(f"{element} {pointer.text}, i64 {_as_i64(out, base)}")
    return start if base is index else out.emit(f"{element} {start}, i64 {index.offset}")


def _as_i64(out: FunctionText, index: Value) -> str:
    lanes = dtypes.lanes(index.dtype)
    if dtypes.bits(index.dtype) == 64 or (lanes == 1 and not index.text.startswith("%")):
        return index.text
    extend = "sext" if dtypes.is_int(index.dtype) else "zext"
    wide = llvm_type(dtypes.with_lanes("int64", lanes))
    return out.emit(f"{extend} {llvm_type(index.dtype)} {index.text} to {wide}")


class LaneAddresses(NamedTuple):
    """The positions of the lanes of an access: base + lane * stride, or the lanes of a vector."""

    lanes: int
    base: Value  # of all lanes where there is no stride
    stride: int | None


def load_masked(
    out: FunctionText, buffer: Buffer, addresses: LaneAddresses, mask: Value, is_stored: bool
) -> Value:
    """The elements of a buffer at a contiguous place, and zeros for lanes without a bit of a mask,
    or anything if only the others are stored.

    Elements that exist are loaded all: memory on the stack can stay in registers then.
    """
    size = buffer.shape[0]
    if (
        isinstance(size, IntImm)
        and addresses.base.lo >= 0
        and addresses.base.hi + addresses.lanes <= size.value
    ):
        value = load(out, buffer, addresses)
        return value if is_stored else _zero_without(out, value, mask)
    start = address(out, out.lookup(buffer.data), buffer.dtype, addresses.base, inside=False)
    dtype = dtypes.with_lanes(buffer.dtype, addresses.lanes)
    return _load_some(out, buffer, start, dtype, mask.text, "zeroinitializer")


def _zero_without(out: FunctionText, value: Value, mask: Value) -> Value:
    """A vector with zeros for lanes without a bit of a mask."""
    kind, bits = llvm_type(value.dtype), llvm_type(mask.dtype)
    text = f"select {bits} {mask.text}, {kind} {value.text}, {kind} zeroinitializer"
    return unknown(out.emit(text), value.dtype)


def store_masked(
    out: FunctionText, buffer: Buffer, addresses: LaneAddresses, value: Value, mask: Value
) -> None:
    """Store the lanes with a bit of a mask at a contiguous place."""
    kind, bits = llvm_type(value.dtype), llvm_type(mask.dtype)
    name = f"llvm.masked.store.{intrinsic_suffix(value.dtype)}.p0"
    function = out.module.declare(name, "void", (kind, "ptr", "i32", bits))
    start = address(out, out.lookup(buffer.data), buffer.dtype, addresses.base, inside=False)
    out.do(
        f"call void {function}({kind} {value.text}, ptr {start}, "
        f"i32 {dtypes.storage_bytes(buffer.dtype)}, {bits} {mask.text})"
        f"{out.scopes.suffix(buffer.data)}"
    )


def lanes_below(out: FunctionText, base: Value, limit: Value, dtype: str) -> Value:
    """Whether base + lane is below a limit, for the lanes of a vector of bools."""
    lanes = dtypes.lanes(dtype)
    left = out.emit(f"sub i64 {_as_i64(out, limit)}, {_as_i64(out, base)}")
    left = out.intrinsic("smax", "int64", left, "0")
    left = out.emit(f"trunc i64 {out.intrinsic('smin', 'int64', left, str(lanes))} to i32")
    numbers = dtypes.with_lanes("int32", lanes)
    count = broadcast(out, Value(left, "int32"), lanes)
    steps = ", ".join(f"i32 {number}" for number in range(lanes))
    return unknown(out.emit(f"icmp sgt {llvm_type(numbers)} {count.text}, <{steps}>"), dtype)


def load(out: FunctionText, buffer: Buffer, addresses: LaneAddresses) -> Value:
    """The elements of a buffer at some place: contiguous, strided or gathered."""
    inner = dtypes.lanes(buffer.dtype)
    if addresses.lanes == 1 or addresses.stride == 1:
        dtype = dtypes.with_lanes(buffer.dtype, addresses.lanes * inner)
        align = _alignment(out, buffer, addresses.base)
        return _load_at(out, buffer, _first(out, buffer, addresses), dtype, align)
    if inner == 1 and not dtypes.is_bool(buffer.dtype):
        stride = addresses.stride
        if stride == -1 or (stride is not None and 1 < stride <= _MOST_SHUFFLED):
            return _load_strided(out, buffer, addresses, stride)
        if stride is None and dtypes.bits(buffer.dtype) >= _LEAST_GATHERED:
            return _gather(out, buffer, addresses)
    if buffer.dtype == "float16":
        return _collect_bits(out, buffer, addresses)
    return concatenate(
        out,
        [_load_at(out, buffer, pointer, buffer.dtype) for pointer in _each(out, buffer, addresses)],
    )


def store(out: FunctionText, buffer: Buffer, addresses: LaneAddresses, value: Value) -> None:
    """Store at some place; lanes that meet are stored in their order."""
    inner = dtypes.lanes(buffer.dtype)
    if addresses.lanes == 1 or addresses.stride == 1:
        align = _alignment(out, buffer, addresses.base)
        _store_at(out, buffer, _first(out, buffer, addresses), value, align)
        return
    if addresses.stride == -1 and inner == 1:
        last = _shifted(out, buffer, _first(out, buffer, addresses), 1 - addresses.lanes)
        _store_at(out, buffer, last, _reversed(out, value))
        return
    for k, pointer in enumerate(_each(out, buffer, addresses)):
        parts = [lane(out, value, k * inner + number) for number in range(inner)]
        _store_at(out, buffer, pointer, parts[0] if inner == 1 else concatenate(out, parts))


def store_result(out: FunctionText, value: Value) -> None:
    """Store the value that the function returns into its caller's slot."""
    _store_at(out, None, "%returned", value)


def _first(out: FunctionText, buffer: Buffer, addresses: LaneAddresses) -> str:
    """The address of the first lane of a place with a stride."""
    return address(out, out.lookup(buffer.data), buffer.dtype, addresses.base)


def _shifted(out: FunctionText, buffer: Buffer, start: str, elements: int) -> str:
    if not elements:
        return start
    kind = slot_type(buffer.dtype)
    return out.emit(f"getelementptr inbounds {kind}, ptr {start}, i64 {elements}")


def _each(out: FunctionText, buffer: Buffer, addresses: LaneAddresses) -> Iterator[str]:
    """The address of each lane."""
    if addresses.stride is not None:
        start = _first(out, buffer, addresses)
        yield from (
            _shifted(out, buffer, start, k * addresses.stride) for k in range(addresses.lanes)
        )
        return
    pointer = out.lookup(buffer.data)
    for k in range(addresses.lanes):
        yield address(out, pointer, buffer.dtype, lane(out, addresses.base, k))


def _collect_bits(out: FunctionText, buffer: Buffer, addresses: LaneAddresses) -> Value:
    """Lanes one by one, as integers: LLVM transposes tiles of these, and puts halves of floats into
    vectors through a register each.
    """
    bits = concatenate(
        out, [_load_at(out, buffer, at, "int16") for at in _each(out, buffer, addresses)]
    )
    dtype = dtypes.with_lanes(buffer.dtype, addresses.lanes)
    text = out.emit(f"bitcast {llvm_type(bits.dtype)} {bits.text} to {llvm_type(dtype)}")
    return unknown(text, dtype)


def _load_strided(
    out: FunctionText, buffer: Buffer, addresses: LaneAddresses, stride: int
) -> Value:
    """Strided accesses: loads of contiguous vectors and shuffles of their lanes.

    The last of these vectors ends with the last lane, so that nothing is read beyond it.
    """
    lanes, first = addresses.lanes, _first(out, buffer, addresses)
    dtype = dtypes.with_lanes(buffer.dtype, lanes)
    if stride < 0:
        lowest = _shifted(out, buffer, first, 1 - lanes)
        return _reversed(out, _load_at(out, buffer, lowest, dtype))
    last_start = (lanes - 1) * stride + 1 - lanes
    result, done = Value("poison", dtype), 0
    for number in range(stride):
        start = min(number * lanes, last_start)
        part = _load_at(out, buffer, _shifted(out, buffer, first, start), dtype)
        end = next((k for k in range(done, lanes) if k * stride >= start + lanes), lanes)
        picks = [*range(done), *(lanes + k * stride - start for k in range(done, end))]
        result, done = permute(out, result, part, picks + [-1] * (lanes - end)), end
    return result


def _reversed(out: FunctionText, value: Value) -> Value:
    return permute(out, value, value, list(reversed(range(dtypes.lanes(value.dtype)))))


def permute(out: FunctionText, a: Value, b: Value, picks: list[int]) -> Value:
    """Lanes of a, then b (vectors of one type); -1 leaves a lane undefined."""
    kind, dtype = llvm_type(a.dtype), dtypes.with_lanes(a.dtype, len(picks))
    mask = ", ".join(f"i32 {pick if pick >= 0 else 'poison'}" for pick in picks)
    text = out.emit(
        f"shufflevector {kind} {a.text}, {kind} {b.text}, <{len(picks)} x i32> <{mask}>"
    )
    return unknown(text, dtype)


def _gather(out: FunctionText, buffer: Buffer, addresses: LaneAddresses) -> Value:
    """Lanes from anywhere; LLVM loads them one by one where the processor cannot."""
    lanes, pointer, index = addresses.lanes, out.lookup(buffer.data), addresses.base
    dtype = dtypes.with_lanes(buffer.dtype, lanes)
    kind, vector = slot_type(buffer.dtype), llvm_type(dtype)
    pointers, mask = f"<{lanes} x ptr>", f"<{lanes} x i1>"
    wide = llvm_type(dtypes.with_lanes("int64", lanes))
    places = out.emit(
        f"getelementptr inbounds {kind}, ptr {pointer.text}, {wide} {_as_i64(out, index)}"
    )
    name = f"llvm.masked.gather.{intrinsic_suffix(dtype)}.v{lanes}p0"
    function = out.module.declare(name, vector, (pointers, "i32", mask, vector))
    align = dtypes.storage_bytes(buffer.dtype)
    result = out.emit(
        f"call {vector} {function}({pointers} {places}, i32 {align}, {mask} splat (i1 true), "
        f"{vector} poison){out.scopes.suffix(buffer.data)}"
    )
    return unknown(result, dtype)


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
    vector = out.emit(f"insertelement {kind} poison, {scalar} {value.text}, i64 0")
    text = out.emit(
        f"shufflevector {kind} {vector}, {kind} poison, <{lanes} x i32> zeroinitializer"
    )
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
    kinds = {vector.dtype for vector in vectors}
    if len(vectors) <= 2 and len(kinds) == 1 and min(len(indices), dtypes.lanes(*kinds)) > 1:
        return permute(out, vectors[0], vectors[-1], indices)
    places = [(vector, k) for vector in vectors for k in range(dtypes.lanes(vector.dtype))]
    chosen = [lane(out, *places[index]) for index in indices]
    return chosen[0] if len(chosen) == 1 else concatenate(out, chosen)


def _alignment(out: FunctionText, buffer: Buffer, index: Value) -> int:
    """The known alignment of the address of an element, in bytes."""
    alignment = out.scopes.alignments.get(buffer.data, 0)
    return min(alignment, power_of_two_in(index.multiple * dtypes.storage_bytes(buffer.dtype)))


def _load_at(out: FunctionText, buffer: Buffer, pointer: str, dtype: str, align: int = 0) -> Value:
    align = max(align, dtypes.storage_bytes(dtypes.element(dtype)))
    if _is_uneven(out, buffer, dtype):
        wide, mask = _widened(dtype)
        value = _load_some(out, buffer, pointer, wide, mask, "poison")
        return permute(out, value, value, list(range(dtypes.lanes(dtype))))
    scope = out.scopes.suffix(buffer.data)
    text = out.emit(f"load {memory_type(dtype)}, ptr {pointer}, align {align}{scope}")
    if dtypes.is_bool(dtype):
        text = out.emit(f"icmp ne {memory_type(dtype)} {text}, zeroinitializer")
    return unknown(text, dtype)


def _store_at(
    out: FunctionText, buffer: Buffer | None, pointer: str, value: Value, align: int = 0
) -> None:
    text, kind = value.text, memory_type(value.dtype)
    if dtypes.is_bool(value.dtype):
        text = out.emit(f"zext {llvm_type(value.dtype)} {text} to {kind}")
    align = max(align, dtypes.storage_bytes(dtypes.element(value.dtype)))
    suffix = out.scopes.suffix(buffer.data) if buffer is not None else ""
    if buffer is not None and buffer.data in out.streamed and _fills_registers(value.dtype, align):
        suffix += f", !nontemporal !{out.module.shared_metadata('!{i32 1}')}"
    out.do(f"store {kind} {text}, ptr {pointer}, align {align}{suffix}")


def _is_uneven(out: FunctionText, buffer: Buffer, dtype: str) -> bool:
    """Whether a vector is loaded in one part with a mask, in several without. What lies on the
    stack, or is updated by each step of a loop, stays in registers only without.
    """
    lanes = dtypes.lanes(dtype)
    return (
        buffer.data not in out.stacked
        and buffer.data is not out.updated
        and lanes > _LEAST_MASKED
        and lanes % 8 > 0
        and lanes.bit_count() > 1
        and dtypes.bits(dtype) >= _LEAST_GATHERED
        and out.module.has_masks()
    )


def _widened(dtype: str) -> tuple[str, str]:
    """A vector of a power of two of lanes, and the mask of those that another one has."""
    lanes = dtypes.lanes(dtype)
    count = 1 << lanes.bit_length()
    bits = ", ".join(f"i1 {str(number < lanes).lower()}" for number in range(count))
    return dtypes.with_lanes(dtype, count), f"<{bits}>"


def _load_some(
    out: FunctionText, buffer: Buffer, pointer: str, dtype: str, mask: str, rest: str
) -> Value:
    """The lanes of a vector that have a bit of a mask, and those of `rest`."""
    kind, bits = llvm_type(dtype), mask_type(dtype)
    align = dtypes.storage_bytes(dtypes.element(dtype))
    name = f"llvm.masked.load.{intrinsic_suffix(dtype)}.p0"
    function = out.module.declare(name, kind, ("ptr", "i32", bits, kind))
    scope = out.scopes.suffix(buffer.data)
    text = (
        f"call {kind} {function}(ptr {pointer}, i32 {align}, {bits} {mask}, {kind} {rest}){scope}"
    )
    return unknown(out.emit(text), dtype)


def _fills_registers(dtype: str, align: int) -> bool:
    """Whether a value is stored as whole aligned vectors; the smallest ones have 16 bytes."""
    return dtypes.storage_bytes(dtype) % STREAM_ALIGNMENT == 0 and align >= STREAM_ALIGNMENT
