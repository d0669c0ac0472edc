"""Debug information: from which line of a printed program an instruction comes.

Off by default; with it, each instruction carries the location of its statement, through LLVM's
passes into the assembly (`.loc`). Line 0 is an instruction of several lines, or of none. Must not
know how programs are printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from te_sched.ir.stmt import Stmt

_UNIT = "distinct !DICompileUnit(language: DW_LANG_C, file: !{}, emissionKind: DebugDirectivesOnly)"
_FUNCTION = (
    'distinct !DISubprogram(name: "{}", scope: !{}, file: !{}, line: 1, type: !{}, unit: !{}, '
    "spFlags: DISPFlagDefinition)"
)


class Metadata(Protocol):
    """What keeps nodes of metadata, by their numbers."""

    def shared_metadata(self, text: str) -> int:
        """The node of a text, made once."""


class Locations:
    """The locations in one module; `lines` are those of statements, by their identity."""

    def __init__(self, lines: Mapping[int, int], module: Metadata) -> None:
        self._lines, self._module = lines, module
        node = module.shared_metadata
        self._file = node('!DIFile(filename: "program", directory: "")')
        self._type = node(f"!DISubroutineType(types: !{node('!{}')})")
        self._unit = node(_UNIT.format(self._file))
        self._version = node('!{i32 2, !"Debug Info Version", i32 3}')

    def line_of(self, statement: Stmt) -> int:
        """The line of a statement; 0 where it has none of its own."""
        return self._lines.get(id(statement), 0)

    def function(self, name: str) -> int:
        """The node of a function, in which locations are."""
        text = _FUNCTION.format(name, self._file, self._file, self._type, self._unit)
        return self._module.shared_metadata(text)

    def suffix(self, function: int, line: int) -> str:
        """What an instruction of a line says after its operands."""
        text = f"!DILocation(line: {line}, column: 0, scope: !{function})"
        return f", !dbg !{self._module.shared_metadata(text)}"

    def named_metadata(self) -> str:
        """What a module says of itself."""
        return f"!llvm.dbg.cu = !{{!{self._unit}}}\n!llvm.module.flags = !{{!{self._version}}}"
