"""Plain tables for a terminal: columns aligned. Must not know what they hold."""

from __future__ import annotations

from collections.abc import Sequence

from te_sched.signatures import checked


@checked
def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """The rows under their header, a rule between; columns whose index is in `right` end flush.

    The cells of a header may have several lines, the same number in each.

    >>> print(table(["name", "ms"], [["fuse", "1.25"], ["split", "10.5"]], right=[1]))
    name     ms
    -----------
    fuse   1.25
    split  10.5
    """
    heads = [list(line) for line in zip(*(cell.split("\n") for cell in header), strict=True)]
    lines = [*heads, *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = ["  ".join(_pad(line, widths, right)).rstrip() for line in lines]
    texts.insert(len(heads), "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(texts)


def _pad(cells: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> list[str]:
    return [
        cell.rjust(width) if index in right else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
