"""The text of a script: where it stands in its file, and errors that show the place.

Must not know what scripts mean.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import textwrap
from collections.abc import Sequence
from enum import EnumMeta
from types import FunctionType
from typing import Any

from te_sched.errors import (
    DeclarationError,
    ScriptError,
    SourceLocation,
    Subject,
    TeSchedError,
    did_you_mean,
    listing,
    place_of_error,
    repeating,
    repr_of,
)


class Source:
    """The text of a function, class or file, and its tree.

    >>> Source("def f(): pass").function.name
    'f'
    """

    def __init__(self, program: Any, file: str = "<string>") -> None:
        self.file, self.first_line, self.indent = file, 1, 0
        text = program if isinstance(program, str) else self._text_of(program)
        self.text = textwrap.dedent(text)
        self.lines = self.text.splitlines()
        self.tree = self._parsed(self.text)

    def expression(self, node: Any) -> Any:
        """The expression that an annotation is, which may be written as a string."""
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            return node
        try:
            return ast.copy_location(_parsed(node.value.strip(), "eval").body, node)
        except ValueError as error:
            raise self.error(node, str(error), "write an expression of Python") from None

    def _parsed(self, text: str) -> ast.Module:
        try:
            tree: ast.Module = _parsed(text, "exec")
        except SyntaxError as error:
            location = SourceLocation(self.file, self.first_line + (error.lineno or 1) - 1)
            with repeating(location):
                script_error = ScriptError(error.msg or "invalid syntax", "", "write it as Python")
            column = max((error.offset or 1) - 1, 0)
            script_error.line, script_error.column = error.lineno or 1, column + 1
            script_error.excerpt = self._excerpt(script_error.line, column, column + 1)
            raise script_error from None
        except ValueError as error:
            raise ScriptError(str(error), "", "write it as Python") from None
        return tree

    def _text_of(self, program: Any) -> str:
        try:
            self.file = inspect.getsourcefile(program) or "<string>"
            lines, self.first_line = inspect.getsourcelines(program)
            if not _has_name_of(program, lines):  # Python 3.13 has lines of "<string>", of -c
                raise OSError
        except (OSError, TypeError, KeyError):  # KeyError is of the inspect that torch changes
            class_lines = _class_lines(program)
            if class_lines is not None:  # of a notebook
                self.file, lines, self.first_line = class_lines
                self.indent = len(lines[0]) - len(lines[0].lstrip())
                return "".join(lines)
            raise ScriptError(
                f"the source of {getattr(program, '__name__', repr_of(program))} cannot be read",
                "a script is read as text",
                "write it in a file, or give its text to from_source",
            ) from None
        self.indent = len(lines[0]) - len(lines[0].lstrip())
        return "".join(lines)

    @property
    def definition(self) -> ast.FunctionDef | ast.ClassDef:
        """The first function or class in it."""
        for statement in self.tree.body:
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                return statement
        raise ScriptError(
            "a script has no function", "", "write `@T.prim_func` and a function, or a module"
        )

    @property
    def function(self) -> ast.FunctionDef:
        """The first function in it."""
        node = self.definition
        assert isinstance(node, ast.FunctionDef)
        return node

    def place(self, node: Any) -> SourceLocation:
        """The line of a node in its file."""
        return SourceLocation(self.file, self.first_line + getattr(node, "lineno", 1) - 1)

    def line(self, number: int) -> ast.Pass:
        """A line of its file, as a node."""
        at = number - self.first_line
        text = self.lines[at]
        start = len(text) - len(text.lstrip())
        return ast.Pass(
            lineno=at + 1, end_lineno=at + 1, col_offset=start, end_col_offset=len(text.rstrip())
        )

    def error(self, node: Any, error: Exception | str, help: str = "") -> ScriptError:
        """The error of a node: what was wrong, the line, and a caret below. Where a function of the
        user raised it, that line too.
        """
        raised = place_of_error(error) if isinstance(error, Exception) else SourceLocation()
        with repeating(self.place(node)):
            if isinstance(error, TeSchedError):
                script_error = ScriptError(
                    _in_scripts(error.fault),
                    _in_scripts(error.why),
                    _in_scripts(error.advice),
                    [subject for subject in error.about if not isinstance(subject, SourceLocation)],
                    in_tvm=error.in_tvm,
                )
            elif isinstance(error, Exception):
                text = str(error) or type(error).__name__
                is_sentence = isinstance(error, NameError | AttributeError) and not isinstance(
                    getattr(error, "obj", None),
                    EnumMeta,  # whose text is the name alone
                )
                fault = text if is_sentence else f"cannot evaluate {_described(node)}"
                why = "" if is_sentence else f"it raises {type(error).__name__}: {text}"
                script_error = ScriptError(
                    fault, why, help or _nearest(error) or "change the script"
                )
            else:
                script_error = ScriptError(error, "", help or "change the script")
        if raised.file:
            script_error.about = (
                *script_error.about,
                Subject("line", str(raised), f"raised at {raised}"),
            )
        script_error.line = getattr(node, "lineno", 1)
        script_error.column = getattr(node, "col_offset", 0) + 1
        script_error.excerpt = self._excerpt(
            script_error.line,
            script_error.column - 1,
            getattr(node, "end_col_offset", 0) or 0,
            getattr(node, "end_lineno", None),
        )
        return script_error

    def _excerpt(self, line: int, start: int, end: int, last: int | None = None) -> str:
        if not 1 <= line <= len(self.lines):
            return ""
        text = self.lines[line - 1]
        if last is not None and last != line:
            end = len(text)
        shown = str(self.first_line + line - 1)
        margin = " " * (self.indent + start)
        carets = "^" * max(end - start, 1)
        gap = " " * len(shown)
        return f"\n  {shown} | {' ' * self.indent}{text}\n  {gap} | {margin}{carets}"


def _in_scripts(text: str) -> str:
    """A message with operators and constants of graphs as scripts write them.

    >>> _in_scripts("use relax.op.nn.relu(x), or relax.const(1)")
    'use R.nn.relu(x), or R.const(1)'
    """
    return re.sub(r"(?<!\.)\brelax\.(?:op\.|(?=const\b))", "R.", text)


def _nearest(error: Exception) -> str:
    """The advice for an attribute that an object does not have."""
    if not isinstance(error, AttributeError) or error.obj is None:
        return ""
    names = [name for name in dir(error.obj) if name[0] != "_"]
    meant = did_you_mean(error.name, names)
    listed = f"use one of {listing(names)}" if names else ""
    return f"use an attribute that exists{meant}" if meant else listed


def _described(node: Any) -> str:
    """A short expression, or the kind of a statement."""
    text = ast.unparse(node) if isinstance(node, ast.expr) else ""
    return text if text and len(text) <= 60 else "this part of the script"


def _parsed(text: str, mode: str) -> Any:
    """The syntax tree of a text; SyntaxError, or ValueError where Python has no place for one."""
    try:
        return ast.parse(text, mode=mode)
    except UnicodeError:
        raise ValueError("the text has a character that is not one of Unicode") from None
    except MemoryError:
        raise ValueError("the text is nested too deeply for Python's parser") from None
    except SyntaxError as error:
        if mode == "eval":
            raise ValueError(error.msg) from None
        raise


def _has_name_of(program: Any, lines: Sequence[str]) -> bool:
    """Whether lines may be the source of a function or class."""
    name = str(getattr(program, "__name__", ""))
    return not name.isidentifier() or any(name in line for line in lines)


def _class_lines(program: Any) -> tuple[str, list[str], int] | None:
    """The file, the lines and the first line of a class, found through its functions: Python itself
    looks for classes in files only.
    """
    codes = [
        function.__code__
        for function in vars(program).values()
        if isinstance(function, FunctionType)
    ]
    for code in codes if inspect.isclass(program) else ():
        lines = linecache.getlines(code.co_filename)
        try:
            tree = ast.parse("".join(lines))
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name == program.__name__:
                first = min([node.lineno, *[decorator.lineno for decorator in node.decorator_list]])
                last = node.end_lineno or first
                if first <= code.co_firstlineno <= last:
                    return code.co_filename, lines[first - 1 : last], first
    return None


def names_around(function: FunctionType) -> dict[str, Any]:
    """The names that a function can use: its module's, and those of the functions around it."""
    names = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return names


__all__ = ["DeclarationError", "Source", "names_around"]


def advice_on_parameter(parameter: ast.arg, otherwise: str) -> str:
    """The help for a parameter without an annotation: functions of a module are not methods."""
    is_self = parameter.arg == "self"
    return "remove self: functions of an ir_module are not methods" if is_self else otherwise
