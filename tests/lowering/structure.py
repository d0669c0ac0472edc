"""The loops of a program as one line: `i.outer*32, j` for nested loops, `[a; b]` for a sequence."""

from __future__ import annotations

from typing import Any

import te_sched
from te_sched.ir import stmt as S

_MARKS = {"serial": "", "parallel": "parallel ", "vectorized": "vector ", "unrolled": "unrolled "}


def structure(schedule: Any, args: Any, stop_after: str | None = None) -> str:
    """The loop nest of a schedule after lowering (or after a pass)."""
    module = te_sched.lower(schedule, args, simple_mode=True, stop_after=stop_after)
    return text(module["main"].body)


def text(node: Any) -> str:
    """The loops of a statement."""
    kind = type(node)
    if kind is S.For:
        return _then(f"{_MARKS[node.kind]}{node.loop_var.name}*{node.extent}", text(node.body))
    if kind is S.AttrStmt and node.key == "thread_extent":
        return _then(f"{node.node.thread_tag}*{node.value}", text(node.body))
    if kind is S.SeqStmt:
        return "[" + "; ".join(text(part) for part in node.seq) + "]"
    if kind is S.IfThenElse:
        return _then("if", text(node.then_case))
    if kind is S.BufferStore:
        return node.buffer.name
    if hasattr(node, "body"):
        return text(node.body)
    return kind.__name__


def _then(outer: str, inner: str) -> str:
    return f"{outer} {inner}"
