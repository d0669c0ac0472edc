"""Write the figures of benchmarks/results into README.md, docs/faq.md and docs/performance.md.

    python -m benchmarks.pages            write them
    python -m benchmarks.pages --check    fail if a page is out of date

Figures and tables are between marks: `<!-- name -->...<!-- end -->`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import cluster, graphs, tuning
from benchmarks.calls import beyond_numpy
from benchmarks.gpu import report as gpu
from benchmarks.processor import report as cpu
from benchmarks.processor.contest import OURS, OURS_TUTORIAL, TVM, TVM_TUTORIAL
from benchmarks.processor.workload import BEST_PEER, PEAK

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGES = (ROOT / "README.md", ROOT / "docs" / "faq.md", ROOT / "docs" / "performance.md")
# The workloads in the README, and the libraries beside them.
_SHORT = ("GEMM 1024", "GEMM int8 1024", "conv2d 3x3, 64 to 64, 56x56", "softmax", "blur")
_PEERS = (TVM, "numpy", "torch", "Halide")
_PRODUCTS = ("GEMM 512", "GEMM 1024", "GEMM 2048")
MARKED = re.compile(r"<!-- (?P<name>(?!end )[^\n]*?) -->.*?<!-- end -->", re.DOTALL)


def filled(text: str, figures: Mapping[str, str]) -> str:
    """The text with each figure between its marks; tables are on separate lines."""

    def marked(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in figures:
            raise SystemExit(f"no figure {name!r}; there are {', '.join(figures)}")
        figure = f"\n{figures[name]}\n" if "\n" in figures[name] else figures[name]
        return f"<!-- {name} -->{figure}<!-- end -->"

    return MARKED.sub(marked, text)


def figures(results: Path = RESULTS) -> dict[str, str]:
    """The texts of figures and tables, by name."""
    workloads, gemm, times, calls = (
        json.loads((results / f"{name}.json").read_text())
        for name in ("cpu", "gemm_gpu", "lowering", "calls")
    )
    models = json.loads((results / "graphs.json").read_text())
    found = {
        **_of_workloads(workloads),
        **_of_lowering(times),
        **_of_calls(calls["seconds"]),
        "workloads on": cpu.machine_text(workloads),
        **graphs.means(models),
        "models on": models["setting"].split(";")[0],
        "lowering on": _processor(times["setting"]),
        "calls on": _processor(calls["setting"]),
    }
    return {
        **found,
        "models": graphs.short(models),
        "some models": graphs.times_as_fast(models),
        "results": _summary(found),
        "workloads": cpu.short(workloads),
        "some workloads": cpu.times_as_fast(workloads, _SHORT, _PEERS),
        "GPU products": gpu.short(gemm),
        **_of_searches(results),
    }


def _processor(setting: str) -> str:
    """The processor that a setting names: "x86_64 (znver5), 2 cores"."""
    named = re.search(r"\((\w+)\), \d+ cores", setting)
    return named[1] if named else "another machine"


def _of_searches(results: Path) -> dict[str, str]:
    """The tables of searches that were measured."""
    tables = {
        "searches": (results / "tuning.json", tuning.short),
        "searches of 256 trials": (results / "tuning-256.json", tuning.short),
        "search on a cluster": (results / "cluster.json", cluster.short),
    }
    return {
        name: short(json.loads(path.read_text()))
        for name, (path, short) in tables.items()
        if path.exists()
    }


def _of_workloads(measured: dict[str, Any]) -> dict[str, str]:
    rows, peaks = measured["rows"], measured["peaks"]
    to_peer = {row["name"]: cpu.reached(row, BEST_PEER, peaks) or 0.0 for row in rows}
    products = [row for row in rows if row["name"] in _PRODUCTS]
    of_peak = [100 * (cpu.reached(row, PEAK, peaks) or 0.0) for row in products]
    to_numpy = [cpu.reached(row, "numpy", peaks) or 0.0 for row in products]
    found = {
        "workload count": str(len(rows)),
        "workloads to best peer": f"{cpu.geometric(list(to_peer.values())):.2f}",
        "workloads as fast as any peer": str(sum(ratio >= 1 for ratio in to_peer.values())),
        "products, % of peak": f"{min(of_peak):.0f} to {max(of_peak):.0f} %",
        "products to numpy": f"{min(to_numpy):.1f} to {max(to_numpy):.1f}",
        "product 2048, % of peak": f"{of_peak[-1]:.0f} %",
        "int8 product to best peer": f"{to_peer['GEMM int8 1024']:.2f}",
        "1x1 convolution to best peer": f"{to_peer['conv2d 1x1, 64 to 256, 56x56']:.2f}",
    }
    for name, ours, theirs in (
        ("tutorial schedules to TVM", OURS_TUTORIAL, TVM_TUTORIAL),
        ("best schedules to TVM", OURS, TVM),
    ):
        ratios = [row["median_ms"][theirs] / row["median_ms"][ours] for row in rows]
        found[name] = f"{cpu.geometric(ratios):.2f}"
        found[f"{name}, lowest"] = f"{min(ratios):.2f}"
    return found


def _of_lowering(measured: dict[str, Any]) -> dict[str, str]:
    lower, build, cached = (
        measured["overall"][name] for name in ("lower", "build", "cached build")
    )
    ratios = [row["ratios"].get("build") or 0.0 for row in measured["rows"]]
    return {
        "lowered programs": str(lower["programs"]),
        "built programs": str(build["programs"]),
        "lower to TVM": f"{1 / lower['geometric_mean_ratio']:.2f}",
        "build to TVM": f"{1 / build['geometric_mean_ratio']:.2f}",
        "largest build to TVM": f"{build['largest_ratio']:.2f}",
        "builds above 1.25": str(sum(ratio > 1.25 for ratio in ratios)),
        "cached build": f"{cached['te_sched_median_of_a_step'] * 1e3:.2f} ms",
    }


def _of_calls(seconds: dict[str, dict[str, float]]) -> dict[str, str]:
    imports = seconds["imports"]
    found = {
        "import": f"{imports['te_sched']:.2f} s",
        "import to numpy": f"{beyond_numpy(imports, 'te_sched'):.1f}",
        "import of graphs to numpy": f"{beyond_numpy(imports, 'te_sched.relax'):.1f}",
    }
    for name, part in (("call", "calls"), ("parallel loop", "parallel")):
        for who, suffix in (("te_sched", ""), ("TVM", " of TVM")):
            found[name + suffix] = f"{seconds[part][who] * 1e6:.2f} us"
    return found


# The subject, the result, the goal, the processor, and the page with all figures.
_SUMMARY = """\
| subject | result | goal | measured on | all figures |
| --- | --- | --- | --- | --- |
| float32 matrix products | {products, % of peak} of the processor's peak; {products to numpy} times as fast as numpy | 90 % at 2048; as fast as numpy | {workloads on} | [Processor](../benchmarks/results/cpu.md) |
| {workload count} workloads beside the fastest of TVM, numpy, torch and Halide | {workloads to best peer} times as fast (geometric mean); {workloads as fast as any peer} of {workload count} at least as fast | a goal for each workload | the same | its last table |
| the same workloads and schedules under TVM 0.19 | schedules of TVM's tutorials: {tutorial schedules to TVM} times as fast as TVM (the slowest {tutorial schedules to TVM, lowest}); best schedules: {best schedules to TVM} (the slowest {best schedules to TVM, lowest}) | as fast as TVM, none below 0.9 | the same | its second table |
| models from PyTorch, without a search | {models to torch} times as fast as torch, {models to onnxruntime} times as fast as onnxruntime (geometric means) | as fast as torch | {models on} | [Graphs](../benchmarks/results/graphs.md) |
| `lower()`, {lowered programs} programs | {lower to TVM} times as fast as TVM | half of TVM's speed (aim: TVM's) | {lowering on}, 2 cores | [Lowering](../benchmarks/results/lowering.md) |
| `build()`, {built programs} programs | {build to TVM} times as fast as TVM; {cached build} from the cache | 0.8 of TVM's speed; 2 ms | the same | the same |
| a call with two arrays of one element | {call} (TVM: {call of TVM}) | TVM's | {calls on}, 2 cores | [Calls](../benchmarks/results/calls.md) |
| a parallel loop without work | {parallel loop} (TVM: {parallel loop of TVM}) | 10 us | the same | the same |
| `import te_sched` | {import}: beyond numpy, {import to numpy} times numpy's own import ({import of graphs to numpy} with `relax`) | 2 times | the same | the same |"""  # noqa: E501


def _summary(found: Mapping[str, str]) -> str:
    return re.sub(r"{([^{}]+)}", lambda match: found[match[1]], _SUMMARY)


def main() -> None:
    """Write the figures, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--check", action="store_true", help="fail if a page is out of date")
    is_check = parser.parse_args().check
    known = figures()
    new = {page: filled(page.read_text(), known) for page in PAGES}
    stale = [page.name for page, text in new.items() if text != page.read_text()]
    if is_check:
        sys.exit(f"out of date: {', '.join(stale)}" if stale else 0)
    for page, text in new.items():
        page.write_text(text)


if __name__ == "__main__":
    main()
