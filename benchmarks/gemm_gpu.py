"""The tutorial's GPU matrix products, and further steps of the same ladder.

    python -m benchmarks.gemm_gpu                   what can be known on this machine
    python -m benchmarks.gemm_gpu --size 4096       square matrices instead of 1024 x 2048 x 512
    python -m benchmarks.gemm_gpu --checked         the checked mode too (a sample of the blocks)
    python -m benchmarks.gemm_gpu --json FILE       the figures as JSON too

C = A B with A of (M, K) and B of (K, N), float32. Each version is built, compiled by NVRTC for
several architectures (registers of a thread, shared memory of a block, spills), run on the emulated
device and compared with numpy. Where there is a GPU it runs there as well: the result is compared
first, then timed beside cuBLAS (cupy, tf32 off); the figure is the median of several runs. Without
a GPU there are no times of a GPU, and the emulated device's say nothing about one.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import te_sched
from te_sched import te
from te_sched.codegen.cuda import nvrtc
from te_sched.lower.device.kernel import thread_axes
from te_sched.tools.table import table

TUTORIAL = (1024, 512, 2048)  # M, N, K
ARCHITECTURES = ("sm_75", "sm_80", "sm_90")
# Milliseconds in the tutorial, on a Tesla T4.
TUTORIAL_MS = {"naive": 84.52, "v1": 36.98, "v2": 35.50, "v3": 8.11}
_RUNS, _TOLERANCE = 20, 1e-3

Schedule = tuple[Any, list[Any]]


@dataclass
class Row:
    """The figures of one version. Times are in milliseconds; None where there is none."""

    name: str
    launch: str
    usage: dict[str, dict[str, int]] = field(default_factory=dict)
    difference: float | None = None
    emulated_ms: float | None = None
    findings: int | None = None
    gpu_ms: float | None = None


def declare(m: int, n: int, k: int) -> tuple[Any, Any, Any, Any, Any]:
    """The product, without a schedule."""
    A, B = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    axis = te.reduce_axis((0, k), "k")
    C = te.compute((m, n), lambda x, y: te.sum(A[x, axis] * B[axis, y], axis=axis), name="C")
    return axis, te.create_schedule(C.op), A, B, C


def _bind(stage: Any, **axes: Any) -> None:
    for tag, axis in axes.items():
        stage.bind(axis, te.thread_axis(tag.replace("_", "Idx.")))


def naive(m: int, n: int, k: int) -> Schedule:
    """One block of one thread for each element."""
    _, s, A, B, C = declare(m, n, k)
    x, y = C.op.axis
    _bind(s[C], block_x=y, block_y=x)
    return s, [A, B, C]


def v1(m: int, n: int, k: int) -> Schedule:
    """Blocks of 32 threads."""
    _, s, A, B, C = declare(m, n, k)
    x, y = C.op.axis
    xo, xi = s[C].split(x, factor=32)
    _bind(s[C], block_x=xo, block_y=y, thread_x=xi)
    return s, [A, B, C]


def v2(m: int, n: int, k: int) -> Schedule:
    """Blocks of 32 x 32 threads."""
    _, s, A, B, C = declare(m, n, k)
    xo, yo, xi, yi = s[C].tile(*C.op.axis, 32, 32)
    _bind(s[C], block_x=xo, block_y=yo, thread_x=xi, thread_y=yi)
    return s, [A, B, C]


def v3(m: int, n: int, k: int) -> Schedule:
    """Tiles of both operands in shared memory."""
    axis, s, A, B, C = declare(m, n, k)
    xo, yo, xi, yi = s[C].tile(*C.op.axis, 16, 16)
    ko, ki = s[C].split(axis, factor=8)
    s[C].reorder(xo, yo, xi, yi, ko, ki)
    _bind(s[C], block_x=xo, block_y=yo, thread_x=xi, thread_y=yi)
    for operand in (A, B):
        cache = s.cache_read(operand, "shared", [C])
        s[cache].compute_at(s[C], ko)
        rows, _ = s[cache].split(cache.op.axis[0], nparts=16)
        columns, _ = s[cache].split(cache.op.axis[1], nparts=16)
        _bind(s[cache], thread_x=rows, thread_y=columns)
    return s, [A, B, C]


def registers(m: int, n: int, k: int, vector: int = 1, double: bool = False) -> Schedule:
    """A tile of 64 x 64 in each block of 8 x 8 threads, which keep 8 x 8 elements in registers."""
    threads, block, depth = 8, 64, 8
    _, s, A, B, C = declare(m, n, k)
    shared = [s.cache_read(operand, "shared", [C]) for operand in (A, B)]
    local = [s.cache_read(cache, "local", [C]) for cache in shared]
    CC = s.cache_write(C, "local")
    yo, xo, yi, xi = s[C].tile(*C.op.axis, block, block)
    vy, yi = s[C].split(yi, nparts=2)
    ty, yi = s[C].split(yi, nparts=threads)
    vx, xi = s[C].split(xi, nparts=2)
    tx, xi = s[C].split(xi, nparts=threads)
    s[C].reorder(yo, xo, vy, vx, ty, tx, yi, xi)
    thread_x = te.thread_axis((0, threads), "threadIdx.x")
    thread_y = te.thread_axis((0, threads), "threadIdx.y")
    for axis, thread in (
        *((yo, te.thread_axis("blockIdx.y")), (xo, te.thread_axis("blockIdx.x"))),
        *((vy, te.thread_axis("vthread", name="vy")), (vx, te.thread_axis("vthread", name="vx"))),
        *((ty, thread_y), (tx, thread_x)),
    ):
        s[C].bind(axis, thread)
    s[CC].compute_at(s[C], tx)
    ko, ki = s[CC].split(CC.op.reduce_axis[0], factor=depth)
    s[CC].reorder(ko, ki, *CC.op.axis)
    for axis in (*CC.op.axis, ki):
        s[CC].unroll(axis)
    for cache, register in zip(shared, local, strict=True):
        s[cache].compute_at(s[CC], ko)
        s[register].compute_at(s[CC], ki)
        every = s[cache].fuse(*cache.op.axis)
        if vector > 1:
            every, lanes = s[cache].split(every, factor=vector)
            s[cache].vectorize(lanes)
        every, column = s[cache].split(every, factor=threads)
        _, row = s[cache].split(every, factor=threads)
        s[cache].bind(row, thread_y)
        s[cache].bind(column, thread_x)
        if double:
            s[cache].double_buffer()
    return s, [A, B, C]


def vectors(m: int, n: int, k: int) -> Schedule:
    """Registers, and four elements at a time into shared memory."""
    return registers(m, n, k, vector=4)


def double_buffers(m: int, n: int, k: int) -> Schedule:
    """Vectors, and the next tiles are fetched while the present ones are used."""
    return registers(m, n, k, vector=4, double=True)


LADDER: dict[str, Callable[[int, int, int], Schedule]] = {
    **{"naive": naive, "v1": v1, "v2": v2, "v3": v3},
    **{"registers": registers, "vectors": vectors, "double buffers": double_buffers},
}


def measure(name: str, size: tuple[int, int, int], checked: bool) -> Row:
    """All figures of one version."""
    s, args = LADDER[name](*size)
    module: Any = te_sched.build(s, args, target="cuda")
    (kernel,) = module.kernels.values()
    row = Row(name, _launch_of(kernel))
    if nvrtc.is_available():
        for arch in ARCHITECTURES:
            (usage,) = module.resource_usage(arch).values()
            row.usage[arch] = {key: int(value) for key, value in asdict(usage).items()}
    values, expected = _operands(size)
    device = te_sched.emulated_cuda(0)
    arrays = [te_sched.nd.array(value, device) for value in values]
    module(*arrays)
    start = time.perf_counter()
    module(*arrays)
    row.emulated_ms = (time.perf_counter() - start) * 1e3
    row.difference = _difference(arrays[2].numpy(), expected)
    if checked:
        report = module.check(*arrays, max_blocks=16)
        row.findings = len(report.findings)
    if te_sched.cuda(0).exist and importlib.util.find_spec("cupy") is not None:
        row.gpu_ms = _on_gpu(module, values, expected)
    return row


def _launch_of(kernel: Any) -> str:
    extents = {axis.tag: str(axis.extent) for axis in thread_axes(kernel)[0]}
    grid, block = (
        " x ".join(extents[tag] for tag in sorted(extents) if tag.startswith(kind)) or "1"
        for kind in ("blockIdx", "threadIdx")
    )
    return f"{grid} blocks of {block}"


def _operands(size: tuple[int, int, int]) -> tuple[list[np.ndarray], np.ndarray]:
    m, n, k = size
    generator = np.random.default_rng(0)
    a = generator.uniform(-1, 1, (m, k)).astype(np.float32)
    b = generator.uniform(-1, 1, (k, n)).astype(np.float32)
    return [a, b, np.full((m, n), np.nan, np.float32)], a @ b


def _difference(found: np.ndarray, expected: np.ndarray) -> float:
    difference = float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))
    if not difference < _TOLERANCE:
        raise SystemExit(f"the result is wrong: it differs from numpy's by {difference:.1e}")
    return difference


def _on_gpu(module: Any, values: Sequence[np.ndarray], expected: np.ndarray) -> float:
    """Compare a version on the GPU, then time it."""
    cupy = importlib.import_module("cupy")
    arrays = [cupy.asarray(value) for value in values]
    module(*arrays)
    _difference(cupy.asnumpy(arrays[2]), expected)
    return _time_on_gpu(cupy, lambda: module(*arrays))


def _time_on_gpu(cupy: Any, call: Callable[[], Any]) -> float:
    times = []
    for _ in range(_RUNS):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(float(cupy.cuda.get_elapsed_time(begin, end)))
    return statistics.median(times[2:])


def _cublas(size: tuple[int, int, int]) -> float | None:
    if not te_sched.cuda(0).exist or importlib.util.find_spec("cupy") is None:
        return None
    cupy = importlib.import_module("cupy")
    values, _ = _operands(size)
    a, b = cupy.asarray(values[0]), cupy.asarray(values[1])
    return _time_on_gpu(cupy, lambda: cupy.matmul(a, b))


def _numpy_ms(size: tuple[int, int, int]) -> float:
    values, _ = _operands(size)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        values[0] @ values[1]
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def _show(rows: Sequence[Row], size: tuple[int, int, int], cublas: float | None) -> None:
    flops = 2 * size[0] * size[1] * size[2]
    lines = []
    for row in rows:
        used = [row.usage.get(arch, {}) for arch in ARCHITECTURES]
        lines.append(
            (
                row.name,
                row.launch,
                "/".join(str(one.get("registers", "-")) for one in used),
                str(used[0].get("shared_bytes", "-")),
                str(max((one.get("spill_stores", 0) for one in used), default=0)),
                f"{row.difference:.0e}" if row.difference is not None else "-",
                f"{row.emulated_ms:,.0f}" if row.emulated_ms is not None else "-",
                "-" if row.findings is None else str(row.findings),
                f"{row.gpu_ms:.2f}" if row.gpu_ms else "-",
                f"{flops / row.gpu_ms / 1e6:,.0f}" if row.gpu_ms else "-",
                f"{cublas / row.gpu_ms:.2f}" if row.gpu_ms and cublas else "-",
                f"{TUTORIAL_MS[row.name]}" if row.name in TUTORIAL_MS else "-",
            )
        )
    titles = (
        *("version", "launch", f"registers {'/'.join(ARCHITECTURES)}", "shared bytes", "spills"),
        *("to numpy", "emulated ms", "findings", "GPU ms", "GFLOP/s", "of cuBLAS", "T4, tutorial"),
    )
    print(table(titles, lines))


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and save."""
    parser = argparse.ArgumentParser(prog="benchmarks.gemm_gpu", description=__doc__)
    parser.add_argument("--size", type=int, help="M = N = K")
    parser.add_argument("--version", action="append", choices=list(LADDER))
    parser.add_argument("--checked", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    size = (options.size,) * 3 if options.size else TUTORIAL
    rows = [measure(name, size, options.checked) for name in options.version or LADDER]
    cublas, on_cpu = _cublas(size), _numpy_ms(size)
    print(f"C = A B, M, N, K = {size}; numpy on the processor: {on_cpu:.1f} ms\n")
    _show(rows, size, cublas)
    if not te_sched.cuda(0).exist:
        print("\nThere is no GPU here, so there are no times of one.")
    if options.json is not None:
        machine = {
            "processor": platform.processor() or platform.machine(),
            "gpu": str(te_sched.cuda(0).device_name) if te_sched.cuda(0).exist else None,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "te_sched": te_sched.__version__,
            "nvrtc": ".".join(map(str, nvrtc.version())) if nvrtc.is_available() else None,
        }
        figures = {
            **{"machine": machine, "size": size, "numpy_ms": on_cpu, "cublas_ms": cublas},
            "rows": [asdict(row) for row in rows],
        }
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
