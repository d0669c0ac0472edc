"""The probes of `te-sched doctor`, one function for each row. A probe returns what it found, or
raises: `Absent` for a missing dependency, any other exception for a broken one. Must not know how
rows are shown.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

import numpy as np

import te_sched
from te_sched import te
from te_sched.codegen.cuda import nvrtc
from te_sched.codegen.cuda.libraries import find_toolkit
from te_sched.errors import TeSchedError
from te_sched.processors import usable_processors
from te_sched.runtime import cuda_driver
from te_sched.runtime.csource import find_compiler
from te_sched.runtime.object_cache import current_cache

OK, ABSENT, BROKEN = "ok", "absent", "broken"


class _Absent(Exception):
    """The dependency is missing; the text has details, if any."""


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """The result of one probe. `help` is what to do if it is not ok."""

    name: str
    state: str
    found: str
    enables: str
    help: str
    needed: bool


@dataclass(frozen=True, slots=True)
class Probe:
    """A dependency, its purpose, and what to do if it is missing."""

    name: str
    look: Callable[[], str]
    enables: str
    help: str
    needed: bool = False


def probe(check: Probe) -> ProbeRow:
    """Run a probe; exceptions are part of the result."""
    try:
        with warnings.catch_warnings(), redirect_stdout(sys.stderr):
            warnings.simplefilter("ignore")
            state, detail = OK, check.look()
    except _Absent as absent:
        state, detail = ABSENT, str(absent)
    except Exception as error:
        state, detail = BROKEN, _told(error)
    help = "" if state == OK else check.help
    return ProbeRow(check.name, state, detail, check.enables, help, check.needed)


def _told(error: Exception) -> str:
    if isinstance(error, TeSchedError):
        return " ".join(error.summary.split())
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _python() -> str:
    return f"{platform.python_version()} ({sys.executable})"


def _te_sched() -> str:
    return f"{te_sched.__version__} ({os.path.dirname(te_sched.__file__)})"


def _package(name: str, distribution: str | None = None) -> Callable[[], str]:
    """A probe of a package: it is imported, since broken packages often fail only then."""

    def look() -> str:
        try:
            version = importlib.metadata.version(distribution or name)
        except importlib.metadata.PackageNotFoundError:
            if importlib.util.find_spec(name) is None:
                raise _Absent("") from None
            version = "of unknown version"
        importlib.import_module(name)
        return version

    return look


def _switches() -> str:
    te_sched.config.from_environment(os.environ)  # refuses options without effect
    named = [f"{name}={os.environ[name]}" for name in sorted(os.environ) if _SWITCH in name]
    return ", ".join(named) or f"none of {_SWITCH}* is set"


_SWITCH = "TE_SCHED_"


def _llvm() -> str:
    version = importlib.import_module(_MACHINE).llvm_version()
    return f"llvmlite {importlib.metadata.version('llvmlite')}, LLVM {version}"


# By name, since they load LLVM, which may be broken.
_MACHINE, _THREADS = "te_sched.codegen.llvm.machine", "te_sched.runtime.threads"


def _processor() -> str:
    machine = importlib.import_module(_MACHINE).host_machine()
    features = {name[1:] for name in machine.features.split(",") if name.startswith("+")}
    widths = (("avx512f", 512), ("avx", 256), ("sse2", 128), ("neon", 128))
    width = next((f"registers of {bits} bits" for name, bits in widths if name in features), "")
    names = [name for name in _FEATURES if name in features]
    parts = [machine.cpu, machine.triple, width, " ".join(names)]
    return ", ".join(part for part in parts if part)


_FEATURES = (
    *("sse4.2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl"),
    *("avx512vnni", "avxvnni", "avx512bf16", "avx512fp16", "amx-tile"),
    *("neon", "dotprod", "sve", "sve2"),
)


def _runs() -> str:
    """A program that is declared, scheduled, compiled and called."""
    A = te.placeholder((1000,), name="A")
    B = te.compute((1000,), lambda i: A[i] * 2.0 + 1.0, name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], 8)
    s[B].parallel(outer)
    s[B].vectorize(inner)
    a, b = np.arange(1000, dtype="float32"), np.zeros(1000, "float32")
    with te_sched.config.scoped(cache=False):
        te_sched.build(s, [A, B], target="llvm")(a, b)
    if not np.array_equal(b, a * 2 + 1):
        raise RuntimeError("the program ran and gave wrong numbers")
    return "1,000 elements in vectors, on all cores: passed"


def _threads() -> str:
    count = importlib.import_module(_THREADS).get_num_threads()
    if count == 1:
        raise _Absent("parallel loops run on one core")
    return f"{count} threads on {usable_processors()} cores"


def _cache() -> str:
    if not te_sched.config.current().cache:
        raise _Absent("switched off (TE_SCHED_CACHE=0)")
    cache = current_cache()
    if cache is None:
        raise RuntimeError("the folder cannot be made, or others may write there")
    sizes = [file.stat().st_size for file in cache.folder.iterdir() if file.is_file()]
    filled = f"{sum(sizes) / 2**20:.1f} of {cache.limit >> 20} MiB"
    return f"{cache.folder}: {len(sizes)} programs, {filled}"


def _tool(path: str | None, line: int = 0) -> str:
    """A program, with the line of its version output that names it."""
    if path is None:
        raise _Absent("")
    command = [path, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    lines = done.stdout.strip().splitlines()
    return f"{path}: {lines[line] if lines else ''}"


def _driver() -> str:
    if cuda_driver.device_count() == 0:
        raise _Absent(cuda_driver.why_absent())
    version = cuda_driver.fact(0, "driver_version")
    number = int(version) if isinstance(version, int) else 0
    return f"CUDA {number // 1000}.{number % 1000 // 10}"


def _gpu() -> str:
    count = cuda_driver.device_count()
    if count == 0:
        raise _Absent("kernels run on the emulated device (TE_SCHED_EMULATE=1)")
    names = []
    for number in range(count):
        facts = [
            cuda_driver.fact(number, attribute)
            for attribute in ("device_name", "total_global_memory")
        ]
        memory = f"{int(str(facts[1])) / 2**30:.0f} GiB"
        names.append(f"{facts[0]}, {cuda_driver.architecture(number)}, {memory}")
    return "; ".join(names)


def _nvrtc() -> str:
    toolkit = find_toolkit()
    if toolkit is None:
        raise _Absent("")
    nvrtc.compile('extern "C" __global__ void f(float* x) { x[threadIdx.x] = 1.0f; }')
    version = ".".join(map(str, nvrtc.version()))
    if not toolkit.includes:
        return f"{version} ({toolkit.library}), without headers: kernels of half types need them"
    return f"{version} ({toolkit.library})"


def _cupy() -> str:
    if importlib.util.find_spec("cupy") is None:
        raise _Absent("")
    cupy: Any = importlib.import_module("cupy")
    return f"{cupy.__version__}, {cupy.cuda.runtime.getDeviceCount()} devices"


_PIP = "pip install {}".format


def _optional(package: str, enables: str) -> Probe:
    return Probe(package, _package(package), enables, _PIP(package.lower()))


PROBES = (
    Probe("Python", _python, "everything", "install Python 3.11 or newer", True),
    Probe("te_sched", _te_sched, "everything", "pip install . in a checkout of te_sched", True),
    Probe(
        "switches",
        _switches,
        "settings that differ from the defaults",
        "correct the variable, or unset it; docs/config.md has them all",
        True,
    ),
    Probe("numpy", _package("numpy"), "arrays", _PIP("'numpy>=2.1'"), True),
    Probe("sympy", _package("sympy"), "algebra on indices", _PIP("sympy"), True),
    Probe("LLVM", _llvm, "compiling for the processor", _PIP("'llvmlite>=0.45'"), True),
    Probe("processor", _processor, 'target "llvm"', 'name one: "llvm -mcpu=..."', True),
    Probe(
        "a test",
        _runs,
        "a test that compiled programs run here",
        "report it with this page: te-sched doctor --json",
        True,
    ),
    Probe(
        "threads",
        _threads,
        "parallel loops on all cores",
        "unset OMP_NUM_THREADS, TE_SCHED_NUM_THREADS and TE_SCHED_OPENMP, on more than one core",
    ),
    Probe(
        "cache",
        _cache,
        "not compiling a program again",
        "name a folder of your own in TE_SCHED_CACHE_DIR",
    ),
    Probe(
        "C compiler",
        lambda: _tool(find_compiler()),
        "shared libraries (export_library), C code in programs",
        "install cc, gcc or clang, or name one in CC; objects (.o) are saved without one",
    ),
    Probe(
        "NVRTC",
        _nvrtc,
        "compiling kernels, registers and spills, also without a GPU",
        nvrtc.INSTALL,
    ),
    Probe(
        "CUDA driver",
        _driver,
        "running kernels on a GPU",
        "install NVIDIA's driver; without it kernels run on the emulated device",
    ),
    Probe(
        "GPU",
        _gpu,
        'target "cuda" at full speed',
        "none is needed: TE_SCHED_EMULATE=1 and te-sched check run kernels on the processor",
    ),
    Probe("cupy", _cupy, "arrays on a GPU", _PIP("cupy-cuda12x")),
    _optional("torch", "importing PyTorch models; calling programs with its tensors"),
    _optional("onnx", "importing ONNX files"),
    Probe(
        "xgboost",
        _package("xgboost", "xgboost-cpu"),
        "the cost model of searches",
        _PIP("xgboost-cpu"),
    ),
    _optional("dask", "searching on several machines"),
    _optional("IPython", "schedules and programs drawn in notebooks"),
    _optional("pandas", "results as data frames"),
    _optional("tqdm", "progress bars of long work"),
)
