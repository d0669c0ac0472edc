"""Parts that the charts of pages share: a chart for screens and one for phones, and legends.

Must not know what charts show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape

WIDE, NARROW = 900, 358  # pixels: what a screen and a phone have
_LETTER = 6.6  # pixels of a letter of a chart


def both_widths(draw: Callable[[int], str]) -> str:
    """A chart drawn for screens and for phones, of which `tuning.css` shows the one that fits."""
    return (
        f'<div class="picture for-screens">{draw(WIDE)}</div>'
        f'<div class="picture for-phones">{draw(NARROW)}</div>'
    )


def legend(*entries: tuple[str, str]) -> str:
    """What the marks of a chart mean: the SVG of each, 24 x 12 pixels, and its words."""
    items = "".join(
        f'<li><svg class="chart key" viewBox="0 0 24 12" width="24" height="12" '
        f'aria-hidden="true">{mark}</svg>{escape(words)}</li>'
        for mark, words in entries
    )
    return f'<ul class="legend">{items}</ul>'


@dataclass(frozen=True)
class ChartFrame:
    """A chart's size, and the margins around what it plots."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int

    @property
    def end(self) -> int:
        """The right edge of the plot."""
        return self.width - self.right

    @property
    def floor(self) -> int:
        """The lower edge of the plot."""
        return self.height - self.bottom

    def svg(self, label: str, *parts: str) -> str:
        """The chart."""
        return (
            f'<svg class="chart" viewBox="0 0 {self.width} {self.height}" role="img" '
            f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
        )

    def level(self, y: float, words: str) -> str:
        """A line of the grid with its value at the left."""
        return (
            f'<path class="grid" d="M{self.left} {y:.1f}H{self.end}"/>'
            f'<text x="{self.left - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(words)}</text>'
        )

    def numbers(self, count: int, x: Callable[[int], float], what: str) -> Iterator[str]:
        """Numbers from 1 to `count` below the plot, as many as fit, over what they number."""
        room = (len(str(count)) + 2) * _LETTER
        most = max(1, (self.end - self.left) / room)
        step = next(
            digit * 10**power
            for power in range(12)
            for digit in (1, 2, 5)
            if count <= most * digit * 10**power
        )
        for number in sorted({1, *range(step, count + 1, step)}):
            if number == 1 or x(number) - x(1) >= room or step == 1:
                yield (
                    f'<text x="{x(number):.1f}" y="{self.floor + 16}" '
                    f'text-anchor="middle">{number}</text>'
                )
        yield f'<text x="{self.end}" y="{self.floor + 34}" text-anchor="end">{what}</text>'
