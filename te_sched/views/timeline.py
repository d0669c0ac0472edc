"""The timeline of a call of a graph, as inline SVG: a bar for each function that it calls.

Must not know how calls are timed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from te_sched.views.notation import shortened
from te_sched.views.theme import colors

_ROW, _BAR, _EDGE = 22, 14, 8  # pixels: the distance of rows, height of a bar, above and below
_NAMES, _TIMES, _AXIS = 300, 76, 40  # the names, the times behind bars, the axis below
_NARROW = 600  # the width below which names are above their bars
_CHAR = 7.3  # width of a letter
_STYLE = (
    colors(".te-timeline")
    + ".te-timeline{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;max-width:none}"
    ".te-timeline text{fill:currentColor}"
    ".te-timeline .te-note{fill:var(--te-comment)}"
    ".te-timeline rect{fill:var(--te-number)}"
    ".te-timeline path{fill:none;stroke:var(--te-line)}"
)


@dataclass(frozen=True)
class TimedCall:
    """A call of the timeline: its name, when it starts, how long it takes, in microseconds."""

    name: str
    start: float
    duration: float
    shapes: str


def timeline_svg(calls: Sequence[TimedCall], whole: float | None = None, width: float = 900) -> str:
    """The calls one below the other, each as a bar from its start to its end, over an axis of time.

    Parameters
    ----------
    calls : in the order of time.
    whole : the microseconds of the picture's width; the end of the last call by default.
    width : the pixels of the picture; a narrow one has the names above their bars.

    >>> from te_sched.views.timeline import TimedCall, timeline_svg
    >>> picture = timeline_svg([TimedCall("add", 0.0, 2.0, ""), TimedCall("exp", 2.0, 6.0, "")])
    >>> picture.count("<rect")
    2
    """
    ends = max((call.start + call.duration for call in calls), default=0.0)
    drawing = _Drawing(width, whole or ends or 1.0, len(calls))
    parts = [*drawing.axis(), *(drawing.row(call, at) for at, call in enumerate(calls))]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="te-timeline" role="img" '
        f'aria-label="Timeline of a call" viewBox="0 0 {width:g} {drawing.height}" '
        f'width="{width:g}" height="{drawing.height}"><title>Timeline of a call</title>'
        f"<style>{_STYLE}</style>{''.join(parts)}</svg>"
    )


def round_steps(high: float, most: int, base: float = 10.0) -> list[float]:
    """Round numbers from 0 to `high`, at most `most` of them above 0: multiples of 1, 2 or 5 times
    a power of ten, or, for bytes, of a power of the base 2.
    """
    if high <= 0:
        return [0.0]
    power = base ** math.floor(math.log(high / most, base))
    step = next(
        digit * power
        for digit in ((1, 2, 5, 10, 20) if base == 10 else (1, 2, 4))
        if high < (most + 1) * digit * power
    )
    return [number * step for number in range(int(high / step + 1e-9) + 1)]


class _Drawing:
    """The parts of a timeline of a width and a number of microseconds."""

    def __init__(self, width: float, whole: float, count: int) -> None:
        self.is_narrow = width < _NARROW
        self.left = _EDGE if self.is_narrow else _NAMES
        self.lines = 2 if self.is_narrow else 1  # of a row
        self.span = width - self.left - _TIMES
        self.whole = whole
        self.bottom = _EDGE + _ROW * self.lines * count
        self.height = self.bottom + _AXIS
        letters = (width - 2 * _EDGE if self.is_narrow else _NAMES - 10) / _CHAR
        self.longest = int(letters)  # of a name

    def x(self, time: float) -> float:
        """The position of a time."""
        return self.left + self.span * time / self.whole

    def axis(self) -> Iterator[str]:
        """A line below the bars, with round times below it."""
        y = self.bottom + 2
        yield f'<path d="M{self.left} {y}H{self.x(self.whole):.1f}"/>'
        for time in round_steps(self.whole, max(2, int(self.span / 110))):
            x = self.x(time)
            yield f'<path d="M{x:.1f} {y}v4"/>'
            yield (
                f'<text x="{x:.1f}" y="{y + 16}" text-anchor="middle" class="te-note">'
                f"{time:g}</text>"
            )
        yield (
            f'<text x="{self.left}" y="{y + 32}" class="te-note">'
            "\N{MICRO SIGN}s since the call began</text>"
        )

    def row(self, call: TimedCall, at: int) -> str:
        """A call: its name, and a bar with its time."""
        y = _EDGE + _ROW * self.lines * at
        name = escape(shortened(call.name, self.longest))
        attributes = f'x="{self.left - 10}" y="{y + 15}" text-anchor="end"'
        if self.is_narrow:
            attributes = f'x="{self.left}" y="{y + 15}"'
            y += _ROW - 3
        left, width = self.x(call.start), max(1.0, self.span * call.duration / self.whole)
        time = f"{call.duration:.1f} \N{MICRO SIGN}s"
        return (
            f"<text {attributes}>{name}</text>"
            f'<rect x="{left:.1f}" y="{y + 4}" width="{width:.1f}" height="{_BAR}">'
            f"<title>{escape(call.name)}: {time} ({escape(call.shapes)})</title></rect>"
            f'<text x="{left + width + 5:.1f}" y="{y + 15}" class="te-note">{time}</text>'
        )
