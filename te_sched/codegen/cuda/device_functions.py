"""CUDA device functions that kernels call by name, expressed by intrinsics of te_sched.

Where a kernel does not run on a GPU, `call_extern("float32", "__expf", x)` has no function to call:

    call_pure_extern("int32", "__dp4a", a, b, c)         ->  c + a.x * b.x + a.y * b.y + ...
    call_extern("float32", "__shfl_down_sync", m, x, 1)  ->  tvm_warp_shuffle_down(m, x, 1, 32, 32)

Functions that are fast and inexact on a GPU are exact here. Must not know who runs the kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from te_sched.codegen.calls import target_of
from te_sched.errors import BuildError, Subject
from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.device_limits import WARP
from te_sched.ir.intrinsic_table import INTRINSICS, MATHEMATICS
from te_sched.ir.kernel import BARRIER, is_kernel, thread_axes, thread_number
from te_sched.ir.visitor import Mapper, walk

_EXTERN = ("tir.call_extern", "tir.call_pure_extern")
_FAST = ("exp", "exp10", "log", "log2", "log10", "sin", "cos", "tan", "pow")


def expand_device_functions(module: S.IRModule) -> S.IRModule:
    """The module with kernels that call no function by name; itself where none does.

    Raises
    ------
    BuildError for a function that is not known here.
    """
    functions = {
        name: _expand(func)
        for name, func in module.functions.items()
        if is_kernel(func) and any(map(_is_extern, walk(func.body)))
    }
    return S.IRModule({**module.functions, **functions}) if functions else module


def _is_extern(node: object) -> bool:
    return type(node) is E.Call and node.op in _EXTERN


def _expand(kernel: S.PrimFunc) -> S.PrimFunc:
    thread, _ = thread_number(thread_axes(kernel)[0])
    name = str(kernel.attrs.get("global_symbol", "main"))
    return kernel.with_body(_Expander(name, thread).visit(kernel.body))


class _Expander(Mapper):
    """Replaces calls; `thread` is the number of the thread in its block."""

    def __init__(self, kernel: str, thread: E.Expr) -> None:
        self.kernel, self.thread = kernel, thread

    def visit_Call(self, node: E.Call) -> E.Expr:
        node = self.generic(node)
        if node.op not in _EXTERN:
            return node
        name = node.args[0].value if isinstance(node.args[0], E.StringImm) else ""
        counts, build = _FUNCTIONS.get(name, ((), None))
        arguments = node.args[1:]
        if build is None:
            raise self.error(
                f"function {name!r} is not available without a GPU",
                "use an intrinsic of te, or one of: " + ", ".join(sorted(_FUNCTIONS)),
            )
        if len(arguments) not in counts:
            wanted = " or ".join(map(str, counts))
            fault = f"function {name!r} expects {wanted} arguments, got {len(arguments)}"
            raise self.error(fault, "see the CUDA Math API")
        result = build(self, node.dtype, arguments)
        return result if result.dtype == node.dtype or node.dtype == "void" else _cast(node, result)

    def error(self, fault: str, help: str) -> BuildError:
        """An error about a call that cannot be expanded."""
        return BuildError(
            fault, help=help, where=Subject("kernel", self.kernel, f"kernel {self.kernel!r}")
        )


def _cast(node: E.Call, value: E.Expr) -> E.Expr:
    return value if value.dtype in ("void", "handle") else E.Cast(node.dtype, value)


def _all_as(dtype: str, values: Sequence[E.Expr]) -> list[E.Expr]:
    return [value if value.dtype == dtype else E.Cast(dtype, value) for value in values]


_Build = Callable[[_Expander, str, Sequence[E.Expr]], E.Expr]


def _intrinsic(op: str, dtype: str = "") -> _Build:
    """A function that is an intrinsic, of arguments of one type."""

    def build(_: _Expander, call_dtype: str, args: Sequence[E.Expr]) -> E.Expr:
        wanted = dtype or call_dtype
        alike = _all_as(wanted, args)
        if op == "tir.ldexp":
            alike[1] = args[1]
        return E.Call(wanted, op, tuple(alike))

    return build


def _operator(function: Callable[[E.Expr, E.Expr], E.Expr], dtype: str = "") -> _Build:
    def build(_: _Expander, call_dtype: str, args: Sequence[E.Expr]) -> E.Expr:
        return function(*_all_as(dtype or call_dtype, args))

    return build


def _extremum_of_numbers(kind: type[E.Min | E.Max], dtype: str = "") -> _Build:
    """fmin, fmax: of a NaN and a number the number."""

    def build(_: _Expander, call_dtype: str, args: Sequence[E.Expr]) -> E.Expr:
        a, b = _all_as(dtype or call_dtype, args)
        result: E.Expr = kind(a, b)
        if dtypes.is_float(a.dtype):
            result = E.Select(E.NE(b, b), a, E.Select(E.NE(a, a), b, result))
        return result

    return build


def _multiplied_and_added(_: _Expander, dtype: str, args: Sequence[E.Expr]) -> E.Expr:
    wide = "float32" if dtypes.bits(dtype) == 16 else dtype
    return E.Call(wide, "tir.fma", tuple(_all_as(wide, args)))


def _saturated(_: _Expander, dtype: str, args: Sequence[E.Expr]) -> E.Expr:
    return E.Max(E.Min(args[0], E.FloatImm(1.0, dtype)), E.FloatImm(0.0, dtype))


def _rounded(wanted: str) -> _Build:
    """C's round, which takes halves away from zero."""

    def build(_: _Expander, call_dtype: str, args: Sequence[E.Expr]) -> E.Expr:
        dtype = wanted or call_dtype
        value = E.Var("x", dtype)
        whole = E.Call(dtype, "tir.trunc", (value,))
        rest = E.Call(dtype, "tir.fabs", (ops.sub(value, whole),))
        magnitude = E.Select(
            ops.less(rest, E.FloatImm(0.5, dtype)), E.FloatImm(0, dtype), E.FloatImm(1, dtype)
        )
        result = ops.add(whole, E.Call(dtype, "tir.copysign", (magnitude, value)))
        (given_value,) = _all_as(dtype, args)
        return E.Let(value, given_value, result)

    return build


def _reciprocal(_: _Expander, dtype: str, args: Sequence[E.Expr]) -> E.Expr:
    return E.Div(E.FloatImm(1.0, dtype), args[0])


def _converted(dtype: str) -> _Build:
    return lambda _, call_dtype, args: E.Cast(dtype, args[0])


def _reinterpreted(dtype: str) -> _Build:
    return lambda _, call_dtype, args: E.Call(dtype, "tir.reinterpret", (args[0],))


def _dot_of_four(expander: _Expander, dtype: str, args: Sequence[E.Expr]) -> E.Expr:
    """__dp4a: the sum of four products of bytes, and c."""
    a, b, c = args
    (total,) = _all_as(dtype, [c])
    kept: list[tuple[E.Var, E.Expr]] = []
    lanes = []
    for name, value in (("a", a), ("b", b)):
        var = E.Var(name, value.dtype)
        kept.append((var, value))
        lanes.append(_bytes(expander, var, dtype))
    for x, y in zip(*lanes, strict=True):
        total = ops.add(total, ops.mul(x, y))
    for var, value in reversed(kept):
        total = E.Let(var, value, total)
    return total


def _bytes(expander: _Expander, value: E.Var, dtype: str) -> list[E.Expr]:
    """The four bytes of a vector or of a word, as numbers."""
    if dtypes.lanes(value.dtype) == 4 and dtypes.bits(value.dtype) == 8:
        return [E.Cast(dtype, E.Shuffle((value,), (E.IntImm(k),))) for k in range(4)]
    if value.dtype not in ("int32", "uint32"):
        fault = f"__dp4a expects four bytes, got {value.dtype}"
        raise expander.error(fault, "use int8x4, uint8x4, int32 or uint32")
    parts: list[E.Expr] = []
    for k in range(4):
        up = E.Call(value.dtype, "tir.shift_left", (value, E.IntImm(24 - 8 * k, value.dtype)))
        parts.append(E.Call(value.dtype, "tir.shift_right", (up, E.IntImm(24, value.dtype))))
    return _all_as(dtype, parts)


# -- memory ----------------------------------------------------------------------------------------


def _is_address(pointer: E.Expr) -> bool:
    return isinstance(pointer, E.Call) and pointer.op == "tir.address_of"


def _loaded(expander: _Expander, dtype: str, args: Sequence[E.Expr]) -> E.Expr:
    """__ldg: what a pointer points to."""
    (pointer,) = args
    load = target_of(pointer)
    is_scaled = dtypes.lanes(dtype) > 1 and not _is_address(pointer)
    if load is not None and load.dtype == dtype and not is_scaled:
        return load
    fault = f"__ldg expects a pointer to an element of {dtype}, got {pointer}"
    raise expander.error(fault, "pass address_of or access_ptr of an element")


def _atomic(name: str) -> _Build:
    op = f"tir.atomic_{name.lower()}"
    return lambda _, dtype, args: E.Call(args[-1].dtype, op, tuple(args))


# -- threads ---------------------------------------------------------------------------------------


def _barrier(scope: str) -> _Build:
    return lambda _, dtype, args: E.Call("int32", BARRIER, (E.StringImm(scope),))


def _shuffle(way: str) -> _Build:
    """__shfl*_sync(mask, value, lane[, width])"""

    def build(expander: _Expander, dtype: str, args: Sequence[E.Expr]) -> E.Expr:
        mask, value, lane = args[:3]
        width = args[3] if len(args) > 3 else E.IntImm(WARP)
        if way == "_xor":
            own = ops.floormod(expander.thread, width)
            lane = E.Call("int32", "tir.bitwise_xor", (own, ops.cast("int32", lane)))
            return E.Call(value.dtype, "tir.tvm_warp_shuffle", (mask, value, lane, width, width))
        op = f"tir.tvm_warp_shuffle{way}"
        return E.Call(value.dtype, op, (mask, value, lane, width, E.IntImm(WARP)))

    return build


def _as_they_are(function: Callable[[E.Expr, E.Expr], E.Expr]) -> _Build:
    return lambda _, dtype, args: function(args[0], args[1])


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


_Row = tuple[tuple[int, ...], _Build]  # how many arguments there may be


def _alike(names: str, *row: Any) -> dict[str, _Row]:
    """One row for several names."""
    return dict.fromkeys(names.split(), row)


_FUNCTIONS: Mapping[str, _Row] = {
    **_mathematics(),
    "round": ((1,), _rounded("")),
    "roundf": ((1,), _rounded("float32")),
    **_alike("fmaf __fmaf_rn __hfma", (3,), _multiplied_and_added),
    **_alike("fdividef __fdividef __fdiv_rn", (2,), _operator(E.Div, "float32")),
    "__fadd_rn": ((2,), _operator(ops.add, "float32")),
    "__fsub_rn": ((2,), _operator(ops.sub, "float32")),
    "__fmul_rn": ((2,), _operator(ops.mul, "float32")),
    "__frcp_rn": ((1,), _reciprocal),
    "__saturatef": ((1,), _saturated),
    **_alike("min fmin", (2,), _extremum_of_numbers(E.Min)),
    **_alike("max fmax", (2,), _extremum_of_numbers(E.Max)),
    "fminf": ((2,), _extremum_of_numbers(E.Min, "float32")),
    "fmaxf": ((2,), _extremum_of_numbers(E.Max, "float32")),
    "abs": ((1,), _intrinsic("tir.abs")),
    "__popc": ((1,), lambda _, dtype, args: E.Call(args[0].dtype, "tir.popcount", tuple(args))),
    "__clz": ((1,), lambda _, dtype, args: E.Call("int32", "tir.clz", tuple(args))),
    "__dp4a": ((3,), _dot_of_four),
    **_alike("__half2float __bfloat162float", (1,), _converted("float32")),
    **_alike("__float2half __float2half_rn", (1,), _converted("float16")),
    "__float2bfloat16": ((1,), _converted("bfloat16")),
    "__hadd": ((2,), _as_they_are(ops.add)),
    "__hsub": ((2,), _as_they_are(ops.sub)),
    "__hmul": ((2,), _as_they_are(ops.mul)),
    "__float_as_int": ((1,), _reinterpreted("int32")),
    "__float_as_uint": ((1,), _reinterpreted("uint32")),
    **_alike("__int_as_float __uint_as_float", (1,), _reinterpreted("float32")),
    **_alike("__ldg __ldcg __ldca __ldcs", (1,), _loaded),
    **{f"atomic{name}": ((2,), _atomic(name)) for name in ("Add", "Min", "Max", "Exch")},
    "atomicCAS": ((3,), _atomic("CAS")),
    "__syncthreads": ((0,), _barrier("shared")),
    "__syncwarp": ((0, 1), _barrier("warp")),
    **{f"__shfl{way}_sync": ((3, 4), _shuffle(way)) for way in ("", "_up", "_down", "_xor")},
}
