"""The loop nest as HTML: a tree to fold, with the working set of each loop in columns. The accesses
of each loop to each buffer are a separate table, which `texts.js` puts below the tree. Must
not know how the figures are computed.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from te_sched.story.machine import fitting_cache
from te_sched.story.model import Figures, LoopRow, Traffic
from te_sched.story.page_texts import StageIds, bytes_text, count_text, factor_text, marks

_HEADS = ("one iteration", "whole loop", "reuse")
_TERMS = {
    "one iteration": "working set: bytes of distinct elements that one iteration of the loop reads "
    "or writes, and the cache of this machine that holds them",
    "whole loop": "bytes of distinct elements that all iterations together read or write",
    "reuse": "loads and stores for each distinct element of the whole loop",
    "accesses": "loads and stores of elements in all iterations",
    "operations": "arithmetic on values in all iterations",
    "operations per byte": "arithmetic intensity: operations per byte of the whole loop",
}
_TABLE_HEADS = ("loop or buffer", *_HEADS, "accesses", "operations", "operations per byte")
_BELOW = (
    '<p class="note">Bytes of distinct elements that one iteration of a loop touches, with the '
    "smallest cache that holds them, and those of the whole loop; reuse is how often each is "
    "loaded or stored.</p>"
    '<details class="more only-script"><summary>Figures by loop and buffer</summary>'
    '<div class="wide" tabindex="0" role="group" '
    'aria-label="Figures by loop and buffer"></div></details>'
)


Caches = tuple[tuple[str, int], ...]  # their names and bytes


def nest_html(rows: tuple[LoopRow, ...], stages: StageIds, caches: Caches = ()) -> str:
    """The tree of a nest; if it has figures, what they are, and an element for their table."""
    has_figures = any(row.figures is not None for row in rows)
    heads = "<span></span>" + "".join(
        f'<span title="{escape(_TERMS[head])}">{head}</span>' for head in _HEADS
    )
    first = f'<div class="heads" aria-hidden="true">{heads}</div>' if has_figures else ""
    plain = "" if has_figures else " plain"
    tree = "".join(_tree(rows, stages, has_figures, caches))
    return f'<div class="nest scroll{plain}">{first}{tree}</div>{_BELOW if has_figures else ""}'


def _tree(
    rows: tuple[LoopRow, ...], stages: StageIds, has_figures: bool, caches: Caches
) -> Iterable[str]:
    open_depths: list[int] = []
    for index, row in enumerate(rows):
        while open_depths and open_depths[-1] >= row.depth:
            open_depths.pop()
            yield "</details>"
        bare = "" if row.figures is not None else " bare"
        attributes = f'class="row {row.kind}{bare}" style="--depth:{row.depth}"'
        attributes += marks(row, stages, row.lines)
        inside = f'<span class="what">{_text(row)}</span>'
        inside += _columns(row.figures, caches) if has_figures else ""
        if index + 1 < len(rows) and rows[index + 1].depth > row.depth:
            open_depths.append(row.depth)
            yield f"<details open><summary {attributes}>{inside}</summary>"
        else:
            yield f"<div {attributes}>{inside}</div>"
    yield "</details>" * len(open_depths)


def _text(row: LoopRow) -> str:
    if row.kind == "block":
        name, gap, rest = row.text.partition("  ")
        return f"<b>{escape(name)}</b>{escape(gap + rest)}"
    text = escape(row.text)
    word = escape(row.annotation)
    if word and text.startswith(f"{word} "):
        return f'<span class="annotation">{word}</span>{text[len(word) :]}'
    return text


def _columns(figures: Figures | None, caches: Caches) -> str:
    """The figures of a row; the style sheet names each of them to screen readers."""
    if figures is None:
        return ""
    level = fitting_cache(figures.iteration, caches)
    title = f"one iteration fits {level}" if level != "memory" else "one iteration fits no cache"
    mark = f' <small class="cache {level.lower()}" title="{title}">{level}</small>' if level else ""
    texts = (bytes_text(figures.whole), factor_text(figures.reuse))
    first = f"<i>{bytes_text(figures.iteration) or '?'}{mark}</i>"
    return "".join([first, *(f"<i>{text or '?'}</i>" for text in texts)])


def figures_html(rows: tuple[LoopRow, ...]) -> str:
    """The table of the accesses of each loop to each buffer; empty if there are no figures."""
    body = "".join(
        _row(_name(row), row.figures)
        + "".join(_traffic(traffic) for traffic in row.figures.buffers)
        for row in rows
        if row.figures is not None
    )
    head = "".join(
        f'<th scope="col" title="{escape(_TERMS.get(head, ""))}">{head}</th>'
        for head in _TABLE_HEADS
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if body else ""


def _name(row: LoopRow) -> str:
    """The label of a row in the table: for a function its name."""
    return row.text.partition("(")[0] if row.kind == "function" else row.text


def _row(name: str, figures: Figures) -> str:
    note = f' <span class="note">{escape(figures.note)}</span>' if figures.note else ""
    head = f'<th scope="row"><code>{escape(name)}</code>{note}</th>'
    cells = _cells(figures, None, figures.operations, figures.intensity)
    return f'<tr class="loop">{head}{cells}</tr>'


def _traffic(traffic: Traffic) -> str:
    name = f"<code>{escape(traffic.buffer)}</code>"
    cells = _cells(traffic, traffic.accesses, None, None)
    return f'<tr><th scope="row" class="of">{name}</th>{cells}</tr>'


def _cells(figures: Figures | Traffic, *counts: float | None) -> str:
    texts = [bytes_text(figures.iteration), bytes_text(figures.whole), factor_text(figures.reuse)]
    texts += map(count_text, counts)
    return "".join(f"<td>{text}</td>" for text in texts)
