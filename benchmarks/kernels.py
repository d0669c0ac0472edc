"""Kernels of shapes drawn at random from real networks: te_sched beside torch and onnxruntime.

    python -m benchmarks.kernels                       40 kernels of seed 0
    python -m benchmarks.kernels --seed 3 --count 10   others
    python -m benchmarks.kernels --only softmax        of these, those with a text in their names
    python -m benchmarks.kernels --threads 1           on one core
    python -m benchmarks.kernels --results DIR         the figures as JSON and Markdown too

The lists of layers are in `network_layers`: convolutions (grouped, strided, dilated), products with
weights and of attention, norms and reductions, with batches of 1 to 32, odd sizes, in float32,
bfloat16 and int8 (QLinearConv, and MatMulInteger, whose counterpart in torch is `_int_mm`). All
libraries run in one process, in turn; a figure is the least of the medians of the rounds
(`graphs`). Results must equal torch's: to 1e-4 of the largest element in float32, 2e-2 in bfloat16,
one in convolutions of int8. "ratio" is te_sched's time to that of the better of the others.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import graphs, peer_environment
from benchmarks.lowering import markdown
from benchmarks.network_layers import Kernel, applied, drawn, module
from te_sched.tools.table import table

LARGEST, MEAN = 1.5, 0.9  # goals for the ratios
PEERS = (graphs.TORCH, graphs.ONNX)
TOLERANCES = {"float32": 1e-4, "bfloat16": 2e-2, "int8": 1 / 255}
_ZERO = 128  # of bytes


def measure(kernel: Kernel, threads: int) -> dict[str, Any]:
    """The figures of a kernel, or why te_sched has none."""
    torch = importlib.import_module("torch")
    torch.manual_seed(0)
    is_int8 = kernel.dtype == "int8"
    with torch.no_grad():
        model, inputs = (_of_bytes if is_int8 else _of_floats)(torch, kernel)
        expected = model(*inputs).float().numpy()
    makers = (
        _bytes_makers(kernel)
        if is_int8
        else {name: graphs.MAKERS[name] for name in (graphs.OURS, *PEERS)}
    )
    told = {"kernel": kernel.name, "family": kernel.family, "dtype": kernel.dtype}
    tolerance = TOLERANCES[kernel.dtype]
    try:
        return told | graphs.measure_model(model, inputs, expected, makers, threads, tolerance)
    except Exception as error:  # the table tells it
        return told | {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:80]}


def _of_floats(torch: Any, kernel: Kernel) -> tuple[Any, list[Any]]:
    """A layer and random inputs."""
    dtype = getattr(torch, kernel.dtype)
    model = module(kernel).eval().to(dtype)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    return model, [torch.rand(shape).sub(0.5).to(dtype) for shape in kernel.shapes]


# -- int8 ------------------------------------------------------------------------------------------


def _of_bytes(torch: Any, kernel: Kernel) -> tuple[Any, list[Any]]:
    """The layer of bytes, computed in float64, and its input, whose zero is 128."""
    weight = _weight(torch, kernel).double()
    scale = _scale(kernel)
    if kernel.family == "product":
        model = applied(lambda x: (x.double() - _ZERO) @ weight)
    else:
        _, _, _, stride, padding, dilation, groups, _ = kernel.layer
        convolve = torch.nn.functional.conv2d

        def sums(x: Any) -> Any:
            return convolve(x.double() - _ZERO, weight, None, stride, padding, dilation, groups)

        model = applied(lambda x: torch.clamp(torch.round(sums(x) * scale) + _ZERO, 0, 255))
    return model, [torch.randint(0, 256, shape, dtype=torch.uint8) for shape in kernel.shapes]


def _weight(torch: Any, kernel: Kernel) -> Any:
    """The weight of a kernel of bytes, the same for all libraries."""
    generator = torch.Generator().manual_seed(1)
    if kernel.family == "product":
        shape = kernel.layer[:2]
    else:
        before, after, window, *_, groups, _ = kernel.layer
        shape = (after, before // groups, window, window)
    return torch.randint(-128, 128, shape, dtype=torch.int8, generator=generator)


def _scale(kernel: Kernel) -> float:
    """The factor of sums by which most results of a convolution are bytes."""
    if kernel.family == "product":
        return 1.0
    before, _, window, *_, groups, _ = kernel.layer
    return float(np.float32(40 / (74 * 74 * math.sqrt(before // groups * window * window))))


def bytes_model(torch: Any, kernel: Kernel) -> bytes:
    """The layer as a file of ONNX: MatMulInteger or QLinearConv."""
    onnx = importlib.import_module("onnx")
    helper, kinds = onnx.helper, onnx.TensorProto
    arrays = {"w": _weight(torch, kernel).numpy(), "zero": np.uint8(_ZERO), "none": np.int8(0)}
    if kernel.family == "product":
        node, kind = helper.make_node("MatMulInteger", ["x", "w", "zero", "none"], ["y"]), "INT32"
    else:
        _, _, _, stride, padding, dilation, groups, _ = kernel.layer
        arrays |= {"one": np.float32(1), "step": np.float32(1 / _scale(kernel))}
        names = ["x", "one", "zero", "w", "one", "none", "step", "zero"]
        attributes = {"strides": [stride] * 2, "pads": [padding] * 4, "group": groups}
        attributes["dilations"] = [dilation] * 2
        node, kind = helper.make_node("QLinearConv", names, ["y"], **attributes), "UINT8"
    graph = helper.make_graph(
        [node],
        "bytes",
        [helper.make_tensor_value_info("x", kinds.UINT8, kernel.shapes[0])],
        [helper.make_tensor_value_info("y", getattr(kinds, kind), None)],
        [onnx.numpy_helper.from_array(np.asarray(one), name) for name, one in arrays.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    file: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    return file


def _bytes_makers(kernel: Kernel) -> dict[str, Any]:
    """What makes calls of a kernel of bytes: from one file of ONNX, and torch's product."""
    file = bytes_model(importlib.import_module("torch"), kernel)

    def ours(
        torch: Any, model: Any, inputs: Sequence[Any], threads: int
    ) -> tuple[graphs.Call, graphs.Call]:
        del torch, model, threads
        frontend = importlib.import_module("te_sched.relax.frontend.onnx")
        relax = importlib.import_module("te_sched.relax")
        graph = frontend.from_onnx(importlib.import_module("onnx").load_from_string(file))
        return graphs.built_calls(graphs.OURS, relax.build(graph, target="llvm"), inputs)

    def peer(
        torch: Any, model: Any, inputs: Sequence[Any], threads: int
    ) -> tuple[graphs.Call, graphs.Call]:
        del torch, model
        return graphs.session_calls(file, {"x": inputs[0].numpy()}, threads)

    def product(
        torch: Any, model: Any, inputs: Sequence[Any], threads: int
    ) -> tuple[graphs.Call, graphs.Call]:
        del model, threads
        signed, weight = (inputs[0].int() - _ZERO).to(torch.int8), _weight(torch, kernel)
        return lambda: torch._int_mm(signed, weight), lambda: torch._int_mm(signed, weight).numpy()

    found = {graphs.OURS: ours, graphs.ONNX: peer}
    return found | ({graphs.TORCH: product} if kernel.family == "product" else {})


# -- the table -------------------------------------------------------------------------------------


def ratio(figure: dict[str, Any]) -> float | None:
    """te_sched's time to that of the better of the others; None if one has no time."""
    others = [figure[name] for name in PEERS if name in figure]
    return figure[graphs.OURS] / min(others) if graphs.OURS in figure and others else None


def rows(figures: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """The table, the largest ratio first, and the summary."""
    header = ["kernel", "dtype", *(f"{name} us" for name in (graphs.OURS, *PEERS)), "ratio"]
    ordered = sorted(figures, key=lambda one: ratio(one) or 1e9, reverse=True)
    lines = []
    for one in ordered:
        times = [f"{one[name] * 1e6:.1f}" if name in one else "-" for name in (graphs.OURS, *PEERS)]
        found = ratio(one)
        name = one["kernel"] + (f" ({one['failed']})" if "failed" in one else "")
        lines.append([name, one["dtype"], *times, "-" if found is None else f"{found:.2f}"])
    ratios = [found for one in figures if (found := ratio(one)) is not None]
    if ratios:
        mean = f"{statistics.geometric_mean(ratios):.2f}"
        above = f"{sum(one > LARGEST for one in ratios)} of {len(figures)} above {LARGEST}"
        lines.append([f"geometric mean; {above}", *[""] * 4, mean])
    return header, lines


def is_reached(figures: Sequence[dict[str, Any]]) -> bool:
    """Whether all kernels run, none above the largest ratio, and the mean is below its goal."""
    ratios = [ratio(one) for one in figures]
    known = [one for one in ratios if one is not None]
    is_whole = len(known) == len(figures) > 0
    return is_whole and max(known) <= LARGEST and statistics.geometric_mean(known) <= MEAN


def main(arguments: Sequence[str]) -> int:
    """Print the table; the status is 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--results", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    peer_environment.set_own({"TE_SCHED_NUM_THREADS": str(options.threads)})
    importlib.import_module("torch").set_num_threads(options.threads)
    kernels = [one for one in drawn(options.seed, options.count) if options.only in str(one)]
    figures = []
    for kernel in kernels:
        figures.append(measure(kernel, options.threads))
        print(json.dumps(figures[-1]), file=sys.stderr, flush=True)
    header, lines = rows(figures)
    print(table(header, lines, right=range(2, len(header))))
    told = f"seed {options.seed}; {graphs.setting(options.threads)}"
    print(told)
    if options.results:
        kept = {"setting": told, "figures": figures}
        (options.results / "kernels.json").write_text(json.dumps(kept, indent=1) + "\n")
        text = ["# Kernels of real networks", "", told, "", *markdown(header, lines)]
        (options.results / "kernels.md").write_text("\n".join(text) + "\n")
    return 0 if is_reached(figures) else 1


if __name__ == "__main__":
    sys.exit(peer_environment.run("benchmarks.kernels", main, sys.argv[1:]))
