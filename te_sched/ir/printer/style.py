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
        texts = list(lines)
        whole = [isinstance(line, UnderlinedLine) for line in texts]
        prefixes = {"T": self.tir_prefix, "I": self.ir_prefix, "R": self.relax_prefix}
        if prefixes != {"T": "T", "I": "I", "R": "R"}:
            texts = [_PREFIX.sub(lambda m: _prefixed(m, prefixes), line) for line in texts]
        if self.indent_spaces != 4:
            texts = [self._indented(line) for line in texts]
        pairs = [spans_of(line) for line in texts]
        texts = [text for text, _ in pairs]
        marked = [
            spans_of_line(text) if is_whole else spans
            for (text, spans), is_whole in zip(pairs, whole, strict=True)
        ]
        if any(marked) or self.print_line_numbers:
            return self._underlined(texts, marked)
        return texts

    def _underlined(self, lines: list[str], marked: list[list[tuple[int, int]]]) -> list[str]:
        numbers = _line_numbers(lines)
        width = len(str(max(numbers))) + 1 if self.print_line_numbers else 0
        shown, output = self._shown(marked, numbers), []
        index = 0
        while index < len(lines):
            if not shown[index]:
                end = shown.index(True, index) if True in shown[index:] else len(lines)
                skipped = sum(1 for number in numbers[index:end] if number)
                output.append(f"(... {skipped} lines skipped ...)")
                index = end
                continue
            text = lines[index]
            number = f"{numbers[index]} ".rjust(width) if width and numbers[index] else ""
            output.append(f"{number}{text}")
            if marked[index]:
                under = [" "] * len(text)
                for start, end in marked[index]:
                    under[start:end] = "^" * (end - start)
                output.append((" " * width + "".join(under)).rstrip())
            index += 1
        return output

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
    numbers, count, is_head = [], 0, True
    for text in lines:
        is_counted = bool(text) or is_head
        is_head = is_head and bool(text)
        count += is_counted
        numbers.append(count if is_counted else 0)
    return numbers


def checked_options(options: Mapping[str, object]) -> dict[str, Any]:
    """The options; names and types that differ from the fields of `Style` are refused."""
    style_fields = {field.name: field for field in fields(Style)}
    for name, value in options.items():
        if name not in style_fields:
            raise DeclarationError(
                f"script() has no option {name}",
                "",
                f"use {', '.join(style_fields)}{did_you_mean(name, style_fields)}",
            )
        default = style_fields[name].default
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
