"""The entry function of a PrimFunc: takes its arguments, returns an error code.

int32 te_sched_<name>(one pointer or scalar for each argument, then the symbols of shapes, then the
slot of the value that it returns); 0 is success, a positive code is a row of `Signature.failures`,
a negative one names an exception that a Python callback raised.
"""

from __future__ import annotations

from te_sched.codegen.llvm import intrinsics as _intrinsics  # gives `expressions` its calls
from te_sched.codegen.llvm import quirks
from te_sched.codegen.llvm.casts import cast
from te_sched.codegen.llvm.function import AliasScopes, FunctionText
from te_sched.codegen.llvm.module import ModuleText
from te_sched.codegen.llvm.overlap import check_overlap
from te_sched.codegen.llvm.statements import execute
from te_sched.codegen.llvm.types import Value, argument_type, integer, quote, unknown
from te_sched.codegen.signature import Signature, SignatureBuilder
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir.data import numbers_of_calls
from te_sched.ir.stmt import BufferStore, PrimFunc
from te_sched.ir.visitor import walk

__all__ = ["WRITTEN", "write_function"]
assert _intrinsics is not None
WRITTEN = "te_sched.written"  # attribute of a function: the memory that those it calls write


def write_function(module: ModuleText, func: PrimFunc, name: str) -> Signature:
    """Add a PrimFunc to the module; gives its signature."""
    builder = SignatureBuilder(func, name, "te_sched_" + name)
    signature = builder.signature
    _mark_written(func, signature)
    module.scalar_loops |= quirks.scalar_loops(func.body)
    out = FunctionText(module, signature, AliasScopes(module), func)
    parameters = _bind_arguments(out, func, builder)
    check_overlap(out, func, signature)
    execute(out, func.body)
    out.scopes.close()
    _finish(out, parameters)
    module.signatures.append(signature)
    return signature


def _mark_written(func: PrimFunc, signature: Signature) -> None:
    written = set(func.attrs.get(WRITTEN, ()))
    for node in walk(func.body):
        if isinstance(node, BufferStore):
            written.add(node.buffer.data)
        elif isinstance(node, E.Call) and node.op == "tir.tvm_access_ptr":
            mode, data = node.args[4], node.args[1]
            if isinstance(mode, E.IntImm) and mode.value & 2 and isinstance(data, E.Var):
                written.add(data)
        elif isinstance(node, E.Call) and node.op.startswith("tir.atomic_"):
            load = next(
                (expr for expr in walk(node.args[0]) if isinstance(expr, E.BufferLoad)), None
            )
            if load is not None:
                written.add(load.buffer.data)
    for param, parameter in zip(func.params, signature.parameters, strict=True):
        buffer = func.buffer_map.get(param)
        parameter.written = buffer is not None and buffer.data in written


def _bind_arguments(out: FunctionText, func: PrimFunc, builder: SignatureBuilder) -> list[str]:
    """Give the variables of the function their values; the texts of its parameters."""
    noalias = bool(func.attrs.get("tir.noalias"))
    texts = []
    numbers = numbers_of_calls(func)
    for number, (param, parameter) in enumerate(
        zip(func.params, builder.signature.parameters, strict=True)
    ):
        name = f"%a{number}"
        if parameter.kind == "scalar":
            texts.append(_scalar(out, param, name, param in builder.sizes, param in numbers))
            continue
        buffer = func.buffer_map.get(param)
        out.environment[param if buffer is None else buffer.data] = Value(
            name, "handle", data=False
        )
        is_alone = noalias and buffer is not None
        texts.append(f"ptr noalias {name}" if is_alone else f"ptr {name}")
        if noalias and buffer is not None:
            out.scopes.add(buffer.data)
    for number, (var, symbol) in enumerate(
        zip(builder.variables, builder.signature.symbols, strict=True)
    ):
        if symbol.passed:
            texts.append(_scalar(out, var, f"%n{number}", var in builder.sizes))
    if builder.signature.result:
        texts.append("ptr %returned")
    for offset in builder.offsets:
        out.environment[offset] = integer(0, offset.dtype)
    return texts


def _scalar(out: FunctionText, var: E.Var, name: str, size: bool, data: bool = False) -> str:
    """A number; a symbol of a shape is never negative."""
    value = unknown(name, var.dtype, data)
    if size or var.is_size:
        value.lo = 0
    if dtypes.is_bool(var.dtype):
        value = Value(out.emit(f"trunc i8 {name} to i1"), var.dtype, 0, 1, False)
    elif dtypes.is_small_float(var.dtype):
        value = cast(out, Value(name, "float32", data=False), var.dtype)
    out.environment[var] = value
    return f"{argument_type(var.dtype)} {name}"


def _finish(out: FunctionText, parameters: list[str]) -> None:
    symbol = "@" + quote(out.signature.symbol)
    if out.signature.result:
        fault = f"function {out.signature.name} ended without returning a value"
        why = f"it returns {out.signature.result} elsewhere"
        failure = out.signature.failure(fault, why, "return a value on every path")
        out.do(f"ret i32 {failure}")
    else:
        out.do("ret i32 0")
    attributes = out.module.function_attributes + "nounwind noinline"
    lines = [
        f"define i32 {symbol}({', '.join(parameters)}) {attributes} {out.debug_attachment}{{",
        "entry:",
    ]
    out.module.functions.append("\n".join([*lines, *out.prologue, *out.lines, "}"]))
