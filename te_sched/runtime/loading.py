"""load_module: from the files of export_library to modules. Must not know how files are written."""

from __future__ import annotations

import os
from pathlib import Path

from te_sched.codegen.target import Target
from te_sched.runtime.cuda_module import CudaModule
from te_sched.runtime.libraries import read_tar, unpack, unseal
from te_sched.runtime.loader import load_code, read_file
from te_sched.runtime.module import Module


def load_module(path: str | os.PathLike[str], fmt: str = "") -> Module | CudaModule:
    """Load a module that export_library saved; `fmt` is for TVM's sake.

    What is in the file will run: load files that you trust. A file that was damaged since it was
    written, or that another te_sched or another kind of computer wrote, is refused (CallError).
    """
    del fmt
    is_archive = isinstance(path, str | os.PathLike) and Path(path).suffix == ".tar"
    data = unseal(read_tar(Path(path)) if is_archive else read_file(path), str(path))
    program = unpack(data, str(path))
    if program is not None:
        functions, target = program
        return CudaModule(functions, Target(target))
    return Module(load_code(data, ".o" if is_archive else Path(path).suffix, str(path)))
