"""Memory of import and build of a model with large weights, as multiples of their bytes.

    python -m benchmarks.weights                      512 MiB of weights in 8 layers, all sources
    python -m benchmarks.weights --layers 2 --width 1024       smaller ones
    python -m benchmarks.weights --only onnx          one source
    python -m benchmarks.weights --results DIR        the figures as JSON and Markdown too

The model is a chain of linear layers, or (convolutions) of convolutions, each with a normalization
of its batch that is folded. Each source is measured in new processes: without the cache on disk,
and twice with a new one, so that the last process finds what the one before it built.

Counted is the resident memory of the process beyond the one that it has when all modules are
imported and the source (torch's module, its exported program, or the model that onnx has read) is
complete: the source's own weights do not count. "import", "build" and "call" are the largest of
this up to the end of a step (the kernel's VmHWM, reset before); "kept" is what is left when the
module of graphs is released, and the executable remains.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import peer_environment
from benchmarks.graphs import onnx_model, setting
from benchmarks.lowering import markdown
from te_sched.tools.table import table

GOAL = 2.2  # times the weights, at most
BATCH = 16
STEPS = ("import", "build", "call", "kept")
CACHES = ("off", "first", "second")


def chain(torch: Any, layers: int, width: int) -> tuple[Any, Any]:
    """Linear layers, and an input."""
    parts = [torch.nn.Linear(width, width) for _ in range(layers)]
    return torch.nn.Sequential(*parts), torch.rand(BATCH, width)


def convolutions(torch: Any, layers: int, width: int) -> tuple[Any, Any]:
    """Convolutions of about the same weights in half as many layers, each with a norm."""
    nn, channels = torch.nn, 64 * round(width * 2**0.5 / 3 / 64)
    parts: list[Any] = []
    for _ in range(layers // 2):
        parts += [nn.Conv2d(channels, channels, 3, padding=1, bias=False)]
        parts += [nn.BatchNorm2d(channels), nn.ReLU()]
    return nn.Sequential(*parts), torch.rand(1, channels, 7, 7)


def _traced(torch: Any, model: Any, values: Any) -> Callable[[], Any]:
    frontend = importlib.import_module("te_sched.relax.frontend.torch")
    graph = torch.fx.symbolic_trace(model)
    return lambda: frontend.from_fx(graph, [(tuple(values.shape), "float32")])


def _exported(torch: Any, model: Any, values: Any) -> Callable[[], Any]:
    frontend = importlib.import_module("te_sched.relax.frontend.torch")
    program = torch.export.export(model, (values,))
    return lambda: frontend.from_exported_program(program)


def _onnx(torch: Any, model: Any, values: Any) -> Callable[[], Any]:
    frontend = importlib.import_module("te_sched.relax.frontend.onnx")
    onnx = importlib.import_module("onnx")
    proto = onnx.load_from_string(onnx_model(torch, model, [values]))
    return lambda: frontend.from_onnx(proto)


# What makes the model, and what makes of it a function that imports it.
SOURCES: dict[str, tuple[Callable[..., Any], Callable[..., Callable[[], Any]]]] = {
    "from_fx": (chain, _traced),
    "from_exported_program": (chain, _exported),
    "onnx": (chain, _onnx),
    "convolutions": (convolutions, _traced),
}


def measure(source: str, layers: int, width: int) -> dict[str, float]:
    """The weights in bytes, and the memory of each step in this process beyond the source's."""
    torch = importlib.import_module("torch")
    te_sched = importlib.import_module("te_sched")
    relax = importlib.import_module("te_sched.relax")
    make, importing = SOURCES[source]
    torch.manual_seed(0)
    with torch.no_grad():
        model, values = make(torch, layers, width)
        model.eval()
        read = importing(torch, model, values)
    weights = sum(4 * one.numel() for one in model.parameters())
    del model
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM is that of now
    before = _memory("VmRSS")
    found: dict[str, float] = {"weights": weights}
    module = read()
    found["import"] = _memory("VmHWM") - before
    machine = relax.VirtualMachine(relax.build(module, target="llvm"), te_sched.cpu())
    found["build"] = _memory("VmHWM") - before
    machine["main"](te_sched.nd.array(values.numpy()))
    found["call"] = _memory("VmHWM") - before
    del module
    gc.collect()
    found["kept"] = _memory("VmRSS") - before
    return found


def _memory(name: str) -> int:
    """A figure of this process in bytes, by the kernel's name."""
    lines = Path("/proc/self/status").read_text().splitlines()
    line = next(line for line in lines if line.startswith(name))
    return int(line.split()[1]) * 1024


def figures_of(source: str, layers: int, width: int) -> list[dict[str, Any]]:
    """The figures of new processes: without the cache, and two that share a new one."""
    command = [sys.executable, "-m", "benchmarks.weights", "--once", "--only", source]
    command += ["--layers", str(layers), "--width", str(width)]
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        for cache in CACHES:
            used = "0" if cache == "off" else "1"
            own = {"TE_SCHED_CACHE": used, "TE_SCHED_CACHE_DIR": f"{folder}/cache"}
            done = subprocess.run(
                command, env={**os.environ, **own}, stdout=subprocess.PIPE, text=True, check=True
            )
            figures.append({"source": source, "cache": cache} | json.loads(done.stdout))
    return figures


def rows(figures: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """The table: multiples of the weights."""
    header = ["source", "cache", "weights MiB", *STEPS]
    lines = [
        [one["source"], one["cache"], f"{one['weights'] / 2**20:.0f}"]
        + [f"{one[step] / one['weights']:.2f}" for step in STEPS]
        for one in figures
    ]
    return header, lines


def main(arguments: Sequence[str]) -> int:
    """Print the table; the status is 1 if a figure is above the goal."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.weights", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--only", choices=SOURCES, help="one source")
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--results", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    if options.once:
        print(json.dumps(measure(options.only, options.layers, options.width)))
        return 0
    figures = []
    for source in [options.only] if options.only else SOURCES:
        figures += figures_of(source, options.layers, options.width)
    header, lines = rows(figures)
    print(table(header, lines, right=range(2, len(header))))
    if options.results:
        save(figures, options.results)
    return int(any(one["call"] > GOAL * one["weights"] for one in figures))


def save(figures: Sequence[dict[str, Any]], directory: Path) -> None:
    """The figures as JSON and as Markdown."""
    importlib.import_module("torch")  # whose version is told
    told = f"{setting(len(os.sched_getaffinity(0)))}; goal: at most {GOAL} times the weights"
    kept = {"setting": told, "figures": list(figures)}
    (directory / "weights.json").write_text(json.dumps(kept, indent=1) + "\n")
    text = ["# Memory of import and build, in multiples of the weights", "", told, ""]
    (directory / "weights.md").write_text("\n".join([*text, *markdown(*rows(figures))]) + "\n")


if __name__ == "__main__":
    sys.exit(peer_environment.run("benchmarks.weights", main, sys.argv[1:]))
