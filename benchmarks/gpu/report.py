"""Figures as text: tables for a terminal, Markdown, and a plot. Must not measure anything.

Figures are the JSON of benchmarks.gemm_gpu: a dict with `machine`, `products`, `large`,
`moving`, `peers`, `baselines`.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from te_sched.tools.table import table

# Milliseconds in the tutorial, on a Tesla T4 unless another device is named.
TUTORIAL_MS = {
    **{"naive": 84.52, "v1": 36.98, "v2": 35.50, "v3": 8.11},
    **{"tuned from a template": 42.56, "NumPy, CPU": 74.95},
    **{"PyTorch, CPU": 18.74, "PyTorch, CUDA": 0.70},
}
NO_GPU = "Times need a GPU, and this machine has none; those of the emulated device say nothing \
about one."

Figures = dict[str, Any]
Lines = list[list[str]]


def text(figures: Figures) -> str:
    """All tables, for a terminal."""
    parts = [_setting(figures)]
    for title, header, lines in _sections(figures):
        parts += [title, table(header, lines), ""]
    parts += [_baselines(figures)]
    if not figures["machine"].get("gpu"):
        parts.append(NO_GPU)
    return "\n".join(part for part in parts if part is not None)


def markdown(figures: Figures) -> str:
    """All tables as Markdown."""
    parts = [_setting(figures), ""]
    for title, header, lines in _sections(figures):
        parts += [f"**{title}**", "", *_rows([list(header), ["---"] * len(header), *lines]), ""]
    parts += [_baselines(figures)]
    if not figures["machine"].get("gpu"):
        parts += ["", NO_GPU]
    return "\n".join(parts) + "\n"


def short(figures: Figures) -> str:
    """Only the products of the tutorial's size, for a page."""
    _, header, lines = next(iter(_sections(figures)))
    rows = _rows([list(header), ["---"] * len(header), *lines])
    end = "" if figures["machine"].get("gpu") else f"\n\n{NO_GPU}"
    return f"{_setting(figures)}\n\n" + "\n".join(rows) + end


def _rows(lines: Sequence[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(line) + " |" for line in lines]


def _setting(figures: Figures) -> str:
    machine = figures["machine"]
    m, n, k = figures["size"]
    gpu = machine.get("gpu") or "no GPU"
    return (
        f"C = A B with M = {m}, N = {n}, K = {k}; te_sched {machine['te_sched']}, {gpu}, "
        f"{machine['cores']} cores, NVRTC {machine['nvrtc'] or 'not installed'}."
    )


def _sections(figures: Figures) -> list[tuple[str, Sequence[str], Lines]]:
    large = figures.get("large_size")
    found = [
        ("Matrix products", *_products(figures["products"], figures["baselines"], True)),
        (
            f"Matrix products of {large} x {large} x {large}",
            *_products(figures["large"], figures["large_baselines"], False),
        ),
        ("Limited by memory", *_moving(figures)),
        ("Beside TVM's CUDA for the same schedules", *_peers(figures["peers"])),
    ]
    return [section for section in found if section[2]]


def _products(
    rows: Sequence[dict[str, Any]], baselines: dict[str, Any], with_tutorial: bool
) -> tuple[Sequence[str], Lines]:
    naive = next((row["gpu_ms"] for row in rows if row["name"] == "naive"), None)
    lines = []
    for row in rows:
        rival = baselines.get("cublas_fp16_ms" if _is_half(row) else "cublas_ms")
        line = [row["name"], row["note"], *_compiled(row)]
        line += [_number(row["gpu_ms"], 3), _number(row["gigaflops"], 0)]
        line += [_ratio(naive, row["gpu_ms"]), _ratio(rival, row["gpu_ms"])]
        if with_tutorial:
            line.append(_number(TUTORIAL_MS.get(row["name"]), 2))
        lines.append([*line, row["failed"]])
    header = ["version", "tile", *_COMPILED, "GPU ms", "GFLOP/s", "to naive", "to cuBLAS"]
    return _without_empty([*header, *(["T4, tutorial ms"] * with_tutorial), "failed"], lines)


def _is_half(row: dict[str, Any]) -> bool:
    return str(row["name"]).startswith("tensor cores")


def _moving(figures: Figures) -> tuple[Sequence[str], Lines]:
    copy = figures["baselines"].get("copy_gigabytes_per_second")
    lines = [
        [
            *(row["name"], " x ".join(map(str, row["size"])), *_compiled(row)),
            *(_number(row["gpu_ms"], 3), _number(row["gigabytes_per_second"], 0)),
            *(_ratio(row["gigabytes_per_second"], copy), row["failed"]),
        ]
        for row in figures["moving"]
    ]
    header = ["program", "size", *_COMPILED, "GPU ms", "GB/s", "to a device copy", "failed"]
    return _without_empty(header, lines)


def _peers(rows: Sequence[dict[str, Any]]) -> tuple[Sequence[str], Lines]:
    lines = [
        [
            *(row["name"], _registers(row["usage"]), _registers(row["peer_usage"])),
            *(_shared(row["usage"]), _shared(row["peer_usage"])),
            *(_spills(row["usage"]), _spills(row["peer_usage"])),
            *(_number(row["gpu_ms"], 3), _number(row["peer_ms"], 3)),
            *(_ratio(row["peer_ms"], row["gpu_ms"]), row["failed"]),
        ]
        for row in rows
    ]
    pairs = ("registers", "shared bytes", "spilled bytes")
    header = ["schedule", *(f"{pair}, {who}" for pair in pairs for who in ("te_sched", "TVM"))]
    return _without_empty([*header, "te_sched ms", "TVM ms", "TVM / te_sched", "failed"], lines)


_COMPILED = (
    *("launch", "registers sm_75/80/90", "shared bytes", "spilled bytes"),
    *("to numpy", "emulated ms", "findings"),
)


def _compiled(row: dict[str, Any]) -> list[str]:
    usage = row["usage"]
    difference = row["difference"] if row["difference"] is not None else row["gpu_difference"]
    return [
        *(row["launch"], _registers(usage), _shared(usage), _spills(usage)),
        "" if difference is None else f"{difference:.0e}",
        _number(row["emulated_ms"], 0),
        _number(row["findings"], 0),
    ]


def _registers(usage: dict[str, Any]) -> str:
    return "/".join(str(one["registers"]) for one in usage.values())


def _shared(usage: dict[str, Any]) -> str:
    return _number(max((one["shared_bytes"] for one in usage.values()), default=None), 0)


def _spills(usage: dict[str, Any]) -> str:
    return _number(max((one["spill_stores"] for one in usage.values()), default=None), 0)


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _ratio(above: float | None, below: float | None) -> str:
    return f"{above / below:.2f}" if above and below else ""


def _without_empty(header: Sequence[str], lines: Lines) -> tuple[list[str], Lines]:
    """Remove empty columns, and fill the gaps of the others with "-"."""
    kept = [number for number in range(len(header)) if any(line[number] for line in lines)]
    filled = [[line[number] or "-" for number in kept] for line in lines]
    return [header[number] for number in kept], filled


def _baselines(figures: Figures) -> str:
    found = figures["baselines"]
    parts = [f"numpy on this processor: {found['numpy_ms']:.1f} ms"]
    names = {"cublas_ms": "cuBLAS, float32", "cublas_fp16_ms": "cuBLAS, float16"}
    parts += [f"{name}: {found[key]:.3f} ms" for key, name in names.items() if found.get(key)]
    if found.get("failed"):
        parts.append(found["failed"])
    others = [name for name in TUTORIAL_MS if not name.startswith(("naive", "v"))]
    tutorial = ", ".join(f"{name} {TUTORIAL_MS[name]:.2f}" for name in others)
    return f"{'; '.join(parts)}. The tutorial's other figures, in ms: {tutorial}."


def plot(figures: Figures, path: Path) -> bool:
    """Plot the rates of the products; returns False without times of a GPU or matplotlib."""
    series = [
        (label, [row for row in figures[key] if row["gigaflops"]])
        for key, label in (("products", "tutorial's size"), ("large", "large"))
    ]
    if not any(rows for _, rows in series) or importlib.util.find_spec("matplotlib") is None:
        return False
    importlib.import_module("matplotlib").use("Agg")
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(len(series), 1, figsize=(9, 4 * len(series)), squeeze=False)
    for (label, rows), (axis,) in zip(series, axes, strict=True):
        axis.barh([row["name"] for row in rows][::-1], [row["gigaflops"] for row in rows][::-1])
        axis.set_xscale("log")
        axis.set_xlabel("GFLOP/s")
        axis.set_title(f"{figures['machine']['gpu']}, {label}")
    figure.tight_layout()
    figure.savefig(path)
    return True
