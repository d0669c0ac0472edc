"""Compilation of all kernels that tests build, if NVRTC is installed, once per source."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from te_sched.codegen.cuda import nvrtc, print_kernels
from te_sched.codegen.target import Target
from te_sched.ir.kernel import is_kernel
from te_sched.ir.stmt import IRModule
from te_sched.runtime.cuda_module import CudaModule, architecture_of

_make = CudaModule.__init__
_compiled: set[tuple[str, str]] = set()


@contextmanager
def compiled_kernels() -> Iterator[None]:
    """A context manager that compiles the kernels of all modules built inside it at its end.

    Raises an error for a kernel that cannot be printed or compiled.
    """
    built: list[tuple[IRModule, Target]] = []  # not the modules, which tests expect to be freed

    def record(module: CudaModule, program: IRModule, target: Target, *rest: Any) -> None:
        _make(module, program, target, *rest)
        built.append((program, target))

    with mock.patch.object(CudaModule, "__init__", record):
        yield
    for program, target in built:
        kernels = {name: func for name, func in program.functions.items() if is_kernel(func)}
        if kernels:
            _compile(print_kernels(kernels, target), architecture_of(target))


def _compile(source: str, arch: str) -> None:
    if (source, arch) not in _compiled:
        nvrtc.compile(source, arch)
        _compiled.add((source, arch))
