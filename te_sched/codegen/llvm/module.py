"""State shared by the functions of one LLVM module: declarations, constants, metadata, imports.

Everything that is known only when code is loaded (threads, Python callbacks, registered functions)
is reached through the global array `te_sched_slots`; `imports[k]` says what the loader puts into
slot k. Must not know statements.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from te_sched.codegen.llvm.types import quote, string_bytes
from te_sched.codegen.signature import Signature
from te_sched.ir.stmt import For, Stmt

FORMAT_VERSION = 6
METADATA_MAGIC = "te_sched-module:"
_UNIT = "distinct !DICompileUnit(language: DW_LANG_C, file: !{}, emissionKind: DebugDirectivesOnly)"
_FUNCTION = (
    'distinct !DISubprogram(name: "{}", scope: !{}, file: !{}, line: 1, type: !{}, unit: !{}, '
    "spFlags: DISPFlagDefinition)"
)


class ModuleText:
    """Collects the text of a module."""

    def __init__(
        self,
        extern_kinds: Callable[[str], str | None] = lambda name: None,
        has_masks: Callable[[], bool] = lambda: False,
        scales_powers: Callable[[], bool] = lambda: False,
    ) -> None:
        self.extern_kinds = extern_kinds  # "pointer" or "callback" for names registered in Python
        self.float_flags = "contract "  # of arithmetic of floats
        self.is_x86 = False  # whether intrinsics of x86-64 exist
        self.function_attributes = ""  # of the functions generated
        self.locations: Locations | None = None  # of the statements, where these are asked for
        self.has_masks = has_masks  # whether the processor loads and stores some lanes of vectors
        self.scales_powers = scales_powers  # whether it multiplies floats by powers of two
        self.functions: list[str] = []
        self.signatures: list[Signature] = []
        self.imports: list[dict[str, Any]] = []
        # Calls of intrinsics that LLVM may not compile: the name, then the type of the result and
        # those of the operands, each with its value if that is constant.
        self.intrinsics: set[tuple[str, tuple[Any, ...]]] = set()
        self.externs: set[str] = set()  # symbols that the process or a linked module must define
        self.steps: dict[Stmt, Any] = {}  # that statements take (`polling`)
        self.scalar_loops: dict[For, bool] = {}  # whether LLVM may make no vectors of a loop
        self.linked_ir: list[str] = []  # LLVM IR text of "import_llvm" pragmas
        self._declarations: dict[str, str] = {}
        self._metadata: list[str] = []
        self._shared_metadata: dict[str, int] = {}
        self._strings: dict[str, str] = {}
        self._slots: dict[str, int] = {}
        self._counter = 0

    def fresh(self) -> int:
        """A number that no other name of this module uses."""
        self._counter += 1
        return self._counter

    def declare(
        self, name: str, result: str, parameters: tuple[str, ...], attributes: str = ""
    ) -> str:
        """Declare a function once; gives its quoted name with the @."""
        quoted = "@" + quote(name)
        if name not in self._declarations:
            self._declarations[name] = (
                f"declare {result} {quoted}({', '.join(parameters)}) {attributes}"
            )
        return quoted

    def define(self, name: str, text: str) -> None:
        """Define a helper function once (in place of a declaration)."""
        self._declarations.setdefault(name, text)

    def metadata(self, text: str = "") -> int:
        """A new metadata node; its text may be set later with `set_metadata`."""
        self._metadata.append(text)
        return len(self._metadata) - 1

    def shared_metadata(self, text: str) -> int:
        """The metadata node of a text, made once."""
        if text not in self._shared_metadata:
            self._shared_metadata[text] = self.metadata(text)
        return self._shared_metadata[text]

    def set_metadata(self, number: int, text: str) -> None:
        """Give a reserved metadata node its text."""
        self._metadata[number] = text

    def string(self, text: str) -> str:
        """A pointer to a constant string."""
        if text not in self._strings:
            self._strings[text] = f"@te_sched.text.{len(self._strings)}"
        return self._strings[text]

    def slot(self, **what: Any) -> int:
        """The number of the slot that the loader fills with `what`."""
        key = json.dumps(what, sort_keys=True)
        if key not in self._slots:
            self._slots[key] = len(self.imports)
            self.imports.append(what)
        return self._slots[key]

    def describe(self, target: dict[str, Any]) -> bytes:
        """The metadata that an object file carries for its loader."""
        data = {
            "version": FORMAT_VERSION,
            "target": target,
            "imports": self.imports,
            "functions": [signature.to_json() for signature in self.signatures],
        }
        return (METADATA_MAGIC + json.dumps(data, separators=(",", ":"))).encode()

    def render(self, metadata: bytes, header: str = "") -> str:
        """The whole module as LLVM text, with its `metadata` (`describe`)."""
        size, text = string_bytes(metadata)
        count = len(self.imports)
        table = ", ".join(f"ptr @{quote(signature.symbol)}" for signature in self.signatures)
        parts = [
            header,
            f"@te_sched_slots = global [{count} x ptr] zeroinitializer, align 8",
            f"@te_sched_metadata = constant [{size} x i8] {text}, align 1",
            f"@te_sched_functions = constant [{len(self.signatures)} x ptr] [{table}], align 8",
            *map(_string_constant, self._strings.values(), self._strings),
            *self.functions,
            *self._declarations.values(),
            *([self.locations.named_metadata()] if self.locations is not None else []),
            *(f"!{number} = {node}" for number, node in enumerate(self._metadata)),
        ]
        return "\n".join(parts) + "\n"


def _string_constant(name: str, text: str) -> str:
    size, body = string_bytes(text)
    return f"{name} = private unnamed_addr constant [{size} x i8] {body}, align 1"


class Locations:
    """Debug information of one module: from which line of a printed program an instruction comes.

    Off by default; with it, each instruction carries the location of its statement, through LLVM's
    passes into the assembly (`.loc`). Line 0 is an instruction of several lines, or of none.
    `lines` are those of statements, by their identity.
    """

    def __init__(self, lines: Mapping[int, int], module: ModuleText) -> None:
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
