"""Search for NVIDIA's run-time compiler: its library and its headers.

PyPI's wheels first (`nvrtc.INSTALL`), then those of cupy, then the system's CUDA.
Must not know how the compiler is called.
"""

from __future__ import annotations

import ctypes.util
import functools
import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Windows keeps libraries in bin.
_LIBRARIES = (
    "lib/libnvrtc.so*",
    "lib64/libnvrtc.so*",
    "bin/nvrtc64_*.dll",
    "bin/x64/nvrtc64_*.dll",
)
_OTHERS = ("builtins", ".alt.")
_SYSTEM = ("/usr/local/cuda", "/opt/cuda")


@dataclass(frozen=True, slots=True)
class Toolkit:
    """The compiler's library, and the directories of headers."""

    library: str
    includes: tuple[str, ...]


@functools.cache
def find_toolkit() -> Toolkit | None:
    """The first compiler that is found; None where there is none."""
    return next(candidates(), None)


def candidates() -> Iterator[Toolkit]:
    """All compilers, those that are preferred first."""
    for base in _package("nvidia"):
        for root in (base / "cuda_nvrtc", *sorted(base.glob("cu[0-9]*"), reverse=True)):
            yield from _toolkits(root, _wheel_includes(base, root))
    for base in _package("cupy"):
        bundled = sorted(base.glob("_core/include/cupy/_cuda/cuda-*"), reverse=True)
        yield from _toolkits(base / ".data", [base / ".data" / "include", *bundled[:1]])
    named = (os.environ.get(name) for name in ("CUDA_PATH", "CUDA_HOME"))
    for folder in (*named, *_SYSTEM):
        if folder:
            root = Path(folder)
            yield from _toolkits(root, [root / "include", root / "include" / "cccl"])
    library = ctypes.util.find_library("nvrtc")
    if library:
        yield Toolkit(library, _existing([Path("/usr/include"), Path("/usr/local/cuda/include")]))


def _package(name: str) -> list[Path]:
    """The directories of a package, which is not imported."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return []
    locations = spec.submodule_search_locations if spec is not None else None
    return [Path(location) for location in locations or ()]


def _wheel_includes(base: Path, root: Path) -> list[Path]:
    if root.name == "cuda_nvrtc":  # CUDA 12: a directory for each wheel
        wheels = ("cuda_runtime", "cuda_cccl", "cuda_nvcc")
        return [base / wheel / "include" for wheel in wheels]
    return [root / "include", root / "include" / "cccl"]


def _toolkits(root: Path, includes: list[Path]) -> Iterator[Toolkit]:
    for pattern in _LIBRARIES:
        for library in sorted(root.glob(pattern)):
            if not any(other in library.name for other in _OTHERS):
                yield Toolkit(str(library), _existing(includes))


def _existing(directories: list[Path]) -> tuple[str, ...]:
    return tuple(str(directory) for directory in directories if directory.is_dir())
