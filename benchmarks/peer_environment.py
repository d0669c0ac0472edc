"""The environment of benchmarks: every library runs as its users run it.

Shells and containers set variables that choose kernels of lesser instruction sets, bind threads or
limit their number: OPENBLAS_CORETYPE=Haswell halves numpy's speed on a processor with AVX-512. So a
benchmark, and the demo, runs in a process without them, and prints the kernels that numpy chose.
Must not know the benchmarks.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase

# Variables that hold a library back, as patterns of names.
HOLDING_BACK = (
    # instruction sets, kernels and blocks
    *("ATEN_CPU_CAPABILITY", "GLIBC_TUNABLES", "HL_JIT_TARGET", "HL_TARGET"),
    *("NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES"),
    *("NUMBA_BOUNDSCHECK", "NUMBA_CPU_FEATURES", "NUMBA_CPU_NAME", "NUMBA_DISABLE_*", "NUMBA_OPT"),
    *("CUDA_LAUNCH_BLOCKING", "NVIDIA_TF32_OVERRIDE", "TORCHDYNAMO_DISABLE"),
    # numbers of threads, and the processors that they may use
    *("GOMP_*", "KMP_*", "LIBOMP_*", "OMP_*"),
    *("HL_NUM_THREADS", "NUMBA_NUM_THREADS", "NUMEXPR_*", "TE_SCHED_NUM_THREADS"),
    *("TVM_BIND_THREADS", "TVM_NUM_THREADS"),
    # both
    *("ARMPL_*", "BLIS_*", "DNNL_*", "GOTO*", "MKL_*", "NVPL_*", "ONEDNN_*", "OPENBLAS_*"),
    "VECLIB_*",
)
# Variables of these families that libraries may need to run at all.
_NEEDED = ("KMP_DUPLICATE_LIB_OK", "MKL_INTERFACE_LAYER", "MKL_THREADING_LAYER")
_OWN = "BENCHMARKS_OWN_VARIABLES"  # the names of those that the benchmark has set itself


def holding_back(environment: Mapping[str, str]) -> list[str]:
    """The names of the variables that hold libraries back, without those of the benchmark."""
    kept = {*_NEEDED, *environment.get(_OWN, "").split(",")}
    return sorted(
        name
        for name in environment
        if name not in kept and any(fnmatchcase(name, pattern) for pattern in HOLDING_BACK)
    )


def as_users_run(
    environment: Mapping[str, str], own: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment without what holds libraries back, and with the benchmark's own variables,
    the same for all libraries.
    """
    removed = holding_back(environment)
    result = {name: value for name, value in environment.items() if name not in removed}
    return result | _marked(result, own) if own else result


def _marked(environment: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """The benchmark's own variables, and the one that names them."""
    names = (*environment.get(_OWN, "").split(","), *own)
    return {**own, _OWN: ",".join(dict.fromkeys(filter(None, names)))}


def set_own(own: Mapping[str, str]) -> None:
    """Set variables in this process and those that it starts."""
    os.environ.update(_marked(os.environ, own))


def restart(module: str, arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a module in another process; returns its exit status."""
    sys.stdout.flush()
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, env=dict(environment), check=False).returncode


def run(module: str, main: Callable[[Sequence[str]], int | None], arguments: Sequence[str]) -> int:
    """Run the main function of a module, in a process without variables that hold libraries back;
    returns its exit status.
    """
    removed = holding_back(os.environ)
    if removed:
        values = ", ".join(f"{name}={os.environ[name]}" for name in removed)
        print(f"running without {values}, so that libraries run as usual", file=sys.stderr)
        return restart(module, arguments, as_users_run(os.environ))
    for line in setting():
        print(line, file=sys.stderr, flush=True)
    return main(arguments) or 0


def setting() -> list[str]:
    """What determines the speed of libraries: numpy's kernels, and a limit on processors."""
    return [line for line in (numpy_kernels(), bound_processors()) if line]


def numpy_kernels() -> str:
    """The library and kernels of numpy's products; "" if threadpoolctl is not installed."""
    try:
        threadpoolctl = importlib.import_module("threadpoolctl")
    except ImportError:
        return ""
    importlib.import_module("numpy")
    infos = [one for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"]
    texts = [
        f"{one['internal_api']} {one.get('version') or ''}".strip()
        + (f" with kernels for {one['architecture']}" if one.get("architecture") else "")
        + f" on {one['num_threads']} threads"
        for one in infos
    ]
    return f"numpy uses {'; '.join(texts)}" if texts else ""


def bound_processors() -> str:
    """The number of processors that this process is bound to, as by taskset; "" if it is not."""
    if not hasattr(os, "sched_getaffinity"):
        return ""
    usable, all_of_them = len(os.sched_getaffinity(0)), os.cpu_count() or 1
    is_bound = usable < all_of_them
    return f"all libraries are bound to {usable} of {all_of_them} processors" if is_bound else ""
