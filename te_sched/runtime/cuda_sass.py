"""Machine code of kernels as text, through NVIDIA's disassemblers where one is installed.

Must not know modules.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from te_sched import files
from te_sched.errors import CallError

# Each with the options that print a cubin's code.
_TOOLS = {"nvdisasm": ("--print-code",), "cuobjdump": ("-sass",)}
_WHAT = "show the kernels' machine code"


def disassemble(cubin: bytes) -> str:
    """The instructions (SASS) in a cubin."""
    tool = _find()
    if tool is None:
        raise CallError(
            f"cannot {_WHAT}: neither nvdisasm nor cuobjdump was found, on PATH or in CUDA_HOME",
            "",
            "install the CUDA toolkit, or triton, which brings them",
        )
    with files.temporary_folder(_WHAT) as folder:
        file = folder / "kernels.cubin"
        files.write(file, cubin, "write", "make room for temporary files")
        command = [tool, *_TOOLS[Path(tool).stem], str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[:2000]
        raise CallError(_WHAT, f"{tool} says: {said}", "use one as new as NVRTC")
    return done.stdout


def _find() -> str | None:
    """The first disassembler there is."""
    paths = (shutil.which(name, path=folder) for folder in _folders() for name in _TOOLS)
    return next((path for path in paths if path is not None), None)


def _folders() -> Iterator[str]:
    yield os.environ.get("PATH", "")
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if name in os.environ:
            yield str(Path(os.environ[name]) / "bin")
    yield "/usr/local/cuda/bin"
    yield from _packages()


@functools.cache
def _packages() -> tuple[str, ...]:
    """Where packages keep such tools; the packages are not imported."""
    folders = []
    for package, inside in (("nvidia", "*/bin"), ("triton", "backends/nvidia/bin")):
        spec = importlib.util.find_spec(package)
        for root in (spec.submodule_search_locations or ()) if spec is not None else ():
            folders += [str(folder) for folder in Path(root).glob(inside)]
    return tuple(folders)
