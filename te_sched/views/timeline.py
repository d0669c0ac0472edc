"""The timeline of a call of a graph, as inline SVG: a bar for each function that it calls.

Must not know how calls are timed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from te_sched.views.notation import shortened
from te_sched.views.theme import colors

_WIDTH, _ROW, _BAR = 900, 22, 14  # pixels: the picture, the distance of rows, height of a bar
_LEFT, _RIGHT, _EDGE = 300, 70, 8  # the names, the times, above and below
_LONGEST = 38  # letters of a name
_STYLE = (
    colors(".te-timeline")
    + ".te-timeline{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;max-width:100%}"
    ".te-timeline text{fill:currentColor}"
    ".te-timeline .te-note{fill:var(--te-comment)}"
    ".te-timeline rect{fill:var(--te-number)}"
)


@dataclass(frozen=True)
class TimedCall:
    """A call of the timeline: its name, when it starts, how long it takes, in microseconds."""

    name: str
    start: float
    duration: float
    shapes: str


def timeline_svg(calls: Sequence[TimedCall], whole: float | None = None) -> str:
    """The calls one below the other, each as a bar from its start to its end.

    Parameters
    ----------
    calls : in the order of time.
    whole : the microseconds of the picture's width; the end of the last call by default.

    >>> from te_sched.views.timeline import TimedCall, timeline_svg
    >>> picture = timeline_svg([TimedCall("add", 0.0, 2.0, ""), TimedCall("exp", 2.0, 6.0, "")])
    >>> picture.count("<rect")
    2
    """
    ends = max((one.start + one.duration for one in calls), default=0.0)
    scale = (_WIDTH - _LEFT - _RIGHT) / (whole or ends or 1.0)
    height = 2 * _EDGE + _ROW * len(calls)
    rows = "".join(_row(one, _EDGE + _ROW * at, scale) for at, one in enumerate(calls))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="te-timeline" role="img" '
        f'aria-label="Timeline of a call" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}"><title>Timeline of a call</title><style>{_STYLE}</style>{rows}</svg>'
    )


def _row(call: TimedCall, y: int, scale: float) -> str:
    left, width = _LEFT + scale * call.start, max(1.0, scale * call.duration)
    time = f"{call.duration:.1f} us"
    return (
        f'<text x="{_LEFT - 10}" y="{y + 15}" text-anchor="end">'
        f"{escape(shortened(call.name, _LONGEST))}</text>"
        f'<rect x="{left:.1f}" y="{y + 4}" width="{width:.1f}" height="{_BAR}">'
        f"<title>{escape(call.name)}: {time} ({escape(call.shapes)})</title></rect>"
        f'<text x="{left + width + 5:.1f}" y="{y + 15}" class="te-note">{time}</text>'
    )
