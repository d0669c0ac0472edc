"""Write the stubs of `T` and `R`, which type checkers and editors read: te_sched/script/*.pyi.

python -m scripts.stubs            write the files
python -m scripts.stubs --check    fail if one is out of date

Most words are made by programs (`T.float32`, `T.exp`, `R.add`): a stub spells what Python finds.
Must not know single words.
"""

from __future__ import annotations

import argparse
import collections.abc
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from te_sched.ir.expr import Call, Expr  # noqa: E402
from te_sched.ir.struct_info import GraphExpr  # noqa: E402
from te_sched.script import decorators, parser, relax, tir  # noqa: E402
from te_sched.script.annotations import Annotation  # noqa: E402
from te_sched.script.graph_frames import MatchCastValue  # noqa: E402
from te_sched.script.words import BufferType, HandleType, ScalarType  # noqa: E402
from te_sched.tir.constructors import Constructor  # noqa: E402

FOLDER = ROOT / "te_sched" / "script"
_HEAD = '''\
"""{title}

Made by `python -m scripts.stubs`. Words that are types and functions too (`{example}`) are Any,
as no type checker has such types.
"""

'''
_TYPES_AND_FUNCTIONS = ScalarType | HandleType | BufferType | Annotation
_Convert = Callable[[Any], Any]


class Stub:
    """The text of a stub: lines, and the names that they import."""

    def __init__(self, result: _Convert) -> None:
        self.result = result  # what checkers are told of a result
        self.imports: set[str] = set()
        self.lines: list[str] = []

    def text(self, head: str) -> str:
        """The whole file."""
        return head + "\n".join([*sorted(self.imports), "", *self.lines, ""])

    def names(self, module: Any, names: Iterable[str], indent: str = "") -> None:
        """The declarations of names of a module."""
        for name in names:
            self._declare(module, name, getattr(module, name), indent)

    def _declare(self, module: Any, name: str, value: Any, indent: str) -> None:
        home = sys.modules.get(str(getattr(value, "__module__", "")))
        if isinstance(value, types.ModuleType):
            self.lines += [f"{indent}class {name}:", f'{indent}    """{_first_line(value)}"""', ""]
            self.names(value, value.__all__, f"{indent}    ")
            self.lines.append("")
        elif isinstance(value, _TYPES_AND_FUNCTIONS):
            self.imports.add(f"from te_sched.script._types import {name} as {name}")
        elif home in (decorators, parser):  # it has overloads
            self.imports.add(f"from {home.__name__} import {name} as {name}")
        elif isinstance(value, type):
            self.imports.add(f"from {value.__module__} import {value.__name__} as {name}")
        elif callable(value):
            self._function(name, value, indent, is_method=bool(indent))
        else:
            self._object(name, value)

    def _object(self, name: str, value: Any) -> None:
        """An object with functions, such as T.axis."""
        kind = type(value)
        self.lines += [f"class {kind.__name__}:", f'    """{_first_line(kind)}"""', ""]
        for one in sorted(name for name in vars(kind) if name[0] != "_"):
            self._function(one, getattr(value, one), "    ", is_method=True)
        self.lines += ["", f"{name}: {kind.__name__}"]

    def _function(self, name: str, value: Any, indent: str, is_method: bool) -> None:
        signature, owner = _signature(value)
        parameters = [self._parameter(one, owner) for one in signature.parameters.values()]
        kinds = [one.kind for one in signature.parameters.values()]
        named, rest = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_POSITIONAL
        if named in kinds and rest not in kinds:
            parameters.insert(kinds.index(named), "*")
        found = value.kind if isinstance(value, Constructor) else signature.return_annotation
        result = self.spelled(self.result(_evaluated(found, owner)))
        if is_method:
            self.lines.append(f"{indent}@staticmethod")
        self.lines.append(f"{indent}def {name}({', '.join(parameters)}) -> {result}:")
        self.lines.append(f'{indent}    """{_first_line(value)}"""')

    def _parameter(self, one: inspect.Parameter, owner: Any) -> str:
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        default = "" if one.default is one.empty else f" = {_default(one.default)}"
        kind = self.spelled(_evaluated(one.annotation, owner))
        return f"{stars}{one.name}: {kind}{default}"

    def spelled(self, hint: Any) -> str:
        """A type as the stub writes it; what it imports is private, as words have such names."""
        outer, inner = typing.get_origin(hint), typing.get_args(hint)
        if hint is Any or hint is inspect.Parameter.empty or isinstance(hint, typing.TypeVar):
            return self._imported("typing", "Any")
        if hint is None or hint is type(None):
            return "None"
        if hint is Ellipsis:
            return "..."
        if outer is typing.Annotated:
            return self.spelled(inner[0])
        if outer in (types.UnionType, typing.Union):
            parts = [self.spelled(one) for one in inner]
            return " | ".join(parts)
        if isinstance(hint, list):
            return f"[{', '.join(map(self.spelled, hint))}]"
        if outer is not None:
            return f"{self.spelled(outer)}[{', '.join(map(self.spelled, inner))}]"
        if hint is collections.abc.Callable:
            return self._imported("collections.abc", "Callable")
        return self._imported(hint.__module__, hint.__qualname__)

    def _imported(self, module: str, name: str) -> str:
        self.imports.add(f"from {module} import {name} as _{name}")
        return f"_{name}"


def _signature(value: Any) -> tuple[inspect.Signature, Any]:
    """The signature of a function, with the keyword `dtype` if a wrapper adds it; the function
    whose names the annotations use.
    """
    if isinstance(value, Constructor):
        value = value._build
    inner = inspect.signature(value)
    outer = inspect.signature(value, follow_wrapped=False)
    if "dtype" in outer.parameters and hasattr(value, "__wrapped__"):  # `script.words`
        if "dtype" in inner.parameters:  # by name, or in its place
            return outer.replace(return_annotation=inner.return_annotation), inspect.unwrap(value)
        added = outer.parameters["dtype"].replace(annotation=Any)
        inner = inner.replace(parameters=[*inner.parameters.values(), added])
    return inner, inspect.unwrap(value)


def _evaluated(annotation: Any, owner: Any) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, getattr(owner, "__globals__", {}))
    except NameError:  # a name for type checkers only
        return Any


def _default(value: Any) -> str:
    is_plain = value is None or isinstance(value, bool | int | float | str)
    return repr(value).replace("'", '"') if is_plain else "..."


def _first_line(value: Any) -> str:
    return (inspect.getdoc(value) or "").partition("\n")[0]


def _expression(hint: Any) -> Any:
    return Expr if hint is Call else hint


def _graph_value(hint: Any) -> Any:
    """Whatever a word of graphs gives, its name may be bound to another value later."""
    is_value = isinstance(hint, type) and issubclass(hint, GraphExpr | MatchCastValue)
    return GraphExpr if is_value or hint is Any else hint


def pages() -> dict[Path, str]:
    """The stubs by path."""
    found = {}
    for face, example, result in ((tir, "T.int32", _expression), (relax, "R.Tensor", _graph_value)):
        stub = Stub(result)
        stub.names(face, face.__all__)
        title = (face.__doc__ or "").partition("\n")[0]
        name = face.__name__.rpartition(".")[2]
        found[FOLDER / f"{name}.pyi"] = stub.text(_HEAD.format(title=title, example=example))
    return found


def main() -> None:
    """Write the stubs, or compare them."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true", help="write nothing")
    is_check = arguments.parse_args().check
    stale = []
    for path, text in pages().items():
        if path.exists() and path.read_text() == text:
            continue
        if is_check:
            stale.append(str(path.relative_to(ROOT)))
        else:
            path.write_text(text)
    if stale:
        sys.exit(f"out of date: {', '.join(stale)}; run python -m scripts.stubs")


if __name__ == "__main__":
    main()
