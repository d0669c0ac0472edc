"""The program in the message of an error: its text, with the blocks and loops concerned underlined.

    # tir.For#0
    for i in range(128):
    ^^^^^^^^^^^^^^^^^^^^

Must not know any primitive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from te_sched.errors import ScheduleError, Subject
from te_sched.ir.blocks import Block
from te_sched.ir.printer.text import script
from te_sched.ir.stmt import For
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tensorir.state import BlockKey


def program_of(error: ScheduleError, schedule: Any, arguments: Iterable[Any]) -> Callable[[], str]:
    """What makes the text of a schedule's program, when the error of a primitive is printed."""
    near = [
        key
        for one in arguments
        if isinstance(one, BlockRV | LoopRV) and one.key in schedule.nodes
        for key in (one.key, *schedule.around(one.key))
    ]
    found: dict[Any, str] = {}
    counts = {Block: 0, For: 0}
    for subject in error.about:
        node = _node_of(subject, schedule, near)
        if node is not None and node not in found:
            kind = type(node)
            found[node] = f"tir.{kind.__name__}#{counts[kind]}"
            counts[kind] += 1
    return _text(schedule.mod, found)


def _node_of(subject: Any, schedule: Any, near: list[Any]) -> Any:
    """The block or loop of a subject; None where several have its name."""
    if not isinstance(subject, Subject) or subject.kind not in ("block", "loop"):
        return None
    is_block = subject.kind == "block"
    for keys in (near, schedule.nodes):
        named = {
            key for key in keys if key.name == subject.name and (type(key) is BlockKey) == is_block
        }
        if len(named) == 1:
            (key,) = named
            return schedule.block(key) if type(key) is BlockKey else schedule.loop(key)
    return None


def _text(module: Any, nodes: dict[Any, str]) -> Callable[[], str]:
    def text() -> str:
        shown = script(module, obj_to_annotate=nodes, syntax_sugar=False, show_meta=False)
        lines: list[str] = []
        comments = {f"# {name}" for name in nodes.values()}
        is_next = False
        for line in shown.splitlines():
            lines.append(line)
            if is_next:
                head = line.lstrip()
                lines.append(" " * (len(line) - len(head)) + "^" * len(head))
            is_next = line.strip() in comments
        return "\n".join(lines)

    return text
