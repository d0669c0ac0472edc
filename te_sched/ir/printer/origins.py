"""Lines of printed programs with a reference to the statement that they show.

Such a line is a str. Must not know the purpose of the reference.
"""

from __future__ import annotations

from collections.abc import Iterator

from te_sched.deep_recursion import walks_deeply
from te_sched.ir import stmt as S
from te_sched.ir.printer.script import ScriptPrinter
from te_sched.ir.printer.script_expr import Metadata
from te_sched.ir.printer.text import module_lines


class OriginLine(str):
    """A line and the innermost statement to which it belongs."""

    __slots__ = ("origin",)
    origin: S.Stmt


def mark_lines(lines: list[str], start: int, origin: S.Stmt) -> None:
    """Set the statement of the lines from `start` that have none."""
    for index in range(start, len(lines)):
        if type(lines[index]) is str:
            marked = OriginLine(lines[index])
            marked.origin = origin
            lines[index] = marked


def origin_of(line: str) -> S.Stmt | None:
    """The statement of a line, or None."""
    return line.origin if isinstance(line, OriginLine) else None


class _OriginPrinter(ScriptPrinter):
    """A printer that sets the statement of each line."""

    def statement(self, node: S.Stmt, is_last: bool) -> None:
        lines = self.block.lines
        start = len(lines)
        super().statement(node, is_last)
        mark_lines(lines, start, node)


@walks_deeply("print a program")
def script_lines(module: S.IRModule) -> list[str]:
    """The lines of `script(module)`; those of statements are of class `OriginLine`."""
    metadata: Metadata = {}

    def make_printer(kind: type[ScriptPrinter]) -> ScriptPrinter:
        return (_OriginPrinter if kind is ScriptPrinter else kind)(metadata=metadata)

    return module_lines(module, make_printer)


def lines_of_statements(lines: list[str]) -> Iterator[tuple[S.Stmt, int]]:
    """Each statement with the number of its first line, from 1."""
    seen: set[int] = set()
    for number, line in enumerate(lines, 1):
        origin = origin_of(line)
        if origin is not None and id(origin) not in seen:
            seen.add(id(origin))
            yield origin, number
