"""The lines of a loop tree, and two drawings of them. Must not know the source of lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from te_sched.signatures import checked

_STYLE = """\
.te-tree{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-x:auto}
.te-tree div,.te-tree summary{white-space:pre;padding-left:1.1em;list-style:none;position:relative}
.te-tree summary{cursor:pointer}
.te-tree summary::-webkit-details-marker{display:none}
.te-tree summary::before{content:"\\25b8";position:absolute;left:0;opacity:.6}
.te-tree details[open]>summary::before{content:"\\25be"}
.te-tree details>:not(summary){margin-left:1.1em}
.te-tree .te-function,.te-tree .te-stage,.te-tree .te-block{font-weight:600}
.te-tree .te-memory{opacity:.75}
.te-tree .te-guard,.te-tree .te-other,.te-tree .te-note{font-style:italic;opacity:.85}
"""


@dataclass(frozen=True, slots=True)
class TreeLine:
    """One line of a loop tree. `kind` is "function", "stage", "block", "loop", "thread", "memory",
    "guard", "compute", "note" (the reason why a loop is serial) or "other"; `stages` are the stages
    of the line; for a loop, `extent` is its length if it is constant, and `annotation` is
    "parallel", "vectorized", "unrolled", "threadIdx.x", ... or ""; `scope` and `nbytes` are those
    of memory; `node` is the node of the IR that the line shows, or, for a schedule that cannot be
    lowered, a stage or an axis.
    """

    depth: int
    kind: str
    text: str
    stages: tuple[str, ...] = ()
    extent: int | None = None
    annotation: str = ""
    scope: str = ""
    nbytes: int | None = None
    node: Any = None


@checked
def tree_text(lines: Sequence[TreeLine]) -> str:
    """The tree as plain text, drawn with lines."""
    drawn: list[str] = []
    open_below: list[bool] = []  # whether more siblings follow, at each depth above
    for line, has_sibling in zip(lines, _have_siblings(lines), strict=True):
        del open_below[line.depth :]
        bars = ["│  " if more else "   " for more in open_below[1:]]
        mark = "" if line.depth == 0 else "├─ " if has_sibling else "└─ "
        drawn.append("".join(bars) + mark + line.text)
        open_below.append(has_sibling)
    return "\n".join(drawn)


@checked
def tree_html(lines: Sequence[TreeLine]) -> str:
    """The tree as HTML with branches that fold without scripts."""
    parts = [f'<div class="te-tree"><style>{_STYLE}</style>']
    open_at: list[int] = []  # depths of the branches that are not closed yet
    for index, line in enumerate(lines):
        while open_at and open_at[-1] >= line.depth:
            open_at.pop()
            parts.append("</details>")
        has_children = index + 1 < len(lines) and lines[index + 1].depth > line.depth
        stages = f' data-stages="{escape(" ".join(line.stages))}"' if line.stages else ""
        attributes = f'class="te-{line.kind}"{stages}'
        if has_children:
            parts.append(f"<details open><summary {attributes}>{escape(line.text)}</summary>")
            open_at.append(line.depth)
        else:
            parts.append(f"<div {attributes}>{escape(line.text)}</div>")
    parts += ["</details>"] * len(open_at)
    return "".join(parts) + "</div>"


def _have_siblings(lines: Sequence[TreeLine]) -> Iterator[bool]:
    """For each line, whether a sibling follows."""
    answers: list[bool] = []
    seen: list[bool] = []  # from the end: whether a line of this depth was seen below this parent
    for line in reversed(lines):
        del seen[line.depth + 1 :]
        seen += [False] * (line.depth + 1 - len(seen))
        answers.append(seen[line.depth])
        seen[line.depth] = True
    return reversed(answers)
