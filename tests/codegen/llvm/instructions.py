"""Instructions in a function of their own, read as text or run on numbers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from te_sched.codegen.llvm.expressions import evaluate
from te_sched.codegen.llvm.function import AliasScopes, FunctionText
from te_sched.codegen.llvm.half import define_half_conversions
from te_sched.codegen.llvm.machine import compile_object, host_machine
from te_sched.codegen.llvm.module import ModuleText
from te_sched.codegen.llvm.types import Value, llvm_type, memory_type, unknown
from te_sched.codegen.signature import Signature
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.runtime import jit

Write = Callable[..., Value]
Operand = tuple[str, Any]  # a dtype, and a number or as many numbers as it has lanes


def new_function(module: ModuleText | None = None, **options: Any) -> FunctionText:
    """A function to which nothing has been written."""
    module = module or ModuleText()
    func = S.PrimFunc((), S.Evaluate(E.IntImm(0)), {})
    return FunctionText(module, Signature("f", "f", [], []), AliasScopes(module), func, **options)


def text_of(out: FunctionText) -> str:
    """The instructions without the names of their results, which are in order."""
    return "\n".join(line.strip() for line in [*out.prologue, *out.lines])


def stored_type(dtype: str) -> str:
    """The numpy type of the bytes of an element: bfloat16 are their bits."""
    return "uint16" if dtypes.parse(dtype).code == "bfloat" else dtypes.element(dtype)


def run(write: Write, operands: Sequence[Operand], dtype: str) -> Any:
    """The value that `write(out, *values)` computes of type `dtype`, as an array of its lanes."""
    out, values, arrays = new_function(), [], []
    for number, (kind, numbers) in enumerate(operands):
        arrays.append(np.array(numbers, stored_type(kind)).reshape(dtypes.lanes(kind)))
        text = out.emit(f"load {memory_type(kind)}, ptr %a{number}, align 1")
        if dtypes.is_bool(kind):
            text = out.emit(f"trunc {memory_type(kind)} {text} to {llvm_type(kind)}")
        values.append(unknown(text, kind))
    value = write(out, *values)
    assert value.dtype == dtype
    text = value.text
    if dtypes.is_bool(dtype):
        text = out.emit(f"zext {llvm_type(dtype)} {text} to {memory_type(dtype)}")
    out.do(f"store {memory_type(dtype)} {text}, ptr %r, align 1")
    out.do("ret i32 0")
    result = np.zeros(dtypes.lanes(dtype), stored_type(dtype))
    assert call(out, [*arrays, result], [*[f"a{k}" for k in range(len(arrays))], "r"]) == 0
    return result


def call(out: FunctionText, arrays: Sequence[np.ndarray], names: Sequence[str]) -> int:
    """The code that the function returns for pointers to arrays."""
    parameters = ", ".join(f"ptr %{name}" for name in names)
    lines = [f"define i32 @f({parameters}) {{", "entry:", *out.prologue, *out.lines, "}"]
    out.module.functions.append("\n".join(lines))
    define_half_conversions(out.module, lambda: False)
    machine = host_machine()
    data = compile_object(out.module.render(b"", machine.header), (), machine)
    code = jit.link_objects((data,), ("f",))
    function = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * len(arrays))
    return int(function(code.address("f"))(*[array.ctypes.data for array in arrays]))


def run_expression(node: E.Expr, environment: dict[E.Var, Any]) -> Any:
    """The value of an expression of variables."""

    def write(out: FunctionText, *values: Value) -> Value:
        out.environment.update(zip(environment, values, strict=True))
        return evaluate(out, node)

    return run(write, [(var.dtype, value) for var, value in environment.items()], node.dtype)
