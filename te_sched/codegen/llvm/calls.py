"""Calls of external code: C functions, Python callbacks, packed functions, LLVM intrinsics.

A C function that the process or a linked module defines is called by its name. Everything
registered in Python is called through a slot that the loader fills; such calls give an error code,
and a code other than 0 leaves the function. Must not know statements or the runtime.
"""

from __future__ import annotations

from typing import Any

from te_sched.codegen.llvm.casts import cast
from te_sched.codegen.llvm.expressions import evaluate, evaluate_index
from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.memory import address
from te_sched.codegen.llvm.processors import needs_trial
from te_sched.codegen.llvm.types import Value, llvm_type, memory_type, quote, unknown
from te_sched.errors import BuildError
from te_sched.ir import dtypes
from te_sched.ir import expr as E

DONE = 0x7E5C4ED  # what a callback gives when all is well; ctypes gives anything otherwise
LOST = -(2**31)  # the code of one that gave neither that nor a code


def call_extern(out: FunctionText, node: E.Call, pure: bool) -> Value:
    """call_extern(name, arguments...)"""
    name = _name(node)
    values = [evaluate(out, argument) for argument in node.args[1:]]
    how = out.module.extern_kinds(name)
    if how == "callback":
        kinds = [_callback_type(argument) for argument in node.args[1:]]
        values = [
            cast(out, value, "float32") if dtypes.is_small_float(value.dtype) else value
            for value in values
        ]
        return _call_back(
            out, values, {"kind": "callback", "name": name, "args": kinds, "result": node.dtype}
        )
    result = llvm_type(node.dtype)
    types = tuple(map(_parameter_type, values))
    operands = ", ".join(f"{kind} {value.text}" for kind, value in zip(types, values, strict=True))
    if how == "pointer":
        function = out.load_slot(kind="pointer", name=name)
    else:
        out.module.externs.add(name)
        function = out.module.declare(name, result, types, _attributes(values, pure))
    if result == "void":
        out.do(f"call void {function}({operands})")
        return Value("", "void")
    return unknown(out.emit(f"call {result} {function}({operands})"), node.dtype)


def _name(node: E.Call) -> str:
    if node.args and isinstance(node.args[0], E.StringImm):
        return node.args[0].value
    raise BuildError(
        f"first argument of {node.op} must be the name of a function",
        help="pass the name as a string",
    )


def _parameter_type(value: Value) -> str:
    """A type as C passes it: integers that are narrower than a register are extended."""
    kind, text = dtypes.parse(value.dtype), llvm_type(value.dtype)
    if kind.code == "bool" or (kind.code in ("int", "uint") and kind.bits < 32):
        return f"{text} {'signext' if kind.code == 'int' else 'zeroext'}"
    return text


def _attributes(values: list[Value], pure: bool) -> str:
    if not pure:
        return "nounwind"
    reads = any(value.dtype == "handle" for value in values)
    return f"nounwind willreturn memory({'read' if reads else 'none'})"


def _callback_type(argument: E.Expr) -> str:
    """The dtype of an argument; of a pointer "float32*" where its element is known.

    C has no small floats: Python functions get them as float32.
    """
    if argument.dtype != "handle":
        return "float32" if dtypes.is_small_float(argument.dtype) else argument.dtype
    if isinstance(argument, E.StringImm):
        return "str"
    if (
        isinstance(argument, E.Call)
        and argument.args
        and argument.op in ("tir.tvm_access_ptr", "tir.address_of")
    ):
        return dtypes.element(argument.args[0].dtype) + "*"
    if (
        isinstance(argument, E.Var)
        and argument.pointer is not None
        and argument.pointer.element != "handle"
    ):
        return dtypes.element(argument.pointer.element) + "*"
    return "handle"


def _call_back(out: FunctionText, values: list[Value], what: dict[str, Any]) -> Value:
    """Call int32 slot(pointer to the result, arguments...) and leave unless it gives DONE.

    It gives anything where Python was interrupted before it could do or report something. In a
    parallel loop, an error of another thread counts as one of this call.
    """
    if out.parent is not None:
        other = out.emit(f"load atomic i32, ptr {out.error_slot} monotonic, align 4")
        out.leave_unless_zero(other)
    function, result = out.load_slot(**what), str(what["result"])
    room = out.allocate_static("i64", 8)
    out.do(f"store i64 0, ptr {room}, align 8")
    operands = "".join(f", {_parameter_type(value)} {value.text}" for value in values)
    code = out.emit(f"call i32 {function}(ptr {room}{operands})")
    lost = out.emit(f"icmp sge i32 {code}, 0")
    error = out.emit(f"select i1 {lost}, i32 {LOST}, i32 {code}")
    out.leave_if(out.emit(f"icmp ne i32 {code}, {DONE}"), error)
    if result == "void":
        return Value("", "void")
    text = out.emit(f"load {memory_type(result)}, ptr {room}, align 8")
    if dtypes.is_bool(result):
        text = out.emit(f"trunc i8 {text} to i1")
    return unknown(text, result)


def call_function(out: FunctionText, node: E.Call) -> Value:
    """call_function(name, arguments...): a function of this module that was written before.

    Pointers stand for buffers. An error of the function is one of the caller.
    """
    name = _name(node)
    callee = next(
        (signature for signature in out.module.signatures if signature.name == name), None
    )
    if callee is None or any(symbol.passed for symbol in callee.symbols):
        raise BuildError(
            f"cannot call function {name!r} of the module",
            "it is not there, or it has sizes that depend on its arguments",
            "write the function before its caller, with constant sizes",
        )
    operands = []
    for parameter, argument in zip(callee.parameters, node.args[1:], strict=True):
        value = evaluate(out, argument)
        if parameter.kind == "scalar":
            small = dtypes.is_small_float(parameter.dtype)
            value = cast(out, value, "float32" if small else parameter.dtype)
            is_bool = dtypes.is_bool(parameter.dtype)
            text = out.emit(f"zext i1 {value.text} to i8") if is_bool else value.text
            operands.append(f"{memory_type(value.dtype)} {text}")
        else:
            operands.append(f"ptr {value.text}")
    out.signature.parallel |= callee.parallel
    first = len(out.signature.failures)
    out.signature.failures += callee.failures
    code = out.emit(f"call i32 @{quote(callee.symbol)}({', '.join(operands)})")
    is_described = out.emit(f"icmp sgt i32 {code}, 0")
    own = out.emit(f"add i32 {code}, {first}")
    error = out.emit(f"select i1 {is_described}, i32 {own}, i32 {code}")
    out.leave_if(out.emit(f"icmp ne i32 {code}, 0"), error)
    return Value("", "void")


def linked_memory(out: FunctionText, node: E.Call) -> Value:
    """linked_memory(name): the address that the module was given for a name."""
    return unknown(out.load_slot(kind="memory", name=_name(node)), "handle")


def call_packed(out: FunctionText, node: E.Call) -> Value:
    """call_packed(name, arguments...): arguments travel in an array of 64-bit words."""
    name, words, kinds = _name(node), list[str](), list[dict[str, Any]]()
    for argument in node.args[1:]:
        kinds.append(_pack(out, argument, words))
    packet = out.allocate_static(f"[{max(1, len(words))} x i64]", 8)
    for number, word in enumerate(words):
        pointer = out.emit(f"getelementptr inbounds i64, ptr {packet}, i64 {number}")
        out.do(f"store i64 {word}, ptr {pointer}, align 8")
    what = {"kind": "packed", "name": name, "args": kinds, "result": node.dtype}
    return _call_back(out, [Value(packet, "handle")], what)


def _pack(out: FunctionText, argument: E.Expr, words: list[str]) -> dict[str, Any]:
    """Append the words of an argument; gives what the receiver must know to read them."""
    if isinstance(argument, E.StringImm):
        return {"kind": "str", "value": argument.value}
    if isinstance(argument, E.Call) and argument.op == "tir.tvm_stack_make_array":
        return _pack_array(out, argument, words)
    value = evaluate(out, argument)
    if value.dtype == "handle":
        words.append(out.emit(f"ptrtoint ptr {value.text} to i64"))
        return {"kind": "handle"}
    if dtypes.is_float(value.dtype):
        words.append(out.emit(f"bitcast double {cast(out, value, 'float64').text} to i64"))
        return {"kind": "float"}
    words.append(cast(out, value, "int64").text)
    return {"kind": "bool" if dtypes.is_bool(value.dtype) else "int"}


def _pack_array(out: FunctionText, node: E.Call, words: list[str]) -> dict[str, Any]:
    data, shape, strides, _ndim, sample, offset = node.args
    pointer = address(
        out, evaluate(out, data), sample.dtype, evaluate_index(out, offset), inside=False
    )
    words.append(out.emit(f"ptrtoint ptr {pointer} to i64"))
    extents = shape.args if isinstance(shape, E.Call) else ()
    steps = strides.args if isinstance(strides, E.Call) else ()
    for value in (*extents, *steps):
        words.append(cast(out, evaluate_index(out, value), "int64").text)
    return {"kind": "array", "dtype": sample.dtype, "ndim": len(extents), "strided": bool(steps)}


def call_llvm(out: FunctionText, node: E.Call) -> Value:
    """call_llvm_intrin("llvm.name", ..., arguments...): an LLVM intrinsic by name."""
    name = _name(node)
    if not name.startswith("llvm."):
        raise BuildError(
            f"name of an LLVM intrinsic must begin with llvm., got {name}",
            help="call a function of C by tir.call_extern",
        )
    arguments = [evaluate(out, argument) for argument in node.args[1:]]
    if arguments and isinstance(node.args[1], E.IntImm) and node.args[1].dtype == "uint32":
        arguments = arguments[1:]  # TVM's count of arguments that choose the overload
    result = _intrinsic_type(node.dtype)
    types = tuple(_intrinsic_type(value.dtype) for value in arguments)
    texts = [_as_bfloats(out, value) for value in arguments]
    function = out.module.declare(name, result, types)
    operands = ", ".join(f"{kind} {text}" for kind, text in zip(types, texts, strict=True))
    call = f"call {result} {function}({operands})"
    if needs_trial(name, result, types):
        constants = ["" if text.startswith("%") else text for text in texts]
        out.module.intrinsics.add((name, (result, *zip(types, constants, strict=True))))
    if result == "void":
        out.do(call)
        return Value("", "void")
    text = out.emit(call)
    if result != llvm_type(node.dtype):
        text = out.emit(f"bitcast {result} {text} to {llvm_type(node.dtype)}")
    return unknown(text, node.dtype)


def _intrinsic_type(dtype: str) -> str:
    """The type of an operand of an intrinsic: bfloat16, elsewhere its bits, is a type of LLVM's."""
    kind = llvm_type(dtype)
    return kind.replace("i16", "bfloat") if dtypes.parse(dtype).code == "bfloat" else kind


def _as_bfloats(out: FunctionText, value: Value) -> str:
    kind = _intrinsic_type(value.dtype)
    if kind == llvm_type(value.dtype):
        return value.text
    return out.emit(f"bitcast {llvm_type(value.dtype)} {value.text} to {kind}")
