"""The program in the message of an error: the lines near the blocks and loops concerned, which are
underlined.

    ...
    for j in range(64):
        for k in range(64):
        ^^^^^^^^^^^^^^^^^^^
            with T.block("C"):
            ^^^^^^^^^^^^^^^^^^
                vi = T.axis.spatial(64, i)
    ...

Must not know any primitive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from te_sched.errors import ScheduleError, Subject
from te_sched.ir.printer.text import script
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tensorir.state import BlockKey, Key

_LINES_AROUND, _LINES_AFTER = 2, 2  # that are shown of each underlined line
_ROOT = 'with T.block("root"):'
_MARK = "# concerned"


def keys_of(error: ScheduleError, schedule: Any, arguments: Iterable[Any]) -> list[Key | None]:
    """The block or loop of each subject of the error of a primitive, or None."""
    keys = [handle.key for handle in arguments if isinstance(handle, BlockRV | LoopRV)]
    concerned: list[Key | None] = []
    for subject in error.about:
        concerned.append(_key_of(subject, schedule, keys, concerned))
    return concerned


def show_program(error: ScheduleError, schedule: Any, concerned: Iterable[Key | None]) -> None:
    """Let the error of a primitive show an excerpt of the schedule's program when it is printed, to
    programs of TVM all of it; not for errors that are about no block or loop of the program.
    """
    nodes = [
        schedule.block(key) if type(key) is BlockKey else schedule.loop(key)
        for key in dict.fromkeys(concerned)
        if key is not None
    ]
    if nodes:
        error.program = partial(_near, schedule.mod, nodes)
        error.in_tvm = error.in_tvm or partial(_in_tvm, schedule.mod, nodes)


def _key_of(subject: Any, schedule: Any, keys: list[Key], used: Sequence[Key | None]) -> Key | None:
    """The block or loop of a subject: among the arguments of the primitive, then what is around
    them, then the program, where a single one must have the name.
    """
    if not isinstance(subject, Subject) or subject.kind not in ("block", "loop"):
        return None

    def is_named(key: Key) -> bool:
        is_block = type(key) is BlockKey
        return bool(key.name == subject.name) and is_block == (subject.kind == "block")

    own = [key for key in keys if is_named(key)]
    present = [key for key in own if key in schedule.nodes]
    if own:
        return next((key for key in present if key not in {*used}), None)
    inside = (key for key in keys if key in schedule.nodes)
    around = {key for inner_key in inside for key in schedule.around(inner_key)}
    for others in (around, schedule.nodes):
        named: list[Key] = [key for key in others if is_named(key)]
        if len(named) == 1:
            return named[0]
    return None


def _near(module: Any, nodes: Sequence[Any]) -> str:
    """The lines of a program near some blocks and loops."""
    marks = dict.fromkeys(nodes, _MARK[2:])
    program = script(module, obj_to_annotate=marks, syntax_sugar=False, show_meta=False)
    return "\n".join(_excerpt(program.splitlines()))


def _in_tvm(module: Any, nodes: Sequence[Any]) -> str:
    """The text of a program with TVM's marks: `# tir.For#0` above the first loop that is concerned,
    `# tir.Block#0` above the first block, and a line below each.
    """
    marks: dict[Any, str] = {}
    for node in nodes:
        number = sum(type(mark) is type(node) for mark in marks)
        marks[node] = f"tir.{type(node).__name__}#{number}"
    program = script(module, obj_to_annotate=marks, syntax_sugar=False, show_meta=False)
    lines = [""]
    for before, line in pairwise(["", *program.splitlines()]):
        lines.append(line)
        if before.lstrip("# ") in marks.values():
            lines.append(" " * _indent(line) + "^" * len(line.lstrip()))
    return "\n".join(lines)


def _excerpt(text: Sequence[str]) -> Iterator[str]:
    """The lines that follow marks, underlined, with those around and below them, without the common
    indentation; "..." stands for what is left out.
    """
    lines = [line for line in text if line.strip() != _MARK]
    marks = [number for number, line in enumerate(text) if line.strip() == _MARK]
    marked = [at - number for number, at in enumerate(marks)]
    kept = sorted({at for mark in marked for at in _context(lines, mark)})
    margin = min(_indent(lines[at]) for at in kept)
    for before, at in pairwise([-1, *kept]):
        line, indent = lines[at][margin:], " " * (_indent(lines[at]) - margin)
        if at > before + 1:
            yield f"{indent}..."
        yield line
        if at in marked:
            yield indent + "^" * len(line.lstrip())
    if kept[-1] < len(lines) - 1:
        yield "..."


def _context(lines: Sequence[str], mark: int) -> Iterator[int]:
    """The numbers of a line, of the nearest loops and blocks around it and of the lines after it;
    where there are several functions, also that of the function.
    """
    yield from range(mark, min(mark + 1 + _LINES_AFTER, len(lines)))
    is_several = sum(line.lstrip().startswith("def ") for line in lines) > 1
    count = 0
    for line_number in range(mark - 1, -1, -1):
        head = lines[line_number].lstrip()
        if _indent(lines[line_number]) >= _indent(lines[mark]):
            continue
        mark = line_number
        if head.startswith("def "):
            yield from [line_number] * is_several
            return
        if count < _LINES_AROUND and head != _ROOT:
            count += 1
            yield line_number


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
