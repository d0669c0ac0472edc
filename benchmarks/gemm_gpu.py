"""Matrix products on a GPU: the tutorial's schedules and further optimized ones.

    python -m benchmarks.gemm_gpu                  all figures available on this machine
    python -m benchmarks.gemm_gpu --results DIR    also as JSON, Markdown and, with a GPU, a plot
    python -m benchmarks.gemm_gpu --checked        the checked mode too (a sample of the blocks)

C = A B with A of (M, K) and B of (K, N), float32; on tensor cores float16 with float32 sums. Each
version is built, compiled by NVRTC for several architectures (registers per thread, shared memory
per block, spills), run on the emulated device and compared with numpy. On a GPU (with cupy), the
result is compared, then the kernel is timed by CUDA events (the median of several samples), next to
cuBLAS (tf32 off) and the CUDA that TVM generated for the same schedules; also at 4096^3, and
memory-bound programs next to a device copy. The figures are saved after each part.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import te_sched
from benchmarks import peer_environment
from benchmarks.gpu import device, moving, peers, products, report, tensor_cores
from benchmarks.gpu.measuring import How, Row, difference, measure, noting, usage_of
from te_sched.codegen.cuda import nvrtc

TUTORIAL = (1024, 512, 2048)  # M, N, K
LARGE = 4096
LADDER = {**products.LADDER, "tensor cores": tensor_cores.tensor_cores}

Array = np.ndarray[Any, Any]


class Product:
    """numpy's result in float32, for operands that depend only on size and dtype."""

    def __init__(self) -> None:
        self.known: dict[tuple[Any, ...], Array] = {}

    def __call__(self, a: Array, b: Array) -> Array:
        """A B, computed once."""
        key = (a.shape, b.shape, a.dtype.name)
        if key not in self.known:
            self.known[key] = np.asarray(a.astype("float32") @ b.astype("float32"))
        return self.known[key]


def measure_products(size: tuple[int, int, int], how: How) -> list[Row]:
    """Every version at one size; with a GPU also the fastest of several tiles."""
    expected = Product()
    rows = [_measure(Row(name, size), make, expected, how) for name, make in LADDER.items()]
    return rows + (fastest(size, expected, how) if how.gpu is not None else [])


def _measure(row: Row, make: Callable[..., Any], expected: Product, how: How) -> Row:
    with noting(row):
        s, args = make(*row.size)
        measure(row, s, args, expected, how)
    row.work(flops=2.0 * math.prod(row.size))
    print(f"{row.name} {row.note} {row.failed}", file=sys.stderr, flush=True)
    return row


def fastest(size: tuple[int, int, int], expected: Product, how: How) -> list[Row]:
    """The fastest of the tiles in registers and of those on tensor cores."""
    found = []
    families: tuple[tuple[str, Any, Any], ...] = (
        ("fastest tile", products.BEST, products.tiled),
        ("tensor cores, fastest tile", tensor_cores.BEST, tensor_cores.tensor_cores),
    )
    for name, tiles, make in families:
        rows = [
            _measure(Row(name, size, str(tile)), partial(make, tile=tile), expected, how)
            for tile in tiles
        ]
        found.append(min(rows, key=lambda row: row.gpu_ms or math.inf))
    return found


def measure_moving(how: How) -> list[Row]:
    """The memory-bound programs: small without a GPU, large with one."""
    rows = []
    for name, program in moving.PROGRAMS.items():
        size = program.large if how.gpu is not None else program.small
        row = Row(name, size)
        with noting(row):
            s, args = program.schedule(*size)
            measure(row, s, args, program.reference, how)
            row.work(moved=moving.bytes_moved(args))
        rows.append(row)
    return rows


def measure_peers(directory: Path, gpu: device.Gpu | None) -> list[dict[str, Any]]:
    """TVM's and te_sched's kernels for the same schedules."""
    found = []
    for peer in peers.read(directory):
        scheduled = peers.schedule_of(peer)
        if scheduled is None:
            continue
        row = Row(peer.name, ())
        usage: dict[str, Any] = {}
        with noting(row):
            module: Any = te_sched.build(*scheduled, target="cuda")
            row.usage = usage_of(module.resource_usage)
            usage |= usage_of(partial(_peer_usage, peer))
            if gpu is not None:
                _time_beside(row, peer, module, scheduled[1], gpu)
        found.append({**asdict(row), "peer_usage": usage})
    return found


def _peer_usage(peer: peers.Peer, arch: str) -> dict[str, Any]:
    return dict(nvrtc.compile(peer.source, arch).resource_usage)


def _time_beside(row: Row, peer: peers.Peer, module: Any, args: list[Any], gpu: device.Gpu) -> None:
    values = moving.operands(args)
    mine, theirs = gpu.arrays(values), gpu.arrays(values)
    call = gpu.bound(module, mine)
    call()
    kernel = gpu.kernel(peer.source, peer.kernel)
    (own,) = module.kernels.values()
    grid, block = peers.launch_of(own)
    by_name = {arg.name: array for arg, array in zip(args, theirs, strict=True)}
    given = tuple(by_name[name] for name in peer.parameters)
    kernel(grid, block, given)
    row.gpu_difference = difference(gpu.to_numpy(mine[-1]), gpu.to_numpy(theirs[-1]))
    row.gpu_ms = gpu.milliseconds(call)
    row.peer_ms = gpu.milliseconds(lambda: kernel(grid, block, given))


def baselines(size: tuple[int, int, int], gpu: device.Gpu | None) -> dict[str, Any]:
    """numpy, and with a GPU cuBLAS and a device copy."""
    generator = np.random.default_rng(0)
    a = generator.uniform(-1, 1, (size[0], size[2])).astype(np.float32)
    b = generator.uniform(-1, 1, (size[2], size[1])).astype(np.float32)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        a @ b
        times.append((time.perf_counter() - start) * 1e3)
    found: dict[str, Any] = {"numpy_ms": statistics.median(times)}
    row = Row("baselines", size)
    with noting(row):
        if gpu is not None:
            found["cublas_ms"] = gpu.product_ms(*gpu.arrays([a, b]))
            halves = [value.astype(np.float16) for value in (a, b)]
            found["cublas_fp16_ms"] = gpu.product_ms(*gpu.arrays(halves))
            zeros = np.zeros(2**26, np.float32)
            copied = gpu.copy_ms(*gpu.arrays([zeros]))
            found["copy_gigabytes_per_second"] = 2.0 * zeros.nbytes / copied / 1e6
    return {**found, "failed": row.failed}


def machine(gpu: device.Gpu | None) -> dict[str, Any]:
    """The hardware and the versions."""
    facts = {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "te_sched": te_sched.__version__,
        "nvrtc": ".".join(map(str, nvrtc.version())) if nvrtc.is_available() else None,
        "gpu": None,
    }
    return facts | (gpu.facts() if gpu is not None else {})


def run(options: argparse.Namespace) -> dict[str, Any]:
    """All figures; saved after each part, since a rented GPU may become unavailable."""
    gpu = device.find()
    how = How(gpu, gpu is None or options.emulate, options.checked)
    size = (options.size,) * 3 if options.size else TUTORIAL
    figures: dict[str, Any] = {"machine": machine(gpu), "size": size, "large_size": LARGE}
    figures |= {"products": [], "large": [], "moving": [], "peers": []}
    figures |= {"baselines": baselines(size, gpu), "large_baselines": {}}

    def note(part: str, rows: Sequence[Row | dict[str, Any]]) -> None:
        figures[part] = [row if isinstance(row, dict) else asdict(row) for row in rows]
        if options.results is not None:
            save(figures, options.results)

    note("products", measure_products(size, how))
    note("peers", measure_peers(options.tvm_cuda, gpu))
    note("moving", measure_moving(how))
    if gpu is not None and not options.size:
        figures["large_baselines"] = baselines((LARGE,) * 3, gpu)
        note("large", measure_products((LARGE,) * 3, How(gpu, False)))
    return figures


def save(figures: dict[str, Any], directory: Path) -> None:
    """Save the figures as JSON, as Markdown and, if there are times, as a plot."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "gemm_gpu.json").write_text(json.dumps(figures, indent=1) + "\n")
    (directory / "gemm_gpu.md").write_text(report.markdown(figures))
    report.plot(figures, directory / "gemm_gpu.png")


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and save."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gemm_gpu", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--size", type=int, help="M = N = K instead of the tutorial's")
    parser.add_argument("--checked", action="store_true", help="run the checked mode too")
    parser.add_argument("--emulate", action="store_true", help="emulate also where there is a GPU")
    parser.add_argument("--results", type=Path, metavar="DIR")
    parser.add_argument("--tvm-cuda", type=Path, default=peers.HERE, metavar="DIR")
    options = parser.parse_args(arguments)
    figures = run(options)
    print(report.text(figures))
    rows = [row for part in ("products", "large", "moving", "peers") for row in figures[part]]
    rows += [figures["baselines"], figures["large_baselines"]]
    return 1 if any(row.get("failed") for row in rows) else 0


if __name__ == "__main__":
    sys.exit(peer_environment.run("benchmarks.gemm_gpu", main, sys.argv[1:]))
