"""tvm.contrib.nvcc: properties of GPUs, and the nvcc compiler.

te_sched compiles its own kernels with NVRTC, not with `compile_cuda`.
"""

from __future__ import annotations

from typing import Any

from te_sched import files
from te_sched.errors import BuildError
from te_sched.runtime.csource import read_part, run_compiler, write_part

__all__ = [
    "compile_cuda",
    "have_fp16",
    "have_int8",
    "have_tensorcore",
    "parse_compute_version",
]


def parse_compute_version(compute_version: str) -> tuple[int, int]:
    """The major and minor number of a version: (8, 6) for "8.6"."""
    major, _, minor = str(compute_version).partition(".")
    return int(major), int(minor or 0)


def have_fp16(compute_version: str) -> bool:
    """Whether GPUs of a compute version have float16."""
    return parse_compute_version(compute_version) >= (6, 0) or compute_version == "5.3"


def have_int8(compute_version: str) -> bool:
    """Whether GPUs of a compute version have dot products of int8."""
    return parse_compute_version(compute_version) >= (6, 1)


def have_tensorcore(compute_version: str | None = None, target: Any = None) -> bool:
    """Whether GPUs of a compute version have tensor cores."""
    del target
    return compute_version is not None and parse_compute_version(compute_version) >= (7, 0)


def compile_cuda(
    code: str,
    target_format: str = "ptx",
    arch: str | None = None,
    options: Any = None,
    path_target: str | None = None,
    target: str | None = None,
) -> bytearray:
    """Compile CUDA source to "ptx", "cubin" or "fatbin" with nvcc, which must be installed."""
    form = target or target_format
    extra = [options] if isinstance(options, str) else list(options or [])
    what = "compile CUDA source with nvcc"
    with files.temporary_folder(what, BuildError) as folder:
        source, output_path = folder / "code.cu", folder / f"code.{form}"
        write_part(source, code)
        arches = [f"-arch={arch}"] if arch else []
        command = ["nvcc", f"--{form}", "-O3", *arches, *extra, "-o", str(output_path), str(source)]
        run_compiler(command, what)
        compiled = read_part(output_path)
    if path_target is not None:
        files.write(path_target, compiled, "write", error=BuildError)
    return bytearray(compiled)
