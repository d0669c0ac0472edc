"""Atomic operations: old = *pointer; *pointer = f(old, value), while no other thread comes between.

Kernels on the emulated device need them, whose blocks run on several threads. Must not know
statements.
"""

from __future__ import annotations

from collections.abc import Callable

from te_sched.codegen.llvm.arithmetic import binary
from te_sched.codegen.llvm.casts import cast
from te_sched.codegen.llvm.expressions import evaluate
from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.types import Value, llvm_type, unknown
from te_sched.errors import BuildError
from te_sched.ir import dtypes
from te_sched.ir import expr as E

# Of signed integers, unsigned integers, and floats; fmax and fmin would ignore a NaN.
_OPERATIONS = {
    "atomic_add": ("add", "add", "fadd"),
    "atomic_max": ("max", "umax", ""),
    "atomic_min": ("min", "umin", ""),
    "atomic_exch": ("xchg", "xchg", "xchg"),
}
_TYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64", "float16")


def _operands(out: FunctionText, node: E.Call) -> tuple[str, list[Value]]:
    dtype = node.args[-1].dtype
    if dtype not in _TYPES:
        raise BuildError(
            f"{node.op} does not support {dtype}",
            f"the processor supports {', '.join(_TYPES)}",
            "use one of these types",
        )
    pointer = evaluate(out, node.args[0]).text
    return pointer, [cast(out, evaluate(out, value), dtype) for value in node.args[1:]]


def _update(name: str) -> Callable[[FunctionText, E.Call], Value]:
    def write(out: FunctionText, node: E.Call) -> Value:
        pointer, (value,) = _operands(out, node)
        dtype = value.dtype
        kind = 2 if dtypes.is_float(dtype) else 0 if dtypes.is_int(dtype) else 1
        operation = _OPERATIONS[name][kind]
        if not operation:
            return _float_extremum(out, name.removeprefix("atomic_"), pointer, value)
        what = f"atomicrmw {operation} ptr {pointer}, {llvm_type(dtype)} {value.text} monotonic"
        return unknown(out.emit(what), dtype)

    return write


def _float_extremum(out: FunctionText, name: str, pointer: str, value: Value) -> Value:
    """min or max of floats, NaN if either is one: a loop until no other thread came between."""
    kind, bits = llvm_type(value.dtype), f"i{dtypes.bits(value.dtype)}"
    slot = out.allocate_static(bits)
    align = dtypes.storage_bytes(value.dtype)
    first = out.emit(f"load atomic {bits}, ptr {pointer} monotonic, align {align}")
    out.do(f"store {bits} {first}, ptr {slot}")
    again, done = out.label("again"), out.label("done")
    out.branch(again)
    out.open(again)
    expected = out.emit(f"load {bits}, ptr {slot}")
    old = unknown(out.emit(f"bitcast {bits} {expected} to {kind}"), value.dtype)
    new = out.emit(f"bitcast {kind} {binary(out, name, old, value).text} to {bits}")
    what = f"cmpxchg ptr {pointer}, {bits} {expected}, {bits} {new} monotonic monotonic"
    pair = out.emit(what)
    out.do(f"store {bits} {out.emit(f'extractvalue {{{bits}, i1}} {pair}, 0')}, ptr {slot}")
    out.branch_if(out.emit(f"extractvalue {{{bits}, i1}} {pair}, 1"), done, again)
    out.open(done)
    return old


def _compare_and_swap(out: FunctionText, node: E.Call) -> Value:
    pointer, (wanted, new) = _operands(out, node)
    kind = llvm_type(new.dtype)
    if dtypes.is_float(new.dtype):
        raise BuildError(
            f"{node.op} does not support {new.dtype}",
            "values are compared as integers",
            "reinterpret the value as an integer",
        )
    what = f"cmpxchg ptr {pointer}, {kind} {wanted.text}, {kind} {new.text} monotonic monotonic"
    pair = out.emit(what)
    return unknown(out.emit(f"extractvalue {{{kind}, i1}} {pair}, 0"), new.dtype)


CALLS: dict[str, Callable[[FunctionText, E.Call], Value]] = {
    **{name: _update(name) for name in _OPERATIONS},
    "atomic_cas": _compare_and_swap,
}
