"""The dataflow of a schedule, or of functions of blocks, as inline SVG: stages and blocks as boxes,
reads as arrows. A stage that is computed in a loop of its reader is labeled, and its arrow is
dashed; inlined stages are faded. Must not know how boxes are placed.
"""

from __future__ import annotations

from html import escape
from typing import Any

from te_sched.errors import DeclarationError, kind_of
from te_sched.ir.graph import GraphFunction
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.schedule.schedule import Schedule
from te_sched.tensorir.schedule import BlockSchedule
from te_sched.views.graphs import (
    Graph,
    GraphBox,
    graph_of_blocks,
    graph_of_functions,
    graph_of_stages,
)
from te_sched.views.layers import Segment, place
from te_sched.views.notation import shortened
from te_sched.views.theme import colors

_LINE, _PAD, _CHAR = 16, 8, 7.3  # pixels: height of a line of text, padding, width of a letter
_LONGEST = 26  # letters of a label
_MARGIN = 6
_STYLE = (
    colors(".te-flow")
    + ".te-flow{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;max-width:none}"
    ".te-flow rect{fill:none;stroke:currentColor;stroke-width:1}"
    ".te-flow text{fill:currentColor}"
    ".te-flow .te-note{fill:var(--te-comment)}"
    ".te-flow path{fill:none;stroke:var(--te-line);stroke-width:1.2}"
    ".te-flow path.te-head{fill:var(--te-line);stroke:none}"
    ".te-flow path.te-at{stroke-dasharray:5 4}"
    ".te-flow .te-input rect{stroke-dasharray:2 2}"
    ".te-flow .te-output rect{stroke-width:2.5;stroke:var(--te-mark)}"
    ".te-flow .te-inlined rect{opacity:.5}"  # the text stays legible
)


def dataflow_svg(what: Schedule | BlockSchedule | PrimFunc | GraphFunction | IRModule) -> str:
    """The stages of a schedule, the outermost blocks of functions, or the bindings of graphs, and
    their reads, as one `<svg>` element.
    """
    graph = _graph_of(what)
    placed = place([_size(box) for box in graph.boxes], graph.reads)
    parts = [
        _arrow(
            segment, segment.reader is not None and (segment.box, segment.reader) in graph.attached
        )
        for segment in placed.segments
    ]
    parts += [_drawn(box, *corner) for box, corner in zip(graph.boxes, placed.corners, strict=True)]
    return _svg(graph, parts, placed.width, placed.height)


def _graph_of(what: Any) -> Graph:
    if isinstance(what, Schedule):
        return graph_of_stages(what)
    if isinstance(what, BlockSchedule):
        what = what.mod
    if isinstance(what, GraphFunction):
        return graph_of_functions([what])
    if isinstance(what, IRModule):
        graphs = [func for func in what.functions.values() if isinstance(func, GraphFunction)]
        if graphs:
            return graph_of_functions(graphs)
    if isinstance(what, PrimFunc | IRModule):
        functions = [what] if isinstance(what, PrimFunc) else what.functions.values()
        return graph_of_blocks(functions)
    raise DeclarationError(
        f"cannot make a dataflow of {kind_of(what)}",
        "it has no stages and no blocks",
        "give a schedule, a function of blocks, or a graph",
    )


def _labels(box: GraphBox) -> list[str]:
    return [shortened(label, _LONGEST) for label in box.labels]


def _size(box: GraphBox) -> tuple[float, float]:
    labels = _labels(box)
    return (max(map(len, labels)) * _CHAR + 2 * _PAD, len(labels) * _LINE + 2 * _PAD - 4)


def _drawn(box: GraphBox, x: float, y: float) -> str:
    width, height = _size(box)
    round_corners = ' rx="9"' if box.kind in ("input", "output") else ' rx="2"'
    lines = "".join(
        f'<text x="{_n(x + _PAD)}" y="{_n(y + _PAD + 8 + at * _LINE)}"'
        f"{_label_style(at)}>{escape(label)}</text>"
        for at, label in enumerate(_labels(box))
    )
    title = "\n".join(box.labels)
    return (
        f'<g class="te-{box.kind}" data-stages="{escape(box.stage)}">'
        f"<title>{escape(title)}</title>"
        f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"{round_corners}/>'
        f"{lines}</g>"
    )


def _label_style(at: int) -> str:
    return ' font-weight="bold"' if at == 0 else ' class="te-note"'


def _arrow(part: Segment, is_attached: bool) -> str:
    (x, y), (to_x, to_y) = part.start, part.end
    half = (x + to_x) / 2
    curve = " ".join(map(_n, (half, y, half, to_y, to_x, to_y)))
    line, head = f"M{_n(x)} {_n(y)}C{curve}", ""
    if part.reader is None:
        line += f"H{_n(part.beyond[0])}"
    else:
        head = f'<path class="te-head" d="M{_n(to_x)} {_n(to_y)}l-7 -4v8z"/>'
    kind = ' class="te-at"' if is_attached else ""
    return f'<path{kind} d="{line}"/>{head}'


def _svg(graph: Graph, parts: list[str], width: float, height: float) -> str:
    names = ", ".join(graph.outputs)
    box_names = [box.name for box in graph.boxes]
    said = "; ".join(
        f"{name} reads {', '.join(box_names[number] for number in read)}"
        for name, read in zip(box_names, graph.reads, strict=True)
        if read
    )
    view = f"{-_MARGIN} {-_MARGIN} {_n(width + 2 * _MARGIN)} {_n(height + 2 * _MARGIN)}"
    size = f'width="{_n(width + 2 * _MARGIN)}" height="{_n(height + 2 * _MARGIN)}"'
    title = escape(f"Dataflow of {names}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="te-flow" role="img" '
        f'aria-label="{title}" viewBox="{view}" {size}>'
        f"<title>{title}</title><desc>{escape(said)}</desc><style>{_STYLE}</style>"
        f"{''.join(parts)}</svg>"
    )


def _n(value: float) -> str:
    """A coordinate, short."""
    return f"{value:.1f}".removesuffix(".0")
