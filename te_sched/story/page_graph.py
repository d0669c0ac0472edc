"""The page of a graph: its picture after each pass, the timeline of a call, memory over time.

Must not know how graphs are transformed or run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from te_sched.story.charts import WIDE, ChartFrame, both_widths
from te_sched.story.page import asset, page_template, policy
from te_sched.story.page_texts import Pictures, StageIds, bytes_text, time_text
from te_sched.views.dataflow import dataflow_svg
from te_sched.views.highlight import css
from te_sched.views.timeline import round_steps, timeline_svg

if TYPE_CHECKING:
    from te_sched.story.graph import GraphReport, GraphStage, MemoryPoint

_MOST_BOXES = 200  # of a picture; larger graphs are tables
_MOST_CALLS = 60  # of a timeline
_LABEL = 60  # pixels of a number of bytes over its bar


def graph_html(report: GraphReport) -> str:
    """A report as one HTML file without scripts; nothing is loaded from elsewhere."""
    pictures = Pictures(StageIds(()))
    sections = [_passes(report, pictures), _timeline(report), _memory(report)]
    return page_template("tuning.html").substitute(
        title=escape(f"Graph {report.name}"),
        generator="te_sched",
        policy=policy(),
        style=f"{asset('style.css')}\n{asset('tuning.css')}\n{css('.code')}\n{pictures.style()}",
        subtitle=(
            f"for <code>{escape(str(report.target))}</code> &middot; "
            f"{time_text(report.seconds * 1e3)} a call, the fastest of several"
        ),
        sections="\n".join(filter(None, sections)),
        footer="<p>Made by te_sched.story.graph.graph_report.</p>",
    )


def _section(anchor: str, title: str, body: str) -> str:
    return f'<section aria-labelledby="{anchor}"><h2 id="{anchor}">{title}</h2>{body}</section>'


def _passes(report: GraphReport, pictures: Pictures) -> str:
    """The stages; those that look the same are one, and what changed nothing is a list of names."""
    drawn = [(_picture(stage, pictures), stage) for stage in report.stages]
    groups = [
        (picture, [stage for _, stage in same])
        for (picture, _), same in groupby(drawn, lambda pair: (pair[0], pair[1].calls))
    ]
    parts = [
        _stages(stages, picture, is_open=at in (0, len(groups) - 1))
        for at, (picture, stages) in enumerate(groups)
    ]
    if report.unchanged:
        count = len(report.unchanged)
        parts.append(
            f"<details><summary>{count} {'pass' if count == 1 else 'passes'} changed nothing"
            f'</summary><p class="note">{escape(", ".join(report.unchanged))}</p></details>'
        )
    note = "Boxes are calls, each with the type and the name of its result; dotted are inputs."
    return _section("passes", "After each pass", f'<p class="note">{note}</p>{"".join(parts)}')


def _picture(stage: GraphStage, pictures: Pictures) -> str:
    """The picture of a graph, unless it is too large."""
    if sum(stage.calls.values()) > _MOST_BOXES:
        return ""
    return pictures.picture(dataflow_svg(stage.module))


def _stages(stages: Sequence[GraphStage], picture: str, is_open: bool) -> str:
    """Stages that have one picture: the first, and the names of the others."""
    first, *others = stages
    count = sum(first.calls.values())
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td class="figure">{times}</td></tr>'
        for name, times in first.calls.items()
    )
    head = '<tr><th scope="col">function</th><th scope="col">calls</th></tr>'
    names = escape(", ".join(transform.name for transform in others))
    note = f'<p class="note">The calls are the same after {names}.</p>' if others else ""
    shown = f'<div class="picture" tabindex="0" role="group">{picture}</div>' if picture else ""
    return (
        f"<details{' open' if is_open else ''}><summary>{escape(first.name)}: "
        f"{count} {'call' if count == 1 else 'calls'}</summary>{shown}"
        f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>{note}</details>"
    )


def _timeline(report: GraphReport) -> str:
    kernels = report.kernels[:_MOST_CALLS]
    if not kernels:
        return ""
    whole = sum(call.duration for call in report.calls)
    note = (
        "A bar is a kernel, from its start to its end, with its time; gaps are checks and "
        f"allocations. With each step timed, the call takes {time_text(whole / 1e3)}."
    )
    left_out = len(report.kernels) - len(kernels)
    note += f" The last {left_out} kernels are left out." if left_out else ""
    chart = both_widths(lambda width: timeline_svg(kernels, width=width))
    return _section("timeline", "Timeline of a call", f'<p class="note">{note}</p>{chart}')


def _memory(report: GraphReport) -> str:
    if not report.peak:
        return ""
    note = (
        f"A bar is a call; its height, the bytes of intermediate values and results that are "
        f"alive while it runs, at most {bytes_text(report.peak)}."
    )
    chart = both_widths(lambda width: _memory_chart(report.memory, report.peak, width))
    body = f'<p class="note">{note}</p>{chart}{_memory_table(report.memory)}'
    return _section("memory", "Memory over time", body)


def _memory_chart(memory: Sequence[MemoryPoint], peak: int, width: int) -> str:
    frame = ChartFrame(width, 220 if width == WIDE else 200, left=70, right=20, top=24, bottom=44)
    each = (frame.end - frame.left) / len(memory)
    parts = [
        *_levels(frame, peak, each < _LABEL),
        *(
            _bar(frame, point, frame.left + at * each, each, peak)
            for at, point in enumerate(memory)
        ),
        *frame.numbers(len(memory), lambda number: frame.left + (number - 0.5) * each, "call"),
    ]
    return frame.svg("Bytes of intermediate values over the calls", *parts)


def _levels(frame: ChartFrame, peak: int, is_scaled: bool) -> Iterator[str]:
    """The ground of the bars, and lines of round numbers where bars have no numbers over them."""
    for count in round_steps(peak, 4, base=2) if is_scaled else [0]:
        yield frame.level(_height(frame, count, peak), bytes_text(int(count)) if count else "0")


def _height(frame: ChartFrame, count: float, peak: int) -> float:
    """The position of a number of bytes."""
    return frame.floor - (frame.floor - frame.top) * count / peak


def _bar(frame: ChartFrame, point: MemoryPoint, left: float, each: float, peak: int) -> str:
    """The bytes at one call, as a number over the bar where there is room."""
    top, width = _height(frame, point.alive, peak), max(each - 1, 0.5)
    bar = (
        f'<rect class="bar" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" '
        f'height="{frame.floor - top:.1f}"><title>{escape(point.name)}: {point.alive} bytes'
        "</title></rect>"
    )
    if each < _LABEL:
        return bar
    return (
        f'{bar}<text x="{left + each / 2:.1f}" y="{top - 5:.1f}" '
        f'text-anchor="middle">{bytes_text(point.alive)}</text>'
    )


def _memory_table(memory: Sequence[MemoryPoint]) -> str:
    """The numbers of the chart, with the names of the calls."""
    head = "".join(f'<th scope="col">{heading}</th>' for heading in ("call", "function", "bytes"))
    rows = "".join(
        f'<tr><td class="figure">{number}</td><th scope="row">{escape(point.name)}</th>'
        f'<td class="figure">{point.alive:,}</td></tr>'
        for number, point in enumerate(memory, 1)
    )
    return (
        "<details><summary>The calls by number</summary>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></details>"
    )
