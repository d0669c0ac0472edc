"""The page of a graph: its picture after each pass, the timeline of a call, memory over time.

Must not know how graphs are transformed or run.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from te_sched.story.page import asset, page_template, policy
from te_sched.views.dataflow import dataflow_svg
from te_sched.views.highlight import css
from te_sched.views.timeline import timeline_svg

if TYPE_CHECKING:
    from te_sched.story.graph import GraphReport, GraphStage

_WIDTH, _HEIGHT = 900, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 20, 30  # margins
_MOST_BOXES = 200  # of a picture; larger graphs are tables
_MOST_CALLS = 60  # of a timeline


def graph_html(report: GraphReport) -> str:
    """A report as one HTML file without scripts; nothing is loaded from elsewhere."""
    sections = [_passes(report), _timeline(report), _memory(report)]
    return page_template("tuning.html").substitute(
        title=escape(f"Graph {report.name}"),
        generator="te_sched",
        policy=policy(),
        style=f"{asset('style.css')}\n{asset('tuning.css')}\n{css('.code')}",
        subtitle=(
            f"for <code>{escape(str(report.target))}</code> &middot; "
            f"{report.seconds * 1e6:.1f} &micro;s a call"
        ),
        sections="\n".join(filter(None, sections)),
        footer="<p>Made by te_sched.story.graph.graph_report.</p>",
    )


def _section(anchor: str, title: str, body: str) -> str:
    return f'<section aria-labelledby="{anchor}"><h2 id="{anchor}">{title}</h2>{body}</section>'


def _passes(report: GraphReport) -> str:
    first, *others = report.stages
    *middle, last = others or [first]
    parts = [_stage(first, True)]
    parts += [_stage(one, False) for one in middle]
    if others:
        parts.append(_stage(last, True))
    return _section("passes", "After each pass", "".join(parts))


def _stage(stage: GraphStage, is_open: bool) -> str:
    count = sum(stage.calls.values())
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td class="figure">{times}</td></tr>'
        for name, times in stage.calls.items()
    )
    picture = dataflow_svg(stage.module) if count <= _MOST_BOXES else ""
    return (
        f"<details{' open' if is_open else ''}><summary>{escape(stage.name)}: {count} calls"
        f'</summary><div class="picture">{picture}</div>'
        f"<table><tbody>{rows}</tbody></table></details>"
    )


def _timeline(report: GraphReport) -> str:
    kernels = report.kernels[:_MOST_CALLS]
    if not kernels:
        return ""
    note = "One kernel after another, each with its time; gaps are checks and allocations."
    body = f'<p class="note">{note}</p><div class="picture">{timeline_svg(kernels)}</div>'
    return _section("timeline", "Timeline of a call", body)


def _memory(report: GraphReport) -> str:
    if not report.peak:
        return ""
    count = len(report.memory)
    parts = list(_steps(report, count))
    chart = (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="Bytes of intermediate values over the calls">{"".join(parts)}</svg>'
    )
    note = f"At most {report.peak / 1024:.1f} KiB of intermediate values and results are alive."
    return _section("memory", "Memory over time", f'<p class="note">{note}</p>{chart}')


def _steps(report: GraphReport, count: int) -> Iterator[str]:
    width = (_WIDTH - _LEFT - _RIGHT) / max(count, 1)
    for place, one in enumerate(report.memory):
        height = (_HEIGHT - _TOP - _BOTTOM) * one.alive / report.peak
        yield (
            f'<rect class="bar" x="{_LEFT + place * width:.1f}" '
            f'y="{_HEIGHT - _BOTTOM - height:.1f}" width="{max(width - 1, 0.5):.1f}" '
            f'height="{height:.1f}"><title>{escape(one.name)}: {one.alive} bytes</title></rect>'
        )
    top = f"{report.peak / 1024:.1f} KiB"
    yield f'<text x="{_LEFT - 6}" y="{_TOP + 4}" text-anchor="end">{top}</text>'
    yield f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 5}" text-anchor="end">call</text>'
