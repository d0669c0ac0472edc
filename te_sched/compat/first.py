"""Names of older generations of TVM: contexts, build_config, rules of intrinsics.

The tables of `names` list the modules that had them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from te_sched import nd, te
from te_sched.errors import LoweringError
from te_sched.ir import calls, ops
from te_sched.ir import expr as E
from te_sched.ir.expr import Buffer, Call, Range
from te_sched.ir.op import Op, Rule, register_intrin_lowering
from te_sched.ir.operators import rounding_to_zero
from te_sched.ir.stmt import For as ForNode
from te_sched.ir.stmt import SeqStmt, Stmt
from te_sched.pass_context import PassContext, warn_once
from te_sched.runtime.device import Device
from te_sched.runtime.device import device as context
from te_sched.runtime.ndarray import NDArray
from te_sched.target import Target
from te_sched.te import Operation, Tensor, TensorIntrin
from te_sched.tir import For as make_for
from te_sched.tir import Select as select
from te_sched.tir.constructors import Constructor

__all__ = [
    "VERSION",
    "Array",
    "BuildConfig",
    "ConstExpr",
    "Expr",
    "For",
    "Map",
    "String",
    "UnknownExtent",
    "array",
    "build_config",
    "call_intrin",
    "call_pure_intrin",
    "cast",
    "compute",
    "context",
    "ctx",
    "current_build_config",
    "current_target",
    "decl_tensor_intrin",
    "empty",
    "float32",
    "handle",
    "int32",
    "range_by_min_extent",
    "register_intrin_rule",
    "select",
    "skip_if_wheel_test",
    "stmt_list",
    "stmt_seq",
]

VERSION = "0.19.0+te.sched"
Array, Map, String = tuple, dict, str
int32, float32, handle = "int32", "float32", "handle"
Expr, ctx = E.Expr, context


class BuildConfig(PassContext):
    """A PassContext with settings for the buffers of tensor intrinsics."""

    buffer_params: Mapping[str, Any] = MappingProxyType({})


def array(
    arr: Any,
    device: Any = None,
    mem_scope: Any = None,
    *,
    ctx: Device | None = None,
    dtype: str | None = None,
) -> NDArray:
    """nd.array, whose parameter `device` was called `ctx`."""
    del mem_scope
    return nd.array(arr, ctx if device is None else device, dtype)


def empty(
    shape: Any,
    dtype: str = "float32",
    device: Any = None,
    mem_scope: Any = None,
    *,
    ctx: Device | None = None,
) -> NDArray:
    """nd.empty, whose parameter `device` was called `ctx`."""
    del mem_scope
    return nd.empty(shape, dtype, ctx if device is None else device)


def compute(shape: Any, fcompute: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """te.compute, in whose function / of integers rounds to zero, as in TVM until 0.5."""
    token = rounding_to_zero.set(True)
    try:
        return te.compute(shape, fcompute, *args, **options)
    finally:
        rounding_to_zero.reset(token)


def current_target(allow_none: bool = True) -> Target | None:
    """The target in scope."""
    return Target.current(allow_none)


class _IsConstant(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, E.IntImm | E.FloatImm | E.StringImm)


class ConstExpr(metaclass=_IsConstant):
    """A constant, for isinstance."""


class _IsNothing(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return False


class UnknownExtent(metaclass=_IsNothing):
    """An unknown extent of Relay's graphs, for isinstance; programs have none."""

    dtype = "int32"

    def script(self, **options: object) -> str:
        """The text of an unknown extent."""
        del options
        return "T.Any()"

    __str__ = __repr__ = script


def cast(src: E.ExprLike, dtype: str) -> E.Expr:
    """The value converted to another dtype."""
    return ops.cast(dtype, ops.convert(src))


class _LoopConstructor(Constructor):
    """For with its former attributes for kinds and its former parameter device_api."""

    Serial, Parallel, Vectorized, Unrolled = range(4)


def _loop(loop_var: Any, min: Any, extent: Any, kind: Any, *rest: Any, **named: Any) -> Any:
    if rest and isinstance(rest[0], int):  # device_api
        rest = rest[1:]
    return make_for(loop_var, min, extent, kind, *rest, **named)


For = _LoopConstructor(ForNode, _loop)


def stmt_seq(*args: Any) -> Stmt:
    """The sequence of statements."""
    stmts: list[Stmt] = []
    for statement in args:
        stmts += statement.seq if isinstance(statement, SeqStmt) else [statement]
    return stmts[0] if len(stmts) == 1 else SeqStmt(tuple(stmts))


def stmt_list(stmt: Stmt) -> list[Stmt]:
    """The statements of a sequence; any other statement alone."""
    return list(stmt.seq) if isinstance(stmt, SeqStmt) else [stmt]


def range_by_min_extent(min_value: Any, extent: Any) -> Range:
    """The range of `extent` integers from `min_value`."""
    low, size = ops.operands(min_value, extent)
    return Range(low, size)


def _full_name(name: str) -> str:
    """The name of an intrinsic with "tir.", which older programs omit."""
    return name if "." in name else f"tir.{name}"


def call_intrin(dtype: str, func_name: str, *args: Any) -> Call:
    """Call an intrinsic by its name, with or without "tir."."""
    return calls.call_intrin(dtype, _full_name(func_name), *args)


call_pure_intrin = call_intrin


class _NamedCall(Call):
    """A call whose `name` is that of the intrinsic without "tir."."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return self.op.removeprefix("tir.")


def register_intrin_rule(
    target: str, intrin: str, f: Rule | None = None, override: bool = False
) -> Any:
    """Register a rule that replaces calls of an intrinsic for a target; without f a decorator."""
    if f is None:
        return lambda rule: register_intrin_rule(target, intrin, rule, override)
    rule = f

    def of_named_call(call: Call) -> Any:
        named_call = _NamedCall(call.dtype, Op(call.op), call.args)
        result = rule(named_call)
        return None if result is named_call else result

    level = _OVERRIDE if override else _USUAL
    register_intrin_lowering(_full_name(intrin), target, f=of_named_call, level=level)
    return f


_USUAL, _OVERRIDE = 10, 99

# Options of build_config and relay.build_config, and their names for PassContext.
_UNROLLING = {
    "auto_unroll_max_step": "auto_max_step",
    "auto_unroll_max_depth": "auto_max_depth",
    "auto_unroll_max_extent": "auto_max_extent",
    "unroll_explicit": "explicit_unroll",
}
_OPTIONS = {
    "add_lower_pass": "tir.add_lower_pass",
    "disable_vectorize": "tir.disable_vectorize",
    "detect_global_barrier": "tir.detect_global_barrier",
    "double_buffer_split_loop": "tir.InjectDoubleBuffer",
    "instrument_bound_checkers": "tir.instrument_bound_checkers",
    "disable_assert": "tir.disable_assert",
    "restricted_func": "tir.noalias",
}
_PASS_CONTEXT = ("opt_level", "required_pass", "disabled_pass", "instruments", "config")
_OF_BUFFERS = ("data_alignment", "offset_factor")
_WITHOUT_EFFECT = {
    "dump_pass_ir": "te_sched.lower(..., stop_after=...) shows a pass's result",
    "fallback_device": "te_sched has no Relay",
    "trace": "te_sched.lower(..., stop_after=...) shows a pass's result",
}


def build_config(**options: Any) -> BuildConfig:
    """A context manager that sets how programs are lowered, with the options of TVM until 0.6."""
    config: dict[str, Any] = dict(options.pop("config", None) or {})
    settings: dict[str, Any] = {}
    unrolling: dict[str, Any] = {}
    buffer_params: dict[str, Any] = {}
    for name, value in options.items():
        if name in _PASS_CONTEXT:
            settings[name] = value
        elif name in _UNROLLING:
            unrolling[_UNROLLING[name]] = value
        elif name == "disable_select_rewriting":
            settings["disabled_pass"] = ["tir.RewriteUnsafeSelect"] if value else []
        elif name == "partition_const_loop":
            config["tir.LoopPartition"] = {name: value}
        elif name in _OF_BUFFERS:
            buffer_params[name] = value
        elif name in _OPTIONS:
            config[_OPTIONS[name]] = value
        elif name in _WITHOUT_EFFECT:
            warn_once(name, _WITHOUT_EFFECT[name])
        else:
            names = [*_PASS_CONTEXT, *_UNROLLING, *_OPTIONS, *_OF_BUFFERS, *_WITHOUT_EFFECT]
            names += ["disable_select_rewriting", "partition_const_loop"]
            raise LoweringError(
                f"unknown option of build_config: {name}={value!r}",
                "",
                f"use one of {', '.join(sorted(names))}",
            )
    if unrolling:
        config["tir.UnrollLoop"] = unrolling
    new_config = BuildConfig(config=config, **settings)
    new_config.buffer_params = buffer_params
    return new_config


def decl_tensor_intrin(
    op: Operation,
    fcompute: Callable[..., Any],
    name: str = "tensor_intrin",
    binds: Mapping[Tensor, Buffer] | None = None,
    **options: Any,
) -> TensorIntrin:
    """te.decl_tensor_intrin with the buffer parameters of build_config."""
    context = PassContext.current()
    if isinstance(context, BuildConfig) and context.buffer_params:
        options = {"default_buffer_params": context.buffer_params, **options}
    return te.decl_tensor_intrin(op, fcompute, name, binds, **options)


def current_build_config() -> PassContext:
    """The current options."""
    return PassContext.current()


def skip_if_wheel_test(function: Callable[..., Any]) -> Callable[..., Any]:
    """The test itself: it is skipped only in tests of TVM's own packages."""
    return function


get_operator = Op.get
