"""Models of dynamic shapes, beside the same models with given sizes.

    python -m benchmarks.open_sizes                  all models
    python -m benchmarks.open_sizes mlp-7 pool       some of them
    python -m benchmarks.open_sizes --threads 1      on one core
    python -m benchmarks.open_sizes --results DIR    the figures as JSON and Markdown too

Each model is a torch.nn.Module with random weights (a fixed seed), exported twice by torch.export:
with the sizes of its input, and with some of them open ("open" names these dimensions). Both are
called with the same array, in turn; the figure is the least of the medians of the rounds. Results
must equal torch's. "build" is the compilation, without kept executables.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import graphs, peer_environment
from benchmarks.lowering import markdown
from benchmarks.networks import NETWORKS, attention_block, mlp
from te_sched import config, cpu, nd, relax
from te_sched.tools.table import table


class Model(NamedTuple):
    """What makes a model from `torch.nn`, the shape of its input, and its open dimensions."""

    make: Callable[[Any], Any]
    shape: tuple[int, ...]
    open: tuple[int, ...]


def classifier(nn: Any) -> Any:
    """A small network of convolutions for images of any size."""
    return nn.Sequential(
        *(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 1, 1), nn.ReLU()),
        *(nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, 1, 1), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)),
    )


def block(nn: Any) -> Any:
    """A block of a transformer."""
    functional = importlib.import_module("torch.nn.functional")
    return attention_block(nn, 256, 4, functional.scaled_dot_product_attention)


def _of_graphs(name: str, dimensions: tuple[int, ...]) -> Model:
    """A model of `benchmarks.networks`."""
    (shape,) = NETWORKS[name](importlib.import_module("torch.nn"))[1]
    return Model(lambda nn: NETWORKS[name](nn)[0], shape, dimensions)


def models() -> dict[str, Model]:
    """The models by their names."""
    sides = (2, 3)
    return {
        **{
            f"mlp-{rows}": Model(lambda nn: mlp(nn, 1)[0], (rows, 784), (0,))
            for rows in (1, 7, 33, 64)
        },
        "classifier": Model(classifier, (1, 3, 48, 192), sides),
        "classifier, batch": Model(classifier, (4, 3, 48, 192), (0,)),
        "transformer": Model(block, (1, 128, 256), (1,)),
        "transformer, batch": Model(block, (2, 100, 256), (0, 1)),
        "max pool": Model(lambda nn: nn.MaxPool2d(3, 2, 1), (1, 64, 112, 112), sides),
        "average pool": Model(lambda nn: nn.AvgPool2d(3, 2, 1), (1, 64, 56, 56), sides),
        "conv 3x3": Model(lambda nn: nn.Conv2d(32, 32, 3, padding=1), (1, 32, 28, 28), sides),
        "conv 1x1": Model(lambda nn: nn.Conv2d(40, 240, 1), (1, 40, 20, 20), sides),
        "depthwise 3x3": Model(
            lambda nn: nn.Conv2d(240, 240, 3, padding=1, groups=240), (1, 240, 20, 20), sides
        ),
        "softmax": Model(lambda nn: nn.Softmax(1), (256, 256), (0, 1)),
        "residual-112": _of_graphs("residual-112", sides),
        "efficient-160": _of_graphs("efficient-160", sides),
    }


def measured(name: str, model: Model) -> dict[str, Any]:
    """The seconds of calls and builds of a model, with given and with open sizes."""
    torch = importlib.import_module("torch")
    torch.manual_seed(0)
    network = model.make(torch.nn).eval()
    data = torch.rand(model.shape) - 0.5
    with torch.no_grad():
        expected = network(data).numpy()
    calls: dict[str, graphs.Call] = {}
    found: dict[str, Any] = {"model": name, "shape": model.shape, "dimensions": model.open}
    for kind in ("given", "open"):
        module = _imported(torch, network, model, kind == "open")
        began = time.perf_counter()
        with config.scoped(cache=False):
            machine = relax.VirtualMachine(relax.build(module, "llvm"), cpu())
        found[f"build {kind}"] = time.perf_counter() - began
        function, array = machine["main"], nd.array(data.numpy())
        graphs._compare(function(array)[0].numpy(), expected)
        calls[kind] = lambda function=function, array=array: function(array)
    times: dict[str, list[float]] = {kind: [] for kind in calls}
    for _ in range(graphs.ROUNDS):
        for kind, call in calls.items():
            times[kind].append(graphs._median(call))
    return found | {kind: min(one) for kind, one in times.items()}


def _imported(torch: Any, network: Any, model: Model, is_open: bool) -> Any:
    """The module of graphs; torch takes open sizes for constants if they are 1."""
    frontend = importlib.import_module("te_sched.relax.frontend.torch")
    shape, dimensions = list(model.shape), None
    if is_open:
        dimensions = ({place: torch.export.Dim.AUTO for place in model.open},)
        shape = [
            2 if place in model.open and size == 1 else size for place, size in enumerate(shape)
        ]
    program = torch.export.export(network, (torch.rand(shape),), dynamic_shapes=dimensions)
    return frontend.from_exported_program(program)


def rows(figures: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """The figures as a table."""
    header = ["model", "input", "open", "given us", "open us", "open / given", "builds s"]
    lines = [
        [
            one["model"],
            "x".join(map(str, one["shape"])),
            ", ".join(map(str, one["dimensions"])),
            f"{one['given'] * 1e6:.2f}",
            f"{one['open'] * 1e6:.2f}",
            f"{one['open'] / one['given']:.2f}",
            f"{one['build given']:.2f}, {one['build open']:.2f}",
        ]
        for one in figures
    ]
    return header, lines


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    known = models()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.open_sizes", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="MODEL", help=", ".join(known))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--results", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    unknown = [one for one in options.names if one not in known]
    if unknown:
        parser.error(f"{', '.join(unknown)}: use some of {', '.join(known)}")
    peer_environment.set_own({"TE_SCHED_NUM_THREADS": str(options.threads)})
    importlib.import_module("torch").set_num_threads(options.threads)
    figures = []
    for name in options.names or known:
        figures.append(measured(name, known[name]))
        print(json.dumps(figures[-1]), flush=True)
    header, lines = rows(figures)
    print(table(header, lines, right=range(3, len(header))))
    setting = graphs.setting(options.threads)
    print(setting)
    if options.results is not None:
        text = "\n".join(markdown(header, lines))
        found = {"setting": setting, "figures": figures}
        (options.results / "open_sizes.json").write_text(json.dumps(found, indent=1) + "\n")
        (options.results / "open_sizes.md").write_text(f"# Open sizes\n\n{setting}\n\n{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(peer_environment.run("benchmarks.open_sizes", main, sys.argv[1:]))
