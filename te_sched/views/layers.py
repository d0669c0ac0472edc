"""Layered layout of the boxes of a graph, from left to right, each box after all that it reads.

Long edges pass through points in the layers between, so that they do not cross boxes. The layout is
deterministic. Must not know the content of boxes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import add, sub

_GAP_X, _GAP_Y = 46, 14  # between layers, between boxes of a layer
_SWEEPS = 4
_MOST_POINTS = 2000  # beyond these, edges go straight


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the edges from `box`: a curve from one layer to the next, from `start` to `end`.

    It ends at the box `reader`, or, if that is None, continues in a straight line to `beyond`.
    """

    box: int
    reader: int | None
    start: tuple[float, float]
    end: tuple[float, float]
    beyond: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Placed:
    """The corner of each box, the parts of all edges, and the size of the whole."""

    corners: tuple[tuple[float, float], ...]
    segments: tuple[Segment, ...]
    width: float
    height: float


def place(sizes: Sequence[tuple[float, float]], reads: Sequence[Sequence[int]]) -> Placed:
    """Positions for boxes of given sizes; `reads` has the numbers of the boxes that each box reads,
    which are smaller than its own.
    """
    return _Layout(sizes, reads).placed()


class _Layout:
    def __init__(
        self, sizes: Sequence[tuple[float, float]], reads: Sequence[Sequence[int]]
    ) -> None:
        self.sizes = list(sizes)  # of boxes, then of points
        self.reads = reads
        self.count = len(self.sizes)
        self.layer = _layers(reads)
        self.points: dict[tuple[int, int], int] = {}  # (box, layer): the point of its edges there
        self._add_points()
        self.before: list[list[int]] = [[] for _ in self.sizes]
        self.after: list[list[int]] = [[] for _ in self.sizes]
        self.parts: dict[tuple[int, int], int] = {}  # of edges, and the box that they start at
        self._connect()

    def _add_points(self) -> None:
        for reader, read in enumerate(self.reads):
            for box in read:
                for layer in range(self.layer[box] + 1, self.layer[reader]):
                    if (box, layer) not in self.points and len(self.points) < _MOST_POINTS:
                        self.points[box, layer] = len(self.sizes)
                        self.sizes.append((0, 4))
                        self.layer.append(layer)

    def _connect(self) -> None:
        """Draw edges from each box through its points to its readers; common parts are drawn
        once."""
        for reader, read in enumerate(self.reads):
            for box in read:
                between = range(self.layer[box] + 1, self.layer[reader])
                points = [(box, layer) for layer in between if (box, layer) in self.points]
                for pair in pairwise([box, *(self.points[key] for key in points), reader]):
                    if pair not in self.parts:
                        self.parts[pair] = box
                        self.after[pair[0]].append(pair[1])
                        self.before[pair[1]].append(pair[0])

    def placed(self) -> Placed:
        """The positions of all items."""
        rows: list[list[int]] = [[] for _ in range(max(self.layer, default=-1) + 1)]
        for item, layer in enumerate(self.layer):
            rows[layer].append(item)
        middles = self._sorted(rows)
        halves = [size[1] / 2 for size in self.sizes]
        top = min(map(sub, middles, halves), default=0)
        bottom = max(map(add, middles, halves), default=0)
        widest = [max(self.sizes[item][0] for item in row) for row in rows]
        lefts = [0.0, *accumulate(width + _GAP_X for width in widest)]

        def side(item: int, right: bool) -> tuple[float, float]:
            """The middle of a side of a box; points are as wide as their layer."""
            layer = self.layer[item]
            width = self.sizes[item][0] if item < self.count else widest[layer]
            left = lefts[layer] + (widest[layer] - width) / 2
            return left + width * right, middles[item] - top

        corners = [(x, y - halves[box]) for box in range(self.count) for x, y in [side(box, False)]]
        segments = [
            Segment(
                box,
                end if end < self.count else None,
                side(start, True),
                side(end, False),
                side(end, True),
            )
            for (start, end), box in self.parts.items()
        ]
        return Placed(tuple(corners), tuple(segments), max(lefts[-1] - _GAP_X, 0), bottom - top)

    def _sorted(self, rows: list[list[int]]) -> list[float]:
        """Order each layer by its neighbors; the heights of the middles of all items."""
        middles = [0.0] * len(self.sizes)
        for row in rows:
            self._stack(row, middles)
        for sweep in range(_SWEEPS):
            neighbors = self.before if sweep % 2 == 0 else self.after
            for row in rows if sweep % 2 == 0 else reversed(rows):
                wish = {item: _mean(neighbors[item], middles, middles[item]) for item in row}
                row.sort(key=lambda item: wish[item])
                self._stack(row, middles, wish)
        return middles

    def _stack(
        self, row: list[int], middles: list[float], wish: dict[int, float] | None = None
    ) -> None:
        """Place the items of a layer below each other, with the mean of their wanted heights."""
        total = sum(self.sizes[item][1] + _GAP_Y for item in row) - _GAP_Y
        wished = sum(wish.values()) / len(wish) if wish else 0.0
        height = wished - total / 2
        for item in row:
            middles[item] = height + self.sizes[item][1] / 2
            height += self.sizes[item][1] + _GAP_Y


def _mean(items: list[int], middles: list[float], otherwise: float) -> float:
    return sum(middles[item] for item in items) / len(items) if items else otherwise


def _layers(reads: Sequence[Sequence[int]]) -> list[int]:
    """The layer of each box: after all that it reads; boxes that read nothing just before the
    first that reads them.
    """
    layer: list[int] = []
    for read in reads:
        layer.append(max((layer[box] + 1 for box in read), default=0))
    first: dict[int, int] = {}
    for reader, read in enumerate(reads):
        for box in read:
            first[box] = min(first.get(box, layer[reader]), layer[reader])
    return [
        first[box] - 1 if box in first and not reads[box] else layer[box]
        for box in range(len(reads))
    ]
