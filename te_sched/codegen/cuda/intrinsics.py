"""Calls of intrinsics: mathematics, bits, pointers, and what threads of a block do together.

Must not know statements; tensor cores are in `tensor_cores`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from te_sched.codegen.cuda import arithmetic, memory, types
from te_sched.codegen.cuda.expressions import as_argument, branches, quotients
from te_sched.codegen.cuda.pieces import (
    POSTFIX,
    UNARY,
    Piece,
    PieceLanes,
    call,
    converted,
    offset,
    operation,
)
from te_sched.codegen.cuda.writer import CallWriter, KernelText
from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir.device_limits import SHUFFLE_WIDTHS
from te_sched.ir.intrinsic_table import INTRINSICS, MATHEMATICS
from te_sched.ir.intrinsics import fixed_point_product
from te_sched.ir.storage_scopes import barrier_of

_BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor")
_OTHER_NAMES = {"round": "rint"}  # CUDA's round takes halves away from zero


def _each(out: KernelText, node: E.Call) -> list[tuple[Piece, ...]]:
    """The arguments of each lane."""
    arguments = [out.lanes(argument) for argument in node.args]
    return list(zip(*arguments, strict=True))


def _mathematics(name: str) -> CallWriter:
    def write(out: KernelText, node: E.Call) -> list[Piece]:
        dtype = dtypes.element(node.args[0].dtype)
        return [_function(out, name, lane, dtype) for lane in _each(out, node)]

    return write


def _function(out: KernelText, name: str, values: tuple[Piece, ...], dtype: str) -> Piece:
    """A function of floats; of small ones in float32."""
    name = _OTHER_NAMES.get(name, name)
    if dtypes.is_small_float(dtype):
        wide = tuple(arithmetic.to_float(out.unit, value) for value in values)
        return converted(out.unit.type_of(dtype), call(f"{name}f", *wide))
    return call(name + ("f" if dtypes.bits(dtype) == 32 else ""), *values)


def _sigmoid(out: KernelText, node: E.Call) -> list[Piece]:
    dtype = dtypes.element(node.dtype)
    wide = "float32" if dtypes.is_small_float(dtype) else dtype
    unit = types.floating(1.0, wide)
    results = []
    for lane in out.lanes(node.args[0]):
        value = arithmetic.cast(out.unit, lane, dtype, wide)
        power = _function(out, "exp", (Piece(f"-{value.at(POSTFIX)}", UNARY),), wide)
        result = operation("/", unit, operation("+", unit, power))
        results.append(arithmetic.cast(out.unit, result, wide, dtype))
    return results


def _absolute(out: KernelText, node: E.Call) -> list[Piece]:
    dtype = dtypes.element(node.dtype)
    if dtypes.is_float(dtype):
        return [_function(out, "fabs", (lane,), dtype) for lane in out.lanes(node.args[0])]
    lanes = out.lanes(node.args[0])
    if not dtypes.is_int(dtype):
        return lanes
    name = "llabs" if dtypes.bits(dtype) == 64 else "abs"
    return [arithmetic.narrowed(out.unit, call(name, lane), dtype) for lane in lanes]


def _scale_by_power(out: KernelText, node: E.Call) -> list[Piece]:
    dtype, exponent = dtypes.element(node.dtype), dtypes.element(node.args[1].dtype)
    wide = "float32" if dtypes.is_small_float(dtype) else dtype
    name = "ldexpf" if wide == "float32" else "ldexp"
    results = []
    for value, power in _each(out, node):
        arguments = (
            arithmetic.cast(out.unit, value, dtype, wide),
            arithmetic.cast(out.unit, power, exponent, "int32"),
        )
        results.append(arithmetic.cast(out.unit, call(name, *arguments), wide, dtype))
    return results


def _classify(name: str) -> CallWriter:
    def write(out: KernelText, node: E.Call) -> list[Piece]:
        dtype = dtypes.element(node.args[0].dtype)
        lanes = out.lanes(node.args[0])
        if not dtypes.is_float(dtype):
            return [Piece("true" if name == "isfinite" else "false")] * len(lanes)
        if dtypes.is_small_float(dtype):
            lanes = [arithmetic.to_float(out.unit, lane) for lane in lanes]
        return [call(name, lane) for lane in lanes]

    return write


def _bits(symbol: str) -> CallWriter:
    def write(out: KernelText, node: E.Call) -> list[Piece]:
        dtype = dtypes.element(node.dtype)
        results = [operation(symbol, a, b) for a, b in _each(out, node)]
        if dtypes.is_bool(dtype):
            return [arithmetic.narrowed(out.unit, result, dtype) for result in results]
        return results

    return write


def _shift(left: bool) -> CallWriter:
    def write(out: KernelText, node: E.Call) -> list[Piece]:
        dtype, bounds = dtypes.element(node.dtype), out.bounds(node.args[1])
        return [arithmetic.shift(out.unit, left, a, b, dtype, bounds) for a, b in _each(out, node)]

    return write


def _bitwise_not(out: KernelText, node: E.Call) -> list[Piece]:
    dtype = dtypes.element(node.dtype)
    symbol = "!" if dtypes.is_bool(dtype) else "~"
    results = [Piece(f"{symbol}{lane.at(UNARY)}", UNARY) for lane in out.lanes(node.args[0])]
    return [arithmetic.narrowed(out.unit, result, dtype) for result in results]


def _unsigned(out: KernelText, node: E.Call) -> tuple[list[Piece], int]:
    """The bits of an integer argument, without its sign, and how many there are."""
    dtype = dtypes.element(node.args[0].dtype)
    size, lanes = dtypes.bits(dtype), out.lanes(node.args[0])
    if dtypes.is_int(dtype) and size < 32:
        lanes = [converted(out.unit.type_of(f"uint{size}"), lane) for lane in lanes]
    return lanes, size


def _popcount(out: KernelText, node: E.Call) -> list[Piece]:
    lanes, size = _unsigned(out, node)
    name, dtype = "__popcll" if size == 64 else "__popc", dtypes.element(node.dtype)
    return [arithmetic.cast(out.unit, call(name, lane), "int32", dtype) for lane in lanes]


def _leading_zeros(out: KernelText, node: E.Call) -> list[Piece]:
    lanes, size = _unsigned(out, node)
    results = [call("__clzll" if size == 64 else "__clz", lane) for lane in lanes]
    if size < 32:
        more = types.integer(32 - size, "int32")
        results = [operation("-", result, more) for result in results]
    dtype = dtypes.element(node.dtype)
    return [arithmetic.cast(out.unit, result, "int32", dtype) for result in results]


_IN_CASTS = {
    **{"float32": "float", "int32": "int", "uint32": "uint", "float64": "double"},
    **{"int64": "longlong", "uint64": "longlong", "float16": "half", "bfloat16": "bfloat16"},
    **{"int16": "short", "uint16": "ushort"},
}


def _bit_cast(source: str, target: str) -> str | None:
    """The function that takes the bits of a float for an integer's, or the other way."""
    is_between = dtypes.is_float(source) != dtypes.is_float(target)
    are_alike = dtypes.bits(source) == dtypes.bits(target) and "handle" not in (source, target)
    if not (is_between and are_alike):
        return None
    return f"__{_IN_CASTS[source]}_as_{_IN_CASTS[target]}"


def _reinterpret(out: KernelText, node: E.Call) -> list[Piece]:
    source, target = node.args[0].dtype, node.dtype
    lanes = out.lanes(node.args[0])
    if source == target:
        return lanes
    kind = out.unit.type_of(target)
    if dtypes.lanes(source) == dtypes.lanes(target):
        source_type, target_type = dtypes.element(source), dtypes.element(target)
        name = _bit_cast(source_type, target_type)
        if name is not None:
            results = [call(name, lane) for lane in lanes]
            return [converted(kind, r) for r in results] if target_type == "uint64" else results
        if not dtypes.is_float(source_type) and not dtypes.is_float(target_type):
            return [converted(kind, lane) for lane in lanes]
    if not isinstance(lanes, PieceLanes) or lanes.whole is None:
        lanes = out.define("v", source, lanes)
    whole = lanes.whole if isinstance(lanes, PieceLanes) and lanes.whole else lanes[0].text
    read = f"(({kind} const*)&{whole})"
    count = dtypes.lanes(target)
    return [Piece(f"{read}[{k}]", POSTFIX) for k in range(count)]


def _same(out: KernelText, node: E.Call) -> list[Piece]:
    return out.lanes(node.args[0])


def _large_unsigned(out: KernelText, node: E.Call) -> list[Piece]:
    low, high = (argument.value for argument in node.args[:2] if isinstance(argument, E.IntImm))
    return [types.integer((high << 32) | low, node.dtype)]


def _assume(out: KernelText, node: E.Call) -> list[Piece]:
    out.do(f"__builtin_assume({out.scalar(node.args[0]).text});")
    return []


def _undefined(out: KernelText, node: E.Call) -> list[Piece]:
    return [Piece(f"{out.unit.type_of(node.dtype)}(0)", POSTFIX)] * dtypes.lanes(node.dtype)


def _return(out: KernelText, node: E.Call) -> list[Piece]:
    out.do("return;")
    return []


# -- pointers --------------------------------------------------------------------------------------


def _address_of(out: KernelText, node: E.Call) -> list[Piece]:
    load = node.args[0]
    if not isinstance(load, E.BufferLoad):
        raise out.error(
            f"address_of expects an element of a buffer, got a {type(load).__name__}",
            "",
            "pass an element of a buffer",
        )
    return [memory.address(out, load.buffer, load.indices[0])]


def _access_pointer(out: KernelText, node: E.Call) -> list[Piece]:
    """tvm_access_ptr(type, data, offset, extent, mode): the address of element `offset`."""
    annotation, data, start = node.args[:3]
    inner = dtypes.lanes(annotation.dtype)
    index = out.scalar(ops.mul(start, inner) if inner > 1 else start)
    if isinstance(data, E.Var):
        return [offset(memory.pointer(out, data, annotation.dtype), index)]
    kind = out.unit.type_of(annotation.dtype)
    return [offset(f"({kind}*){out.scalar(data).at(UNARY)}", index)]


def _prefetch(out: KernelText, node: E.Call) -> list[Piece]:
    """Into the second cache; memory on the chip needs none."""
    load = node.args[0].args[0] if isinstance(node.args[0], E.Call) and node.args[0].args else None
    data = load.buffer.data if isinstance(load, E.BufferLoad) else load
    if isinstance(data, E.Var) and data.pointer is not None and data.pointer.scope != "global":
        return []
    address = out.scalar(node.args[0])
    out.do(f'asm volatile("prefetch.global.L2 [%0];" ::"l"({address.text}));')
    return []


# -- functions of C and C++ ------------------------------------------------------------------------


def _call_extern(out: KernelText, node: E.Call) -> list[Piece]:
    name = node.args[0]
    if not isinstance(name, E.StringImm):
        raise out.error(
            f"first argument of {node.op} must be the name of a function",
            "",
            "pass the name as a string",
        )
    if "fp16" in name.value or "half" in name.value:
        out.unit.headers.add("cuda_fp16.h")
    result = call(name.value, *[as_argument(out, argument) for argument in node.args[1:]])
    return _as_lanes(out, result, node.dtype)


def _as_lanes(out: KernelText, value: Piece, dtype: str) -> list[Piece]:
    """A value of CUDA's vector type as lanes."""
    if dtypes.lanes(dtype) == 1:
        return [value]
    vector = types.vector_type(dtype)
    if vector is None:
        raise out.error(
            f"cannot call a function that returns a {dtype}",
            "CUDA has no vector type of this size",
            "use two or four lanes of 32 bits",
        )
    name = out.names.fresh("v")
    out.unit.type_of(dtype)
    out.do(f"const {vector} {name} = {value.text};")
    return out.lanes_of(name, dtype)


def _dot_of_four(out: KernelText, node: E.Call) -> list[Piece]:
    """dp4a(x, y, sum): products of four bytes each, added to a sum."""
    return [call("__dp4a", *[as_argument(out, argument) for argument in node.args])]


# -- threads ---------------------------------------------------------------------------------------


def _barrier(out: KernelText, node: E.Call) -> list[Piece]:
    scope = node.args[0].value if node.args and isinstance(node.args[0], E.StringImm) else ""
    text = {"block": "__syncthreads();", "warp": "__syncwarp();"}.get(barrier_of(scope))
    if text is None:
        raise out.error(
            f"a barrier of scope {scope!r} is not supported",
            "threads of different blocks cannot wait for each other",
            'use "shared" (a block) or "warp", or two kernels',
        )
    out.do(text)
    return []


def _shuffle(name: str) -> CallWriter:
    def write(out: KernelText, node: E.Call) -> list[Piece]:
        _check_width(out, node.args[3])
        mask, value, lane, width = (out.lanes(argument) for argument in node.args[:4])
        dtype = dtypes.element(node.dtype)
        results = [call(name, mask[0], lane_value, lane[0], width[0]) for lane_value in value]
        return [arithmetic.narrowed(out.unit, result, dtype) for result in results]

    return write


def _check_width(out: KernelText, width: E.Expr) -> None:
    """Refuse constant widths for which the hardware would silently take other lanes."""
    if isinstance(width, E.IntImm) and width.value not in SHUFFLE_WIDTHS:
        raise out.error(
            f"shuffle width must be 1, 2, 4, 8, 16 or 32, got {width}",
            "lanes shuffle in groups whose size divides that of a warp",
            "use one of these numbers as its width",
        )


def _atomic(name: str, legal: str) -> CallWriter:
    def write(out: KernelText, node: E.Call) -> list[Piece]:
        address, *values = (out.scalar(argument) for argument in node.args)
        dtype = node.args[-1].dtype
        if dtype not in legal.split():
            fault = f"atomic {name[6:].lower()} does not support {dtype}"
            why = f"the device supports {', '.join(legal.split())}"
            raise out.error(fault, why, "use one of these types")
        function = name
        if dtype == "float32" and name in ("atomicMin", "atomicMax"):
            function = out.unit.helper(f"te_atomic_{name[-3:].lower()}")
        if dtype == "int64":  # signs do not matter to what the hardware has
            unsigned = "unsigned long long"
            address = converted(f"{unsigned}*", address)
            values = [converted(unsigned, value) for value in values]
            return [converted("long long", call(function, address, *values))]
        return [call(function, address, *values)]

    return write


_INTEGERS = "int32 uint32 uint64"

CALLS: Mapping[str, Callable[[KernelText, E.Call], list[Piece]]] = {
    **{name: _mathematics(name) for name in MATHEMATICS},
    **{name: _bits(INTRINSICS[name].symbol) for name in _BITWISE},
    "shift_left": _shift(left=True),
    "shift_right": _shift(left=False),
    **{name: _classify(name) for name in ("isnan", "isinf", "isfinite")},
    "if_then_else": lambda out, node: branches(out, *node.args),
    **dict.fromkeys(("likely", "tvm_thread_invariant"), _same),
    "sigmoid": _sigmoid,
    **dict.fromkeys(("abs", "fabs"), _absolute),
    **dict.fromkeys(("fmod", "truncmod"), lambda out, node: quotients(out, "mod", *node.args)),
    "ldexp": _scale_by_power,
    "bitwise_not": _bitwise_not,
    "popcount": _popcount,
    "clz": _leading_zeros,
    "reinterpret": _reinterpret,
    "q_multiply_shift": lambda out, node: out.lanes(fixed_point_product(*node.args)),
    "large_uint_imm": _large_unsigned,
    "assume": _assume,
    "undef": _undefined,
    "isnullptr": lambda out, node: [operation("==", out.scalar(node.args[0]), Piece("nullptr"))],
    "ret": _return,
    "address_of": _address_of,
    "tvm_access_ptr": _access_pointer,
    "prefetch": _prefetch,
    **dict.fromkeys(("call_extern", "call_pure_extern"), _call_extern),
    "dp4a": _dot_of_four,
    "tvm_storage_sync": _barrier,
    **{f"tvm_warp_shuffle{way}": _shuffle(f"__shfl{way}_sync") for way in ("", "_up", "_down")},
    **dict.fromkeys(
        ("tvm_warp_activemask", "cuda.__activemask"),
        lambda out, node: [Piece("__activemask()", POSTFIX)],
    ),
    "atomic_add": _atomic("atomicAdd", _INTEGERS + " int64 float32 float64 float16 bfloat16"),
    "atomic_min": _atomic("atomicMin", _INTEGERS + " float32"),
    "atomic_max": _atomic("atomicMax", _INTEGERS + " float32"),
    "atomic_exch": _atomic("atomicExch", _INTEGERS + " int64 float32"),
    "atomic_cas": _atomic("atomicCAS", _INTEGERS + " int64"),
}
