"""load_module: from the files of export_library to modules. Must not know how files are written."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from te_sched import files
from te_sched.codegen.target import Target
from te_sched.runtime.cuda_module import CudaModule, KernelFile
from te_sched.runtime.libraries import read_tar, unpack, unseal
from te_sched.runtime.loader import load_code
from te_sched.runtime.module import Module

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
    if isinstance(program, dict):
        module, _, name = READERS[program["kind"]].partition(":")
        kernels = Module(load_code(data, suffix, str(path))) if program["has_kernels"] else None
        return getattr(importlib.import_module(module), name)(program, kernels)
    if program is not None:
        functions, target, checked = program
        return CudaModule(functions, Target(target), checked)
    return Module(load_code(data, suffix, str(path)))
