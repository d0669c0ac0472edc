"""load_module: from the files of export_library to modules. Must not know how files are written."""

from __future__ import annotations

import os
from pathlib import Path

from te_sched.codegen.target import Target
from te_sched.runtime.cuda_module import CudaModule
from te_sched.runtime.libraries import read_tar, unpack
from te_sched.runtime.loader import load_file, load_objects, read_file, read_metadata
from te_sched.runtime.module import Module


def load_module(path: str | os.PathLike[str], fmt: str = "") -> Module | CudaModule:
    """Load a module that export_library saved; `fmt` is for TVM's sake."""
    del fmt
    is_archive = isinstance(path, str | os.PathLike) and Path(path).suffix == ".tar"
    data = read_tar(Path(path)) if is_archive else read_file(path)
    program = unpack(data, str(path))
    if program is not None:
        functions, target = program
        return CudaModule(functions, Target(target))
    if is_archive:
        return Module(load_objects((data,), read_metadata(data, str(path))))
    return Module(load_file(path))
