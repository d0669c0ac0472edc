"""load_module: from the files of export_library to modules. Must not know how files are written."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from te_sched import files
from te_sched.codegen.cuda import print_kernels
from te_sched.codegen.target import Target
from te_sched.errors import CallError, TeSchedError, kind_of
from te_sched.ir import dtypes
from te_sched.ir.argument_sizes import ATTRIBUTE as SIZES
from te_sched.ir.argument_sizes import Size
from te_sched.ir.device_limits import BOUND_TAGS, check_thread_tag
from te_sched.ir.expr import Buffer, Call, IterVar, Node, PointerType, StringImm, Var
from te_sched.ir.kernel import LAUNCH, is_kernel
from te_sched.ir.shared_arguments import ATTRIBUTE as SHARED
from te_sched.ir.shared_arguments import SharedArguments
from te_sched.ir.stmt import AttrStmt, IRModule, PrimFunc
from te_sched.ir.verify import verify
from te_sched.ir.visitor import walk
from te_sched.runtime.cuda_module import CudaModule, KernelFile
from te_sched.runtime.libraries import read_tar, unpack, unreadable, unseal
from te_sched.runtime.loader import load_code
from te_sched.runtime.module import Module
from te_sched.signatures import check_fields

# What makes executables of other kinds of their data and the module of their code.
READERS = {"relax": "te_sched.relax.vm.executable:executable_of"}


def load_module(path: str | os.PathLike[str], fmt: str = "") -> Any:
    """Load a module that export_library saved, or the kernels of one; `fmt` is for TVM's sake.

    What is in the file will run: load files that you trust. A file that was damaged since it was
    written, or that another te_sched or another kind of computer wrote, is refused (CallError).

    >>> A = te.placeholder((4,), name="A")
    >>> B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
    >>> module = te_sched.build(te.create_schedule(B.op), [A, B], "llvm")
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     module.export_library(f"{folder}/double.o")
    ...     te_sched.runtime.load_module(f"{folder}/double.o").entry_func.name
    'main'
    """
    del fmt
    content = files.read(path, "load", "check the path")
    if Path(path).suffix in KernelFile.suffixes:
        return KernelFile(content, str(path))
    is_archive = Path(path).suffix == ".tar"
    data = unseal(read_tar(content, str(path)) if is_archive else content, str(path))
    program = unpack(data, str(path))
    suffix = ".o" if is_archive else Path(path).suffix
    if program is None:
        return Module(load_code(data, suffix, str(path)))
    if isinstance(program, dict):
        return _executable(program, data, suffix, str(path))
    return _cuda_module(program, str(path))


def _executable(program: dict[Any, Any], data: bytes, suffix: str, where: str) -> Any:
    reader, has_kernels = READERS.get(str(program.get("kind"))), program.get("has_kernels")
    if reader is None or not isinstance(has_kernels, bool):
        raise unreadable(where, "its program is of an unknown kind")
    module, _, name = reader.partition(":")
    device_code = program.get("device_code")
    if device_code is not None:
        kernels: Any = _cuda_module(device_code, where)
    else:
        kernels = Module(load_code(data, suffix, where)) if has_kernels else None
    try:
        return getattr(importlib.import_module(module), name)(program, kernels)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise unreadable(
            where, f"its program is damaged: {type(error).__name__}: {error}"
        ) from None


def _cuda_module(program: Any, where: str) -> CudaModule:
    if not isinstance(program, tuple) or len(program) != 3:
        raise unreadable(where, "its program is of an unknown kind")
    functions, target, checked = program
    try:
        for module in (functions, *([] if checked is None else [checked])):
            _check_program(module)
        loaded = CudaModule(functions, Target(target), checked)
        print_kernels(loaded.kernels, loaded.target)  # what it refuses would fail at a call
        return loaded
    except (TeSchedError, LookupError, TypeError, ValueError, AttributeError) as error:
        why = error.fault if isinstance(error, TeSchedError) else f"{type(error).__name__}: {error}"
        raise unreadable(where, f"its program is damaged: {why}") from None


def _check_program(module: Any) -> None:
    """Raise an error for what is not a program for a GPU, whose nodes have fitting fields."""
    if not isinstance(module, IRModule):
        raise TypeError("it is not a module")
    for name, func in module.functions.items():
        if not isinstance(name, str) or not isinstance(func, PrimFunc):
            raise TypeError("a module has a part that is not a function of loops")
        _check_function(func, module.functions)
    if all(map(is_kernel, module.functions.values())):
        raise ValueError("it has no function to call")


def _check_function(func: PrimFunc, functions: Mapping[str, Any]) -> None:
    for node in (*func.params, *walk(func)):
        if isinstance(node, Var) and not isinstance(node.pointer, PointerType | None):
            raise TypeError(f"the pointer of a variable is {kind_of(node.pointer)}")
        if isinstance(node, Node):
            _check_parts(node)
        elif not isinstance(node, str | int | float | bool | None):
            raise TypeError(f"a node has {kind_of(node)} as a part")
        if isinstance(node, AttrStmt) and isinstance(node.node, IterVar):
            check_thread_tag(node.node.thread_tag, CallError, BOUND_TAGS)
        if isinstance(node, Call) and node.op == LAUNCH:
            kernel = node.args[0]
            if not isinstance(kernel, StringImm) or kernel.value not in functions:
                raise ValueError("it launches a kernel that it does not have")
    arguments: dict[type[Any], Any] = {
        Var: func.buffer_map.keys(),
        Buffer: func.buffer_map.values(),
    }
    arguments |= {kind: func.attrs.get(name, ()) for name, kind in _ATTRIBUTES.items()}
    for kind, values in arguments.items():
        if not all(isinstance(value, kind) for value in values):
            raise TypeError(f"a function has other parts than {kind.__name__}")
    for buffer in func.buffer_map.values():
        _check_parts(buffer)
    verify(func, "kernel_final" if is_kernel(func) else "host")


def _check_parts(node: Any) -> None:
    """Raise an error for a node, or its buffer, with an unfit field or unknown dtype."""
    for part in (node, getattr(node, "buffer", None)):
        if part is not None:
            check_fields(part)
            dtypes.known(getattr(part, "dtype", ""))
        if isinstance(pointer := getattr(part, "pointer", None), PointerType):
            dtypes.known(pointer.element)


_ATTRIBUTES: dict[str, type[Any]] = {SIZES: Size, SHARED: SharedArguments}
