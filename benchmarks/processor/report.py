"""Figures as text: tables for a terminal, Markdown, and a plot. Must not measure anything.

Figures are the JSON of benchmarks.cpu: a dict with `machine`, `peaks` and `rows`.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.processor.contest import OURS, OURS_TUTORIAL, TVM, TVM_TUTORIAL
from benchmarks.processor.workload import BEST_PEER, PEAK
from te_sched.tools.table import table

Figures = dict[str, Any]
Row = dict[str, Any]
Lines = list[list[str]]

_OURS = (OURS, OURS_TUTORIAL)


def text(figures: Figures) -> str:
    """All tables, for a terminal."""
    parts = [setting(figures), ""]
    for title, header, lines in _sections(figures):
        right = [number for number, head in enumerate(header) if number and head != "goal"]
        parts += [title, "", table(header, lines, right=right), ""]
    return "\n".join([*parts, *failures(figures)])


def markdown(figures: Figures) -> str:
    """All tables as Markdown."""
    parts = [setting(figures), ""]
    for title, header, lines in _sections(figures):
        parts += [f"**{title}**", "", *_rows(header, lines), ""]
    return "\n".join([*parts, *(f"- {line}" for line in failures(figures))]).rstrip() + "\n"


def short(figures: Figures, names: Sequence[str] = ()) -> str:
    """The first table, for a page, of some or all workloads."""
    _, header, lines = _sections(figures)[0]
    lines = [line for line in lines if not names or line[0] in names]
    return "\n".join([setting(figures), "", *_rows(header, lines)])


def times_as_fast(figures: Figures, names: Sequence[str], peers: Sequence[str]) -> str:
    """A table of some workloads as Markdown: te_sched's milliseconds, and how many times as fast as
    each peer it is.
    """
    lines = []
    for row in figures["rows"]:
        times = row["median_ms"]
        ratios = [_ratio(times.get(peer), times.get(OURS)) for peer in peers]
        lines += [[row["name"], _number(times.get(OURS)), *ratios]] if row["name"] in names else []
    return "\n".join(_rows(["workload", "te_sched ms", *peers], lines))


def machine_text(figures: Figures) -> str:
    """The processor and the number of threads."""
    machine = figures["machine"]
    return f"{machine['model']} ({machine['processor']}), {machine['threads']} threads"


def _rows(header: Sequence[str], lines: Lines) -> list[str]:
    rule = ["---", *["---:"] * (len(header) - 1)]
    return ["| " + " | ".join(line) + " |" for line in (header, rule, *lines)]


def setting(figures: Figures) -> str:
    """The machine, its peaks, and the implementations."""
    machine, peaks = figures["machine"], figures["peaks"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    kernels = f" {machine['numpy']}." if machine["numpy"] else ""
    return (
        f"{machine_text(figures)}; at most "
        f"{peaks['gigaflops']:.0f} GFLOP/s (float32 multiply-adds in registers) and "
        f"{peaks['gigabytes_per_second']:.1f} GB/s (a copy). {versions}.{kernels}"
    )


def _sections(figures: Figures) -> list[tuple[str, list[str], Lines]]:
    return [
        ("te_sched beside its peers", *_beside_peers(figures)),
        ("The same schedules under TVM", *_beside_tvm(figures)),
        ("Milliseconds, medians", *_times(figures)),
        ("Goals", *_goals(figures)),
    ]


def _beside_peers(figures: Figures) -> tuple[list[str], Lines]:
    header = ["workload", "ms", "rate", "of peak", "fastest other", "its ms", "times as fast"]
    lines = []
    for row in figures["rows"]:
        peer = best_peer(row)
        ours = row["median_ms"].get(OURS)
        theirs = row["median_ms"].get(peer)
        lines.append(
            [
                *(row["name"], _number(ours), _rate(row, ours)),
                *(_percent(of_peak(row, figures["peaks"])), peer or "-"),
                *(_number(theirs), _ratio(theirs, ours)),
            ]
        )
    return header, lines


def _beside_tvm(figures: Figures) -> tuple[list[str], Lines]:
    header = ["workload", "tutorial ms", "TVM ms", "times as fast"]
    header += ["best ms", "TVM ms", "times as fast"]
    lines = []
    ratios: tuple[list[float], list[float]] = ([], [])
    for row in figures["rows"]:
        line = [row["name"]]
        for found, ours, theirs in zip(
            ratios, (OURS_TUTORIAL, OURS), (TVM_TUTORIAL, TVM), strict=True
        ):
            mine, other = row["median_ms"].get(ours), row["median_ms"].get(theirs)
            line += [_number(mine), _number(other), _ratio(other, mine)]
            if mine and other:
                found.append(other / mine)
        lines.append(line)
    mean = [["", "", _number(geometric(found) if found else None)] for found in ratios]
    return header, [*lines, ["geometric mean", *mean[0], *mean[1]]]


def _times(figures: Figures) -> tuple[list[str], Lines]:
    names = list(dict.fromkeys(name for row in figures["rows"] for name in row["median_ms"]))
    lines = [
        [row["name"], *(_number(row["median_ms"].get(name)) for name in names)]
        for row in figures["rows"]
    ]
    return ["workload", *names], lines


def _goals(figures: Figures) -> tuple[list[str], Lines]:
    lines = []
    for row in figures["rows"]:
        for about, wanted in row["goals"].items():
            found = reached(row, about, figures["peaks"])
            verdict = "-" if found is None else "met" if found >= wanted else "missed"
            lines.append([row["name"], f"{wanted:.2f} of {about}", _number(found), verdict])
    return ["workload", "goal", "reached", "verdict"], lines


def reached(row: Row, about: str, peaks: dict[str, float]) -> float | None:
    """The speed of te_sched's best schedule relative to a peer or to the peak."""
    if about == PEAK:
        return of_peak(row, peaks)
    ours = row["median_ms"].get(OURS)
    theirs = row["median_ms"].get(best_peer(row) if about == BEST_PEER else about)
    return theirs / ours if ours and theirs else None


def best_peer(row: Row) -> str:
    """The fastest peer, or "" if there are none."""
    others = {name: ms for name, ms in row["median_ms"].items() if name not in _OURS}
    return min(others, key=others.__getitem__, default="")


def of_peak(row: Row, peaks: dict[str, float]) -> float | None:
    """The rate relative to the machine's peak."""
    ms = row["median_ms"].get(OURS)
    if not ms or not (row["flops"] or row["moved"]):
        return None
    rate = (row["flops"] or row["moved"]) / ms / 1e6 / row["narrow"]
    return float(rate / peaks["gigaflops" if row["flops"] else "gigabytes_per_second"])


def _rate(row: Row, ms: float | None) -> str:
    work = row["flops"] or row["moved"]
    if not ms or not work:
        return "-"
    return f"{work / ms / 1e6:.1f} {'GFLOP/s' if row['flops'] else 'GB/s'}"


def failures(figures: Figures) -> list[str]:
    """The implementations that failed or are missing, and the disturbed times."""
    lines = []
    for row in figures["rows"]:
        lines += [f"{row['name']}, {who}: {why}" for who, why in row["failed"].items()]
        noisy = [who for who, turns in row["disturbed"].items() if turns]
        if noisy:
            lines.append(f"{row['name']}: other programs disturbed turns of {', '.join(noisy)}")
    return lines


def geometric(values: Sequence[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.3f}" if value < 1 else f"{value:,.2f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _ratio(above: float | None, below: float | None) -> str:
    return f"{above / below:.2f}" if above and below else "-"


def plot(figures: Figures, path: Path) -> bool:
    """Plot speeds relative to the best peer; returns False without times or matplotlib."""
    rows = [row for row in figures["rows"] if row["median_ms"].get(OURS) and best_peer(row)]
    if not rows or importlib.util.find_spec("matplotlib") is None:
        return False
    importlib.import_module("matplotlib").use("Agg")
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    names = list(dict.fromkeys(name for row in rows for name in row["median_ms"]))
    figure, axis = pyplot.subplots(figsize=(9, 1 + 0.9 * len(rows)))
    height = 0.8 / len(names)
    for number, name in enumerate(names):
        speeds = [row["median_ms"][best_peer(row)] / row["median_ms"].get(name, math.inf)
                  for row in rows]  # fmt: skip
        places = [place + number * height for place in range(len(rows))]
        axis.barh(places, speeds, height, label=name)
    axis.set_yticks([place + 0.4 for place in range(len(rows))], [row["name"] for row in rows])
    axis.invert_yaxis()
    axis.axvline(1.0, color="black", linewidth=0.8)
    axis.set_xlabel("speed, the best peer's is 1")
    axis.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
    return True
