"""Write the stubs of `T`, `R` and `tir`, which type checkers and editors read.

python -m scripts.stubs            write the files
python -m scripts.stubs --check    fail if one is out of date

Most of their names are made by programs (`T.float32`, `T.exp`, `R.add`): a stub spells what Python
finds. Must not know single names.
"""

from __future__ import annotations

import argparse
import ast
import collections.abc
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from te_sched import tir  # noqa: E402
from te_sched.ir.expr import Call, Expr, Var  # noqa: E402
from te_sched.ir.stmt import PrimFunc  # noqa: E402
from te_sched.ir.struct_info import GraphExpr  # noqa: E402
from te_sched.script import decorators, parser  # noqa: E402
from te_sched.script import relax as script_relax  # noqa: E402
from te_sched.script import tir as script_tir  # noqa: E402
from te_sched.script.annotations import Annotation  # noqa: E402
from te_sched.script.graph_frames import MatchCastValue  # noqa: E402
from te_sched.script.words import BufferType, HandleType, ScalarType  # noqa: E402
from te_sched.tir.constructors import Constructor  # noqa: E402

_HEAD = '''\
"""{title}

Made by `python -m scripts.stubs`. Names of types that are functions too, such as {example}, are
Any: no type checker has such types.
"""

'''


class Face(NamedTuple):
    """A module with a stub."""

    module: types.ModuleType
    path: str
    example: str
    is_any: Callable[[Any], bool]  # whether a value is a type that is a function too
    is_imported: Callable[[str, str], bool]  # whether checkers read a function in its module
    result: Callable[[Any], Any]  # what checkers are told of the type of a result


class Stub:
    """The text of a stub: lines, and the names that they import."""

    def __init__(self, face: Face) -> None:
        self.face = face
        self.imports: set[str] = set()
        self.lines: list[str] = []

    def text(self) -> str:
        """The whole file."""
        self.names(self.face.module, self.face.module.__all__)
        title = (self.face.module.__doc__ or "").partition("\n")[0]
        head = _HEAD.format(title=title, example=self.face.example)
        return head + "\n".join([*sorted(self.imports), "", *self.lines, ""])

    def names(self, module: Any, names: Iterable[str], indent: str = "") -> None:
        """The declarations of names of a module."""
        for name in names:
            self._declare(name, getattr(module, name), indent)

    def _declare(self, name: str, value: Any, indent: str) -> None:
        home, own = str(getattr(value, "__module__", "")), str(getattr(value, "__name__", ""))
        if self.face.is_any(value):
            self._export(f"{self._package()}._types", name, name)
        elif isinstance(value, types.ModuleType):
            self._module(name, value, indent)
        elif isinstance(value, Constructor) and self.face.module is tir:
            self._export(value.kind.__module__, own, name)
        elif isinstance(value, type) or self.face.is_imported(home, own):
            self._export(home, own, name)
        elif callable(value):
            self._function(name, value, indent, is_method=bool(indent))
        else:
            self._object(name, value)

    def _package(self) -> str:
        name = self.face.module.__name__
        return name if hasattr(self.face.module, "__path__") else name.rpartition(".")[0]

    def _export(self, module: str, own: str, name: str) -> None:
        if own == name:  # then it is exported
            self.imports.add(f"from {module} import {name} as {name}")
        else:
            self.lines.append(f"{name} = {self._imported(module, own)}")

    def _module(self, name: str, value: types.ModuleType, indent: str) -> None:
        """A module, or a group of words, whose functions are told otherwise than in its module."""
        home, _, own = value.__name__.rpartition(".")
        if self.face.module is tir:
            self._export(home, own, name)
            return
        self.lines += [f"{indent}class {name}:", f'{indent}    """{_first_line(value)}"""', ""]
        self.names(value, vars(value)["__all__"], f"{indent}    ")
        self.lines.append("")

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
        result = self.spelled(self.face.result(_evaluated(found, owner)))
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
        is_open = isinstance(hint, typing.TypeVar | typing.ForwardRef)  # the latter of `ExprLike`
        if hint is Any or hint is inspect.Parameter.empty or is_open:
            return self._imported("typing", "Any")
        if hint is None or hint is type(None):
            return "None"
        if hint is Ellipsis:
            return "..."
        if outer is typing.Annotated:
            return self.spelled(inner[0])
        if outer in (types.UnionType, typing.Union):
            parts = [self.spelled(one) for one in inner]
            return "_Any" if "_Any" in parts else " | ".join(parts)
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


@cache
def _definitions(module: str) -> frozenset[str]:
    """The names of functions that the text of a module defines."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return frozenset(one.name for one in tree.body if isinstance(one, ast.FunctionDef))


def _expression(hint: Any) -> Any:
    return Expr if hint is Call else hint


def _graph_value(hint: Any) -> Any:
    """Whatever a word of graphs gives, its name may be bound to another value later."""
    is_value = isinstance(hint, type) and issubclass(hint, GraphExpr | MatchCastValue)
    return GraphExpr if is_value or hint is Any else hint


def _is_decorator(home: str, own: str) -> bool:
    return home in (decorators.__name__, parser.__name__)


# Classes of nodes of which checkers see TVM's constructor, too.
_TYPED = (PrimFunc, Var)
_FACES = (
    Face(
        script_tir,
        "te_sched/script/tir.pyi",
        "T.int32",
        lambda value: isinstance(value, ScalarType | HandleType | BufferType),
        _is_decorator,
        _expression,
    ),
    Face(
        script_relax,
        "te_sched/script/relax.pyi",
        "R.Tensor",
        lambda value: isinstance(value, Annotation),
        _is_decorator,
        _graph_value,
    ),
    Face(
        tir,
        "te_sched/tir/__init__.pyi",
        "tir.For",
        lambda value: isinstance(value, Constructor) and value.kind not in _TYPED,
        lambda home, own: own in _definitions(home),
        lambda hint: hint,
    ),
)


def pages() -> dict[Path, str]:
    """The stubs by path."""
    return {ROOT / face.path: Stub(face).text() for face in _FACES}


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
