"""Coverage of errors: a run of all tests fails if a `raise` was never reached.

A site is a statement that raises an error of te_sched, or makes one that is raised elsewhere. It is
reached if an error was made during its execution. conftest.py imports the hooks of pytest.
"""

from __future__ import annotations

import ast
import builtins
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from te_sched import errors
from te_sched.codegen.cuda import nvrtc
from te_sched.runtime.csource import find_compiler
from tests.refusals.unreached import UNREACHED
from tests.syntax_trees import syntax_trees

PACKAGE = Path(errors.__file__).parent
ERRORS = {
    name
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.TeSchedError)
}


class Site(NamedTuple):
    """A statement in a function, by its first and last line."""

    path: str
    function: str
    first: int
    last: int
    error: str

    @property
    def key(self) -> str:
        """The key of the function, independent of its position in the file."""
        return f"{self.path}::{self.function}"


@cache
def sites() -> tuple[Site, ...]:
    """All sites of the package."""
    return tuple(
        site
        for path, tree in syntax_trees().items()
        for site in sites_of(path.relative_to(PACKAGE).as_posix(), tree)
    )


def sites_of(path: str, tree: ast.Module) -> list[Site]:
    """The sites of a file."""
    return _Sites(path).found(tree)


class _Sites(ast.NodeVisitor):
    def __init__(self, path: str) -> None:
        self.path, self.names, self.sites = path, [], []

    def found(self, tree: ast.Module) -> list[Site]:
        self.visit(tree)
        return self.sites

    def _scope(self, node: Any) -> None:
        self.names.append(node.name)
        self.generic_visit(node)
        self.names.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _scope

    def visit_Raise(self, node: ast.Raise) -> None:
        if isinstance(node.exc, ast.Call):
            name = name_of(node.exc.func)
            if name in ERRORS or not _is_other(name):
                self._add(node, name)
                return
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = name_of(node.func)
        if name in ERRORS:
            self._add(node, name)
        self.generic_visit(node)

    def _add(self, node: Any, name: str) -> None:
        function = ".".join(self.names)
        self.sites.append(Site(self.path, function, node.lineno, node.end_lineno, name))


def name_of(func: ast.expr) -> str:
    """The last word of `a.b.c`."""
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def _is_other(name: str) -> bool:
    """Whether a name is that of an exception of another library."""
    if hasattr(builtins, name) or name in ("UnpicklingError", "SkipTest"):
        return True
    # of story.footprint, which figures turn into notes; of arith, which proofs catch; of
    # tensorir.intrinsics, which tensorize turns into errors
    if name in ("Unknown", "NotAffine", "Mismatch"):
        return True
    return name.startswith("_") and name[1:2].isupper()  # a module's own, caught there


_reached: set[tuple[str, int]] = set()


def record() -> None:
    """Start to record where errors are made."""

    def remember(kind: type[errors.TeSchedError], *args: Any, **_: Any) -> errors.TeSchedError:
        frame: Any = sys._getframe(1)
        while frame is not None:
            _reached.add((frame.f_code.co_filename, frame.f_lineno))
            frame = frame.f_back
        return Exception.__new__(kind, *args)

    # not __init__, which searches the user's frame
    errors.TeSchedError.__new__ = remember  # type: ignore[method-assign,assignment]


# What can be tested only with a package that the project does not depend on.
_OF_PACKAGES = {
    "torch": (
        "relax/frontend/torch/",
        "relax/frontend/nn/compiled_module.py",
        "relax/operators/",  # torch computes the references of their tests
    ),
    "onnx": ("relax/frontend/onnx/",),
}


def _absent() -> tuple[str, ...]:
    """The beginnings of the paths of what needs a package that is not installed."""
    return tuple(
        path
        for package, paths in _OF_PACKAGES.items()
        if find_spec(package) is None
        for path in paths
    )


def unreached() -> list[Site]:
    """The sites that no test has reached, without the permitted ones."""
    absent = _absent()
    lines: dict[str, set[int]] = {}
    for file, line in _reached:
        lines.setdefault(file, set()).add(line)
    return [
        site
        for site in sites()
        if site.error != "InternalError"
        and not site.path.startswith(absent)
        and site.key not in UNREACHED
        and lines.get(str(PACKAGE / site.path), set()).isdisjoint(range(site.first, site.last + 1))
    ]


# Hooks of pytest.


def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    if hasattr(config, "workeroutput"):  # a process of pytest-xdist
        config.workeroutput["reached"] = [
            one for one in _reached if one[0].startswith(str(PACKAGE))
        ]
    elif _is_whole_run(session) and unreached():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    output = getattr(node, "workeroutput", {})  # a process that died has none
    _reached.update((file, line) for file, line in output.get("reached", ()))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if not _is_whole_run(terminalreporter._session):
        return
    missing = unreached()
    if missing:
        terminalreporter.section("errors that no test has reached", red=True)
        for site in missing:
            terminalreporter.line(f"te_sched/{site.path}:{site.first}: {site.function}")


def _is_whole_run(session: pytest.Session) -> bool:
    """Whether all tests ran, with no test skipped because of a missing compiler."""
    if not nvrtc.is_available() or find_compiler() is None:
        return False
    config = session.config
    option = config.option
    is_chosen = option.keyword or option.markexpr or option.ignore or option.ignore_glob
    is_chosen = is_chosen or option.deselect or getattr(option, "lf", False) or option.collectonly
    from_paths = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return from_paths and not is_chosen and not session.testsfailed
