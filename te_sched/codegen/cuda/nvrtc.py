"""CUDA C++ compiled by NVIDIA's run-time compiler (NVRTC), with a GPU or without one.

What was compiled is kept for the life of the process. Must not know kernels: it takes text.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from te_sched.codegen.cuda.libraries import Toolkit, find_toolkit
from te_sched.codegen.cuda.resources import ResourceUsage, read_usage
from te_sched.errors import BuildError
from te_sched.locks import after_fork, new_lock
from te_sched.worker_thread import can_be_left

DEFAULT_ARCH = "sm_80"
_ARCH = re.compile(r"sm_\d+[af]?\Z")
_OPTIONS = ("--std=c++17", "--ptxas-options=-v", "-default-device")
_FILE = "kernels.cu"
_ERROR = re.compile(r"^kernels\.cu\((\d+)\): (?:catastrophic )?error:? *(.*)$", re.MULTILINE)
_ANY_ERROR = re.compile(r"^.*\berror\b.*$", re.MULTILINE)
# The packages of the extra "nvrtc", which can be installed beside te_sched wherever it came from.
INSTALL = "pip install " + " ".join(
    f"nvidia-cuda-{name}-cu12" for name in ("nvrtc", "runtime", "cccl", "nvcc")
)


@dataclass(frozen=True, slots=True)
class CompiledKernels:
    """Machine code for one architecture, and the compiler's report."""

    source: str
    arch: str
    ptx: str
    cubin: bytes
    log: str
    resource_usage: Mapping[str, ResourceUsage]


_Key = tuple[str, str, tuple[str, ...]]
_lock = new_lock()
_compiled: dict[_Key, Future[CompiledKernels]] = {}


def _forget_unfinished() -> None:
    """Discard compilations of other threads of the parent process after a fork."""
    for key in [key for key, future in _compiled.items() if not future.done()]:
        del _compiled[key]


after_fork(_forget_unfinished)


def is_available() -> bool:
    """Whether the compiler is installed."""
    return find_toolkit() is not None


def version() -> tuple[int, int]:
    """The version of the compiler: that of the CUDA it belongs to."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _library(_toolkit().library).nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


def compile(source: str, arch: str = DEFAULT_ARCH, options: Sequence[str] = ()) -> CompiledKernels:
    """PTX and machine code of a CUDA C++ source, for an architecture such as "sm_80".

    Raises
    ------
    BuildError when the source does not compile, with the compiler's words and the line that they
    are about; when the compiler is not installed; when it does not know the architecture.
    """
    if not _ARCH.match(arch):
        raise BuildError(
            f"invalid GPU architecture {arch!r}, expected a name like sm_80",
            help='use for example Target("cuda -arch=sm_80")',
        )
    key = (source, arch, tuple(options))
    with _lock:
        future = _compiled.get(key)
        is_mine = future is None
        if future is None:
            future = _compiled[key] = Future()
    if not is_mine:
        return future.result()
    try:
        future.set_result(_compile(*key))
    except BaseException as error:
        with _lock:
            del _compiled[key]
        future.set_exception(error)
        raise
    return future.result()


def _toolkit() -> Toolkit:
    toolkit = find_toolkit()
    if toolkit is None:
        raise BuildError(
            "NVIDIA's run-time compiler (NVRTC) is not installed",
            "it compiles the CUDA source",
            INSTALL,
        )
    return toolkit


@functools.cache
def _library(path: str) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise BuildError(f"cannot load NVRTC from {path}", str(error), INSTALL) from None
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    program, size = ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)
    library.nvrtcCompileProgram.argtypes = [program, ctypes.c_int, ctypes.c_void_p]
    for what in ("PTX", "CUBIN", "ProgramLog"):
        getattr(library, f"nvrtcGet{what}Size").argtypes = [program, size]
        getattr(library, f"nvrtcGet{what}").argtypes = [program, ctypes.c_char_p]
    return library


@can_be_left
def _compile(source: str, arch: str, options: tuple[str, ...]) -> CompiledKernels:
    toolkit = _toolkit()
    library = _library(toolkit.library)
    words = [f"--gpu-architecture={arch}", *_OPTIONS, *options]
    words += [f"--include-path={directory}" for directory in toolkit.includes]
    program = ctypes.c_void_p()
    status = library.nvrtcCreateProgram(
        ctypes.byref(program), source.encode(), _FILE.encode(), 0, None, None
    )
    _check(library, status, arch)
    try:
        option_array = (ctypes.c_char_p * len(words))(*[word.encode() for word in words])
        status = library.nvrtcCompileProgram(program, len(words), option_array)
        log = _text(library, program, "ProgramLog").decode(errors="replace").rstrip("\0\n")
        if status:
            raise _failure(library, status, source, arch, log)
        ptx = _text(library, program, "PTX").decode(errors="replace").rstrip("\0")
        cubin = _text(library, program, "CUBIN")
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))
    return CompiledKernels(source, arch, ptx, cubin, log, read_usage(log))


def _text(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    if getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)) or not size.value:
        return b""
    room = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, room)
    return room.raw


def _check(library: ctypes.CDLL, status: int, arch: str) -> None:
    if status:
        raise BuildError(
            f"NVRTC failed for {arch}",
            f"it returned: {library.nvrtcGetErrorString(status).decode()}",
            INSTALL,
        )


def _failure(library: ctypes.CDLL, status: int, source: str, arch: str, log: str) -> BuildError:
    """An error with the compiler's first complaint and the line that it is about."""
    if match := _ERROR.search(log):
        lines = source.splitlines()
        number = int(match[1])
        line = lines[number - 1].strip() if number <= len(lines) else ""
        what = f"line {number} of the source, `{line}`: {match[2]}"
    elif hit := _ANY_ERROR.search(log):
        what = hit[0].strip()
    else:
        what = f"NVRTC failed: {library.nvrtcGetErrorString(status).decode()}"
    help = "check what the program calls by name (call_extern), and the limits of the architecture"
    if "cannot open source file" in log:
        help = f"install the headers of CUDA: {INSTALL}"
    elif "invalid value for --gpu-architecture" in log:
        help = "use an architecture that this version of CUDA knows, such as sm_75, sm_80, sm_90"
    return BuildError(f"CUDA source does not compile for {arch}: {what}", log, help)
