"""Functions of CUDA that kernels call by name, said in te_sched's own terms.

Where a kernel does not run on a GPU, `call_extern("float32", "__expf", x)` has nobody to call:

    call_pure_extern("int32", "__dp4a", a, b, c)         ->  c + a.x * b.x + a.y * b.y + ...
    call_extern("float32", "__shfl_down_sync", m, x, 1)  ->  tvm_warp_shuffle_down(m, x, 1, 32, 32)

Functions that are fast and inexact on a GPU are exact here. Must not know who runs the kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from te_sched.errors import BuildError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import (
    Buffer,
    BufferLoad,
    Call,
    Cast,
    Div,
    Expr,
    FloatImm,
    IntImm,
    Let,
    Max,
    Min,
    Select,
    Shuffle,
    StringImm,
    Var,
)
from te_sched.ir.intrinsic_table import INTRINSICS, MATHEMATICS
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.visitor import Mapper, walk
from te_sched.lower.device.kernel import BARRIER, WARP, is_kernel, thread_axes

_EXTERN = ("tir.call_extern", "tir.call_pure_extern")
_FAST = ("exp", "exp10", "log", "log2", "log10", "sin", "cos", "tan", "pow")


def expand_device_functions(module: IRModule) -> IRModule:
    """The module with kernels that call no function by name; itself where none does.

    Raises
    ------
    BuildError for a function that is not known here.
    """
    found = {
        name: _expand(func)
        for name, func in module.functions.items()
        if is_kernel(func) and any(map(_is_extern, walk(func.body)))
    }
    return IRModule({**module.functions, **found}) if found else module


def _is_extern(node: object) -> bool:
    return type(node) is Call and node.op in _EXTERN


def _expand(kernel: PrimFunc) -> PrimFunc:
    thread: Expr = IntImm(0)
    count: Expr = IntImm(1)
    for axis in thread_axes(kernel)[0]:
        if not axis.is_block:
            thread = ops.add(thread, ops.mul(axis.var, count))
            count = ops.mul(count, axis.extent)
    name = str(kernel.attrs.get("global_symbol", "main"))
    return kernel.with_body(_Expander(name, thread).visit(kernel.body))


class _Expander(Mapper):
    """Replaces calls; `thread` is the number of the thread in its block."""

    def __init__(self, kernel: str, thread: Expr) -> None:
        self.kernel, self.thread = kernel, thread

    def visit_Call(self, node: Call) -> Expr:
        node = self.generic(node)
        if node.op not in _EXTERN:
            return node
        name = node.args[0].value if isinstance(node.args[0], StringImm) else ""
        counts, build = _FUNCTIONS.get(name, ((), None))
        arguments = node.args[1:]
        if build is None:
            raise self.error(
                name,
                "the emulated device and the checked mode do not have it",
                "use an intrinsic of te, or one of: " + ", ".join(sorted(_FUNCTIONS)),
            )
        if len(arguments) not in counts:
            wanted = " or ".join(map(str, counts))
            raise self.error(name, f"it takes {wanted} arguments, not {len(arguments)}", "see CUDA")
        found = build(self, node.dtype, arguments)
        return found if found.dtype == node.dtype or node.dtype == "void" else _cast(node, found)

    def error(self, name: str, why: str, cure: str) -> BuildError:
        """A call that cannot be expanded."""
        return BuildError(f"call the function {name!r} in kernel {self.kernel!r}", why, cure)


def _cast(node: Call, value: Expr) -> Expr:
    return value if value.dtype in ("void", "handle") else Cast(node.dtype, value)


_Build = Callable[[_Expander, str, Sequence[Expr]], Expr]


def _intrinsic(op: str, dtype: str = "") -> _Build:
    """A function that is an intrinsic, of arguments of one type."""

    def build(_: _Expander, given: str, args: Sequence[Expr]) -> Expr:
        wanted = dtype or given
        alike = [arg if arg.dtype == wanted else Cast(wanted, arg) for arg in args]
        if op == "tir.ldexp":
            alike[1] = args[1]
        return Call(wanted, op, tuple(alike))

    return build


def _operator(function: Callable[[Expr, Expr], Expr], dtype: str = "") -> _Build:
    def build(_: _Expander, given: str, args: Sequence[Expr]) -> Expr:
        a, b = (arg if arg.dtype == (dtype or given) else Cast(dtype or given, arg) for arg in args)
        return function(a, b)

    return build


def _multiplied_and_added(_: _Expander, dtype: str, args: Sequence[Expr]) -> Expr:
    wide = "float32" if dtypes.bits(dtype) == 16 else dtype
    a, b, c = (arg if arg.dtype == wide else Cast(wide, arg) for arg in args)
    return Call(wide, "tir.fma", (a, b, c))


def _saturated(_: _Expander, dtype: str, args: Sequence[Expr]) -> Expr:
    return Max(Min(args[0], FloatImm(1.0, dtype)), FloatImm(0.0, dtype))


def _rounded(wanted: str) -> _Build:
    """C's round, which takes halves away from zero."""

    def build(_: _Expander, given: str, args: Sequence[Expr]) -> Expr:
        dtype = wanted or given
        value = Var("x", dtype)
        whole = Call(dtype, "tir.trunc", (value,))
        rest = Call(dtype, "tir.fabs", (ops.sub(value, whole),))
        one = Select(ops.less(rest, FloatImm(0.5, dtype)), FloatImm(0, dtype), FloatImm(1, dtype))
        result = ops.add(whole, Call(dtype, "tir.copysign", (one, value)))
        return Let(value, args[0] if args[0].dtype == dtype else Cast(dtype, args[0]), result)

    return build


def _reciprocal(_: _Expander, dtype: str, args: Sequence[Expr]) -> Expr:
    return Div(FloatImm(1.0, dtype), args[0])


def _converted(dtype: str) -> _Build:
    return lambda _, given, args: Cast(dtype, args[0])


def _reinterpreted(dtype: str) -> _Build:
    return lambda _, given, args: Call(dtype, "tir.reinterpret", (args[0],))


def _dot_of_four(expander: _Expander, dtype: str, args: Sequence[Expr]) -> Expr:
    """__dp4a: the sum of four products of bytes, and c."""
    a, b, c = args
    total = c if c.dtype == dtype else Cast(dtype, c)
    kept: list[tuple[Var, Expr]] = []
    lanes = []
    for name, value in (("a", a), ("b", b)):
        var = Var(name, value.dtype)
        kept.append((var, value))
        lanes.append(_bytes(expander, var, dtype))
    for x, y in zip(*lanes, strict=True):
        total = ops.add(total, ops.mul(x, y))
    for var, value in reversed(kept):
        total = Let(var, value, total)
    return total


def _bytes(expander: _Expander, value: Var, dtype: str) -> list[Expr]:
    """The four bytes of a vector or of a word, as numbers."""
    if dtypes.lanes(value.dtype) == 4 and dtypes.bits(value.dtype) == 8:
        return [Cast(dtype, Shuffle((value,), (IntImm(k),))) for k in range(4)]
    if value.dtype not in ("int32", "uint32"):
        why = f"{value.dtype} is not four bytes"
        raise expander.error("__dp4a", why, "give int8x4, uint8x4, int32 or uint32")
    parts: list[Expr] = []
    for k in range(4):
        up = Call(value.dtype, "tir.shift_left", (value, IntImm(24 - 8 * k, value.dtype)))
        byte = Call(value.dtype, "tir.shift_right", (up, IntImm(24, value.dtype)))
        parts.append(byte if value.dtype == dtype else Cast(dtype, byte))
    return parts


# -- memory ----------------------------------------------------------------------------------------


def _loaded(expander: _Expander, dtype: str, args: Sequence[Expr]) -> Expr:
    """__ldg: what a pointer points to."""
    (pointer,) = args
    lanes = dtypes.lanes(dtype)
    if isinstance(pointer, Call) and pointer.op == "tir.address_of":
        load = pointer.args[0]
        if isinstance(load, BufferLoad) and load.dtype == dtype:
            return load
    if isinstance(pointer, Call) and pointer.op == "tir.tvm_access_ptr" and lanes == 1:
        kind, data, offset = pointer.args[:3]
        if isinstance(data, Var) and kind.dtype == dtype:
            buffer = Buffer(data, dtype, (IntImm(1),), (), IntImm(0), data.name)
            return BufferLoad(buffer, (offset,))
    why = f"nobody knows which {dtype} {pointer} points to"
    raise expander.error("__ldg", why, "give address_of or access_ptr of an element")


def _atomic(op: str) -> _Build:
    return lambda _, dtype, args: Call(args[-1].dtype, op, tuple(args))


# -- threads ---------------------------------------------------------------------------------------


def _barrier(scope: str) -> _Build:
    return lambda _, dtype, args: Call("int32", BARRIER, (StringImm(scope),))


def _shuffle(op: str) -> _Build:
    """__shfl*_sync(mask, value, lane[, width])"""

    def build(expander: _Expander, dtype: str, args: Sequence[Expr]) -> Expr:
        mask, value, lane = args[:3]
        width = args[3] if len(args) > 3 else IntImm(WARP)
        if op == "xor":
            own = ops.floormod(expander.thread, width)
            lane = Call("int32", "tir.bitwise_xor", (own, ops.cast("int32", lane)))
            return Call(value.dtype, "tir.tvm_warp_shuffle", (mask, value, lane, width, width))
        return Call(value.dtype, op, (mask, value, lane, width, IntImm(WARP)))

    return build


def _halves(function: Callable[[Expr, Expr], Expr]) -> tuple[tuple[int, ...], _Build]:
    return (2,), lambda _, dtype, args: function(args[0], args[1])


def _mathematics() -> dict[str, tuple[tuple[int, ...], _Build]]:
    table: dict[str, tuple[tuple[int, ...], _Build]] = {}
    for name in MATHEMATICS:
        count = (INTRINSICS[name].arity or 0,)
        table[name] = count, _intrinsic(f"tir.{name}")
        table[f"{name}f"] = count, _intrinsic(f"tir.{name}", "float32")
    for name in _FAST:
        table[f"__{name}f"] = table[f"{name}f"]
    table["__fsqrt_rn"] = table["sqrtf"]
    table["__frsqrt_rn"] = table["rsqrtf"]
    return table


_FUNCTIONS: Mapping[str, tuple[tuple[int, ...], _Build]] = {
    **_mathematics(),
    "round": ((1,), _rounded("")),
    "roundf": ((1,), _rounded("float32")),
    "fmaf": ((3,), _multiplied_and_added),
    "__fmaf_rn": ((3,), _multiplied_and_added),
    "fdividef": ((2,), _operator(Div, "float32")),
    "__fdividef": ((2,), _operator(Div, "float32")),
    "__fdiv_rn": ((2,), _operator(Div, "float32")),
    "__fadd_rn": ((2,), _operator(ops.add, "float32")),
    "__fsub_rn": ((2,), _operator(ops.sub, "float32")),
    "__fmul_rn": ((2,), _operator(ops.mul, "float32")),
    "__frcp_rn": ((1,), _reciprocal),
    "__saturatef": ((1,), _saturated),
    "min": ((2,), _operator(Min)),
    "max": ((2,), _operator(Max)),
    "fmin": ((2,), _operator(Min)),
    "fmax": ((2,), _operator(Max)),
    "fminf": ((2,), _operator(Min, "float32")),
    "fmaxf": ((2,), _operator(Max, "float32")),
    "abs": ((1,), _intrinsic("tir.abs")),
    "__popc": ((1,), lambda _, dtype, args: Call(args[0].dtype, "tir.popcount", tuple(args))),
    "__clz": ((1,), lambda _, dtype, args: Call("int32", "tir.clz", tuple(args))),
    "__dp4a": ((3,), _dot_of_four),
    "__half2float": ((1,), _converted("float32")),
    "__float2half": ((1,), _converted("float16")),
    "__float2half_rn": ((1,), _converted("float16")),
    "__bfloat162float": ((1,), _converted("float32")),
    "__float2bfloat16": ((1,), _converted("bfloat16")),
    "__hadd": _halves(ops.add),
    "__hsub": _halves(ops.sub),
    "__hmul": _halves(ops.mul),
    "__hfma": ((3,), _multiplied_and_added),
    "__float_as_int": ((1,), _reinterpreted("int32")),
    "__float_as_uint": ((1,), _reinterpreted("uint32")),
    "__int_as_float": ((1,), _reinterpreted("float32")),
    "__uint_as_float": ((1,), _reinterpreted("float32")),
    "__ldg": ((1,), _loaded),
    "__ldcg": ((1,), _loaded),
    "__ldca": ((1,), _loaded),
    "__ldcs": ((1,), _loaded),
    "atomicAdd": ((2,), _atomic("tir.atomic_add")),
    "atomicMin": ((2,), _atomic("tir.atomic_min")),
    "atomicMax": ((2,), _atomic("tir.atomic_max")),
    "atomicExch": ((2,), _atomic("tir.atomic_exch")),
    "atomicCAS": ((3,), _atomic("tir.atomic_cas")),
    "__syncthreads": ((0,), _barrier("shared")),
    "__syncwarp": ((0, 1), _barrier("warp")),
    "__shfl_sync": ((3, 4), _shuffle("tir.tvm_warp_shuffle")),
    "__shfl_up_sync": ((3, 4), _shuffle("tir.tvm_warp_shuffle_up")),
    "__shfl_down_sync": ((3, 4), _shuffle("tir.tvm_warp_shuffle_down")),
    "__shfl_xor_sync": ((3, 4), _shuffle("xor")),
}
