"""Programs and their generated code, as lines with their statements: loops, LLVM IR, CUDA.

Each instruction has the line of the compiled program from which it is generated
(`codegen.llvm.module`), each line of CUDA its statement. An instruction of several lines, or of
none, has no stage. Must not know schedules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import takewhile

from te_sched.codegen.cuda import kernel_lines
from te_sched.codegen.llvm.compile import show_functions
from te_sched.codegen.target import Target
from te_sched.ir.argument_sizes import ATTRIBUTE
from te_sched.ir.expr import IterVar
from te_sched.ir.printer.origins import lines_of_statements, origin_of, script_lines
from te_sched.ir.stmt import (
    Allocate,
    AttrStmt,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    IRModule,
    PrimFunc,
    Stmt,
)
from te_sched.runtime.registry import extern_kind
from te_sched.story.model import Change, Line, Output
from te_sched.story.stages import Stages
from te_sched.views.notation import shortened

_NO_LINE = Line("")
MOST_LINES = 1500  # that a story keeps of one text
LONGEST_LINE = 1000  # characters; annotations may be whole programs
_CONTEXT = 2  # unchanged lines that are shown around a change
_NUMBERED = re.compile(r"\bcse_var_\d+")
_NAMED_AGAIN = re.compile(r"(?<=\w)_\d+\b")  # of buffers, common subexpressions
_LIKELY = re.compile(r"T\.likely\((.*)\):$")

_STORE = re.compile(r"\s*\w+\[.*\] = ")

_LOCATION = re.compile(r"^!(\d+) = !DILocation\(line: (\d+)")
_OF_INSTRUCTION = re.compile(r", !dbg !(\d+)")
_METADATA = re.compile(r",? ![\w.]+ !\d+|,? #\d+$| #\d+(?= \{$)")
_LABEL = re.compile(r"^[\w.$\"-]+:")
_LOC = re.compile(r"^\t\.loc\t1 (\d+)")
_SYMBOL = re.compile(r'^(?:define [^@]*@)?"?(te_sched_[^"(:]*)"?[(:]')
_COMPILED = (
    "Code is generated for this program: loops are cut at their guards, and indices are checked "
    "where nothing proves them."
)
_CLEAN = (
    "Helper functions, attributes and metadata are left out; a line that several statements share, "
    "or that LLVM added, is of no stage."
)


def program_lines(module: IRModule, stages: Stages) -> tuple[Line, ...]:
    """The text of a module, line by line."""
    return _lines(script_lines(module), stages, {})


def numbered(program: Sequence[Line], compiled: Sequence[Line]) -> tuple[Line, ...]:
    """The lines of a program with the numbers of equal ones of the compiled program.

    Names may differ in their numbers. Lowering may copy a statement, so one line may equal several;
    if several lines on both sides are equal, their numbers must be the same.
    """
    matches = _matching([_text_of(line) for line in program], [_text_of(line) for line in compiled])
    return tuple(
        replace(line, numbers=numbers_at(compiled, places))
        for line, places in zip(program, matches, strict=True)
    )


def numbered_blocks(program: Sequence[Line], compiled: Sequence[Line]) -> tuple[Line, ...]:
    """The same for a program of blocks, whose stores have other indices: these are matched by the
    stages that they compute and read.
    """
    stores = [[_store_of(line) for line in lines] for lines in (program, compiled)]
    matches = _matching(*stores)
    return tuple(
        line if line.numbers else replace(line, numbers=numbers_at(compiled, places))
        for line, places in zip(numbered(program, compiled), matches, strict=True)
    )


def _store_of(line: Line) -> object:
    return line.stages if line.stages and _STORE.match(line.text) else None


def lines_of_rows(rows: Sequence[Stmt | None], module: IRModule, stages: Stages) -> list[list[int]]:
    """The places of the statements of a loop nest in the text of the module that it is lowered to:
    loops are found by their variables, others by their stages.
    """
    shown: list[object] = []
    seen: set[int] = set()
    texts = script_lines(module)
    for text, after in zip(texts, [*map(origin_of, texts[1:]), None], strict=True):
        origin = origin_of(text)
        is_head = origin is not after and id(origin) not in seen  # after the views that it declares
        shown.append(_identity(origin, stages) if is_head else None)
        seen |= {id(origin)} if is_head else set()
    return _matching([_identity(row, stages) for row in rows], shown)


def _matching(here: Sequence[object], there: Sequence[object]) -> list[list[int]]:
    """For each key of `here` the places of `there` that have it; None has no place. A key that
    several places of `here` have must have as many of `there`.
    """
    own, others = _places(here), _places(there)
    matches: list[list[int]] = [[] for _ in here]
    for key, places in own.items():
        equal = others.get(key, [])
        if len(places) == 1:
            matches[places[0]] = equal
        elif len(places) == len(equal):
            for index, counterpart in zip(places, equal, strict=True):
                matches[index] = [counterpart]
    return matches


def _places(keys: Sequence[object]) -> dict[object, list[int]]:
    """The positions of each key."""
    places: dict[object, list[int]] = {}
    for index, key in enumerate(keys):
        if key is not None:
            places.setdefault(key, []).append(index)
    return places


def numbers_at(lines: Sequence[Line], places: Iterable[int]) -> tuple[int, ...]:
    """The numbers of the lines at some places."""
    return tuple(dict.fromkeys(number for index in places for number in lines[index].numbers))


def _text_of(line: Line) -> object:
    """The text of a statement without the numbers of names, and its stages."""
    if not line.stages:
        return None
    return _NAMED_AGAIN.sub("", _LIKELY.sub(r"\1:", line.text.strip())), line.stages


def _identity(node: Stmt | None, stages: Stages) -> object:
    """What lowering keeps of a statement: the variable of a loop, the stages of others."""
    if isinstance(node, For):
        return For, node.loop_var
    if isinstance(node, AttrStmt):
        return (AttrStmt, node.node.var) if isinstance(node.node, IterVar) else None
    if isinstance(node, Allocate | BufferRealize | BufferStore | Evaluate) and stages.of(node):
        return isinstance(node, BufferStore | Evaluate), stages.of(node)
    return None


def changes(before: Sequence[Line], after: Sequence[Line]) -> tuple[Change, ...]:
    """The lines that differ, with context; empty if there is no program. Differences in indentation
    and in the numbers of common subexpressions are ignored.
    """
    return tuple(_changes(before, after)) if before and after else ()


def _changes(before: Sequence[Line], after: Sequence[Line]) -> Iterator[Change]:
    old, new = (
        [_NUMBERED.sub("cse_var", line.text.strip()) for line in lines] for lines in (before, after)
    )
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    shown = 0  # lines of `after` that are shown or counted as left out
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        yield from _gap(group[0][3] - shown)
        for tag, low, high, new_low, new_high in group:
            if tag == "equal":
                yield from _marked(" ", after[new_low:new_high])
                continue
            yield from (Change("-", line.text, line.stages) for line in before[low:high])
            yield from _marked("+", after[new_low:new_high])
        shown = group[-1][4]
    if shown:
        yield from _gap(len(after) - shown)


def _marked(mark: str, lines: Sequence[Line]) -> Iterator[Change]:
    return (Change(mark, line.text, line.stages, line.numbers) for line in lines)


def _gap(count: int) -> Iterator[Change]:
    if count > 0:
        yield Change("@", f"{count} unchanged line{'s' if count > 1 else ''}")


def of_processor(
    functions: Mapping[str, PrimFunc], target: Target, stages: Stages
) -> tuple[Output, ...]:
    """The program that is compiled, and the optimized LLVM IR and assembly of its functions.

    Raises
    ------
    BuildError if the program cannot be compiled.
    """
    module = IRModule({name: func.without_attr(ATTRIBUTE) for name, func in functions.items()})
    compiled, numbers = _compiled(module, stages)
    of_line = {line.numbers[0]: line for line in compiled if line.numbers}
    llvm, assembly = show_functions(module.functions, target, extern_kind, numbers)
    names = [f"te_sched_{name}" for name in functions]
    return (
        _output("compiled", "As compiled", compiled, _COMPILED),
        _output("llvm", "LLVM IR", _llvm_lines(llvm, names, of_line), _CLEAN),
        _output("assembly", "Assembly", _assembly_lines(assembly, names, of_line), _CLEAN),
    )


def of_kernels(kernels: Mapping[str, PrimFunc], stages: Stages) -> tuple[Output, ...]:
    """The kernels that are compiled, and their CUDA source."""
    compiled, numbers = _compiled(IRModule(dict(kernels)), stages)
    lines = _lines(kernel_lines(kernels), stages, numbers)
    program = _output("compiled", "As compiled", compiled)
    return (program, _output("cuda", "CUDA", lines))


def _compiled(module: IRModule, stages: Stages) -> tuple[tuple[Line, ...], dict[int, int]]:
    """The lines of a program, and the numbers of its statements by their identity."""
    texts = script_lines(module)
    numbers = {id(statement): number for statement, number in lines_of_statements(texts)}
    return _lines(texts, stages, numbers), numbers


def _lines(texts: Iterable[str], stages: Stages, numbers: Mapping[int, int]) -> tuple[Line, ...]:
    """Printed lines with the stages and numbers of the statements that they show."""
    lines = []
    for text in texts:
        origin = origin_of(text)
        number = numbers.get(id(origin))
        shown = shortened(str(text), LONGEST_LINE)
        lines.append(Line(shown, stages.of(origin), () if number is None else (number,)))
    return tuple(lines)


def _output(kind: str, title: str, lines: Iterable[Line], note: str = "") -> Output:
    kept = tuple(lines)
    return Output(kind, title, kept[:MOST_LINES], max(0, len(kept) - MOST_LINES), note)


def _llvm_lines(text: str, names: Sequence[str], of_line: Mapping[int, Line]) -> Iterator[Line]:
    """The functions of a module; a label has the stages and line of the instruction after it."""
    all_lines = text.splitlines()
    locations = filter(None, map(_LOCATION.match, all_lines))
    line_of = {number: int(line) for number, line in (location.groups() for location in locations)}
    for function in _functions(all_lines, names, "define ", "}"):
        lines = []
        for line in function:
            location = _OF_INSTRUCTION.search(line)
            source = of_line.get(line_of.get(location[1], 0), _NO_LINE) if location else _NO_LINE
            bare = _METADATA.sub("", line.partition(" ; ")[0]).rstrip()
            lines.append(replace(source, text=bare))
        yield from _with_labels(lines)


def _assembly_lines(text: str, names: Sequence[str], of_line: Mapping[int, Line]) -> Iterator[Line]:
    """The instructions and labels of a module."""
    for function in _functions(text.splitlines(), names, "", ".Lfunc_end"):
        number, lines = 0, []
        for line in function:
            if (location := _LOC.match(line)) is not None:
                number = int(location[1])
            elif _LABEL.match(line):
                if not line.startswith((".Ltmp", ".Lfunc_")):
                    lines.append(Line(line))
            elif not line.startswith("\t."):
                lines.append(replace(of_line.get(number, _NO_LINE), text=line.expandtabs(8)))
        yield from _with_labels(lines)


def _functions(
    lines: Sequence[str], names: Sequence[str], begin: str, end: str
) -> Iterator[list[str]]:
    """The lines of the functions of a program, an empty line between."""
    left = iter(lines)
    space: list[str] = []
    for line in left:
        symbol = _SYMBOL.match(line) if line.startswith(begin) else None
        if symbol is None:
            continue
        body = [line, *takewhile(lambda text: not text.startswith(end), left)]
        if any(symbol[1] == name or symbol[1].startswith(f"{name}.parallel.") for name in names):
            yield [*space, *body, *(["}"] if end == "}" else [])]
            space = [""]


def _with_labels(lines: list[Line]) -> Iterator[Line]:
    for index, line in enumerate(lines):
        if _LABEL.match(line.text):
            rest = (
                later_line for later_line in lines[index + 1 :] if not _LABEL.match(later_line.text)
            )
            yield replace(next(rest, _NO_LINE), text=line.text)
        else:
            yield line
