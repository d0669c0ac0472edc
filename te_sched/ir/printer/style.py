"""The options of `script()`, and the formatting of complete lines.

Must not know nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from te_sched.errors import DeclarationError, did_you_mean, repr_of
from te_sched.ir.paths import ObjectPath


@dataclass(frozen=True)
class Style:
    """Formatting options. The defaults are TVM's.

    `name`: of the function; `show_meta`: print metadata; `ir_prefix`, `tir_prefix`: names of the
    imported modules (I and T); `buffer_dtype`, `int_dtype`, `float_dtype`: types that are not
    printed; `verbose_expr`: declare the variables of an expression;
    `syntax_sugar`: use T.grid, T.axis.remap and annotations of parameters;
    `print_line_numbers`; `num_context_lines`: number of lines around underlined ones;
    `show_object_address`: add the identity of variables to their names;
    `obj_to_underline`: statements whose lines are underlined, and expressions;
    `obj_to_annotate`: comments of statements; `path_to_underline`, `path_to_annotate`: the same by
    their paths (`ir.paths.ObjectPath`).
    """

    name: str | None = ""
    show_meta: bool = False
    ir_prefix: str = "I"
    tir_prefix: str = "T"
    relax_prefix: str = "R"
    module_alias: str = "cls"
    buffer_dtype: str = "float32"
    int_dtype: str = "int32"
    float_dtype: str = "void"
    verbose_expr: bool = False
    indent_spaces: int = 4
    print_line_numbers: bool = False
    num_context_lines: int = -1
    syntax_sugar: bool = True
    show_object_address: bool = False
    show_all_struct_info: bool = True
    obj_to_underline: Sequence[object] | None = None
    obj_to_annotate: Mapping[object, str] | None = None
    path_to_underline: Sequence[ObjectPath] | None = None
    path_to_annotate: Mapping[ObjectPath, str] | None = None

    def __post_init__(self) -> None:
        for option in ("ir_prefix", "tir_prefix", "relax_prefix", "module_alias"):
            is_left_out = option == "module_alias" and not self.module_alias
            if not is_left_out and not getattr(self, option).isidentifier():
                raise DeclarationError(
                    f"{option} is {getattr(self, option)!r}, expected an identifier",
                    "",
                    'give a name such as "T"',
                )

    @property
    def marks(self) -> bool:
        """Whether any line is underlined or commented."""
        return bool(self.obj_to_underline or self.obj_to_annotate)

    def finished(self, lines: Iterable[str]) -> list[str]:
        """The lines with prefixes, indentation and underlines of this style."""
        found = list(lines)
        whole = [isinstance(line, UnderlinedLine) for line in found]
        prefixes = {"T": self.tir_prefix, "I": self.ir_prefix, "R": self.relax_prefix}
        if prefixes != {"T": "T", "I": "I", "R": "R"}:
            found = [_PREFIX.sub(lambda m: _prefixed(m, prefixes), line) for line in found]
        if self.indent_spaces != 4:
            found = [self._indented(line) for line in found]
        pairs = [spans_of(line) for line in found]
        found = [text for text, _ in pairs]
        marked = [
            spans_of_line(text) if is_whole else spans
            for (text, spans), is_whole in zip(pairs, whole, strict=True)
        ]
        if any(marked) or self.print_line_numbers:
            return self._underlined(found, marked)
        return found

    def _underlined(self, lines: list[str], marked: list[list[tuple[int, int]]]) -> list[str]:
        numbers = _line_numbers(lines)
        width = len(str(max(numbers))) + 1 if self.print_line_numbers else 0
        shown, found = self._shown(marked, numbers), []
        place = 0
        while place < len(lines):
            if not shown[place]:
                end = shown.index(True, place) if True in shown[place:] else len(lines)
                skipped = sum(1 for number in numbers[place:end] if number)
                found.append(f"(... {skipped} lines skipped ...)")
                place = end
                continue
            text = lines[place]
            number = f"{numbers[place]} ".rjust(width) if width and numbers[place] else ""
            found.append(f"{number}{text}")
            if marked[place]:
                under = [" "] * len(text)
                for start, end in marked[place]:
                    under[start:end] = "^" * (end - start)
                found.append((" " * width + "".join(under)).rstrip())
            place += 1
        return found

    def _shown(self, marked: list[list[tuple[int, int]]], numbers: list[int]) -> list[bool]:
        """The lines near an underlined one; a single line is not omitted."""
        count = self.num_context_lines
        if count < 0 or not any(marked):
            return [True] * len(marked)
        counted = [mark for mark, number in zip(marked, numbers, strict=True) if number]
        near = [any(counted[max(0, i - count) : i + count + 1]) for i in range(len(counted))]
        for i in range(len(near)):
            if not near[i] and (i == 0 or near[i - 1]) and (i + 1 == len(near) or near[i + 1]):
                near[i] = True
        shown: list[bool] = []
        for number in numbers:  # the empty line after a line is shown with it
            shown.append(near[number - 1] if number else shown[-1])
        return shown

    def _indented(self, line: str) -> str:
        text = line.lstrip(" ")
        return " " * ((len(line) - len(text)) // 4 * self.indent_spaces) + text


def _line_numbers(lines: Sequence[str]) -> list[int]:
    """The numbers of lines; 0 for empty lines between functions, which TVM does not count."""
    found, count, is_head = [], 0, True
    for text in lines:
        is_counted = bool(text) or is_head
        is_head = is_head and bool(text)
        count += is_counted
        found.append(count if is_counted else 0)
    return found


def checked_options(options: Mapping[str, object]) -> dict[str, Any]:
    """The options; names and types that differ from the fields of `Style` are refused."""
    known = {field.name: field for field in fields(Style)}
    for name, value in options.items():
        if name not in known:
            raise DeclarationError(
                f"script() has no option {name}",
                "",
                f"use {', '.join(known)}{did_you_mean(name, known)}",
            )
        default = known[name].default
        wanted = Sequence | Mapping if "_to_" in name else type(default)
        if not (isinstance(value, wanted) or (name in _MAY_BE_NONE and value is None)):
            raise DeclarationError(
                f"option {name} of script() is {repr_of(value)}",
                "",
                f"give a value such as {default!r}",
            )
    return dict(options)


_MAY_BE_NONE = (
    *("name", "obj_to_underline", "obj_to_annotate", "path_to_underline", "path_to_annotate"),
)


# Around the text of an underlined expression.
OPENING, CLOSING = "\x01", "\x02"


def spans_of(line: str) -> tuple[str, list[tuple[int, int]]]:
    """A line without the marks around expressions, and the columns that they enclosed."""
    if OPENING not in line:
        return line, []
    text, spans, opened = "", [], []
    for piece in re.split(f"([{OPENING}{CLOSING}])", line):
        if piece == OPENING:
            opened.append(len(text))
        elif piece == CLOSING:
            spans.append((opened.pop(), len(text)))
        else:
            text += piece
    return text, spans


def spans_of_line(text: str) -> list[tuple[int, int]]:
    """The columns of a whole line; comments are not underlined."""
    if text.lstrip().startswith("#"):
        return []
    start = len(text) - len(text.lstrip(" "))
    return [(start, len(text))] if start < len(text) else []


class UnderlinedLine(str):
    """An underlined line."""

    __slots__ = ()


PLAIN = Style()
_PREFIX = re.compile(
    r'# with T.block.*|"(?:\\.|[^"\\])*"|(?<![\w.])([TIR])\.'
    r"|^# from tvm\.script import (t?ir) as [TI]"
)


def _prefixed(match: re.Match[str], prefixes: dict[str, str]) -> str:
    if match[2]:
        return (
            f"# from tvm.script import {match[2]} as {prefixes['I' if match[2] == 'ir' else 'T']}"
        )
    return f"{prefixes[match[1]]}." if match[1] else match[0]
