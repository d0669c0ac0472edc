"""The dataflow of a schedule as inline SVG: stages as boxes, reads as arrows. A stage that is
attached to a loop of its reader is labelled, and its arrow is dashed; inlined stages are faded.
Must not know how boxes are placed.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from te_sched.errors import DeclarationError, kind_of
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.stage import AttachType, Stage
from te_sched.te.operation import PlaceholderOp, ScanOp
from te_sched.views.layers import Segment, place
from te_sched.views.notation import Notation, shortened
from te_sched.views.theme import colours

_LINE, _PAD, _CHAR = 16, 8, 7.3  # pixels: height of a line of text, padding, width of a letter
_LONGEST = 26  # letters of a label
_MARGIN = 6
_STYLE = (
    colours(".te-flow")
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


@dataclass(frozen=True, slots=True)
class _Box:
    stage: Stage
    kind: str  # "input", "output", "inlined", "stage"
    labels: tuple[str, ...]
    title: str

    @property
    def size(self) -> tuple[float, float]:
        longest = max(map(len, self.labels))
        return (longest * _CHAR + 2 * _PAD, len(self.labels) * _LINE + 2 * _PAD - 4)


def dataflow_svg(schedule: Schedule) -> str:
    """The stages of a schedule and their reads, as one `<svg>` element."""
    if not isinstance(schedule, Schedule):
        raise DeclarationError(
            f"cannot make a dataflow of {kind_of(schedule)}",
            "it has no stages",
            "give what te.create_schedule returned",
        )
    stages = list(schedule.stages)
    number = {stage.op: index for index, stage in enumerate(stages)}
    reads = [
        list(dict.fromkeys(number[t.op] for t in stage.op.input_tensors if t.op in number))
        for stage in stages
    ]
    order = _in_order(reads)
    stages = [stages[index] for index in order]
    position = {index: at for at, index in enumerate(order)}
    reads = [[position[box] for box in reads[index]] for index in order]
    states = {
        tensor.op
        for stage in stages
        if isinstance(stage.op, ScanOp)
        for tensor in stage.op.state_placeholder
    }
    boxes = [_box(stage, stage.op in states) for stage in stages]
    placed = place([box.size for box in boxes], reads)
    attached = [stage.attach_spec.attach_stage for stage in stages]
    parts = [
        _arrow(one, one.reader is not None and attached[one.box] is stages[one.reader])
        for one in placed.segments
    ]
    parts += [_drawn(box, *corner) for box, corner in zip(boxes, placed.corners, strict=True)]
    return _svg(schedule, boxes, reads, parts, placed.width, placed.height)


def _in_order(reads: list[list[int]]) -> list[int]:
    """The numbers of the stages, each after those that it reads."""
    done: dict[int, None] = {}
    for root in range(len(reads)):
        stack = [(root, False)]
        while stack:
            item, is_ready = stack.pop()
            if is_ready:
                done[item] = None
            elif item not in done:
                stack.append((item, True))
                stack += [(below, False) for below in reversed(reads[item]) if below not in done]
    return list(done)


def _box(stage: Stage, is_state: bool) -> _Box:
    op = stage.op
    shape = ", ".join(map(Notation().text, op.output(0).shape))
    kind, note = "stage", ""
    spec = stage.attach_spec
    if is_state:
        note = "state of a scan"
    elif isinstance(op, PlaceholderOp):
        kind = note = "input"
    elif stage.attach_type in (AttachType.INLINE, AttachType.INLINED_ALREADY):
        kind = note = "inlined"
    elif spec.attach_stage is not None and spec.attach_ivar is not None:
        note = f"at {spec.attach_stage.origin_op.name}: {spec.attach_ivar.var.name}"
    elif spec.attach_stage is not None:
        note = f"in the loop of {spec.attach_stage.origin_op.name}"
    elif stage.is_output:
        kind = note = "output"
    notes = [note] if note else []
    notes += [f"in {stage.scope}"] if stage.scope else []
    labels = (stage.origin_op.name, f"{op.output(0).dtype}[{shape}]", *notes)
    return _Box(stage, kind, tuple([shortened(one, _LONGEST) for one in labels]), "\n".join(labels))


def _drawn(box: _Box, x: float, y: float) -> str:
    width, height = box.size
    round_corners = ' rx="9"' if box.kind in ("input", "output") else ' rx="2"'
    lines = "".join(
        f'<text x="{_n(x + _PAD)}" y="{_n(y + _PAD + 8 + at * _LINE)}"'
        f"{_label_style(at)}>{escape(label)}</text>"
        for at, label in enumerate(box.labels)
    )
    return (
        f'<g class="te-{box.kind}" data-stages="{escape(box.stage.origin_op.name)}">'
        f"<title>{escape(box.title)}</title>"
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


def _svg(
    schedule: Schedule,
    boxes: list[_Box],
    reads: list[list[int]],
    parts: list[str],
    width: float,
    height: float,
) -> str:
    names = ", ".join([op.name for op in schedule.outputs])
    known = [box.stage.origin_op.name for box in boxes]
    said = "; ".join(
        f"{name} reads {', '.join(known[one] for one in read)}"
        for name, read in zip(known, reads, strict=True)
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
