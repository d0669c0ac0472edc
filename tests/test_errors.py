"""What errors say of where a mistake was made, and what code may ask them."""

from __future__ import annotations

import ast
import linecache
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import errors, te, tir
from te_sched.errors import (
    AccessError,
    BuildError,
    CallError,
    DeclarationError,
    InternalError,
    LoweringError,
    ScheduleError,
    SourceLocation,
    warn,
)
from te_sched.ir.verify import verify
from tests import error_texts
from tests.syntax_trees import nodes, syntax_trees


def test_place_is_a_line_of_a_file():
    assert str(SourceLocation("prog.py", 3)) == "prog.py:3"
    assert str(SourceLocation()) == ""


def test_place_in_a_notebook_is_named_as_the_notebook_does(monkeypatch):
    names = {"/tmp/ipykernel_1/2.py": ("Cell", "In[5]")}
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=names.get))
    ipython = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert str(SourceLocation("/tmp/ipykernel_1/2.py", 3)) == "In[5]:3"
    assert str(SourceLocation("prog.py", 3)) == "prog.py:3"
    shell.compile = object()  # an older IPython
    assert str(SourceLocation("/tmp/ipykernel_1/2.py", 3)) == "/tmp/ipykernel_1/2.py:3"


# What errors are about


A = te.placeholder((8, 8), name="A")
_SCRIPT = """
def script(a):
    b = output_tensor((8,), "float32")
    for i in range(8):
        for j in range(1):
            b[i] = a[i * 0.5]
    return b
"""


def rows() -> tuple[Any, Any, Any]:
    """A schedule of sums of rows, the stage and its reduction axis."""
    k = te.reduce_axis((0, 8), "k")
    B = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="B")
    return te.create_schedule(B.op), B, k


def declared() -> None:
    A[1, 2, 3]


def misused_buffer() -> None:
    tir.decl_buffer((8,), name="X").vload((0, 0))


def split() -> None:
    s, B, k = rows()
    s[B].split(k, 0)


def lowered() -> None:
    """Vectorizing is a pass, which knows the loop by its name alone."""
    n = te.var("n")
    X = te.placeholder((n,), name="X")
    Y = te.compute((n,), lambda i: X[i] + 1.0, name="Y")
    s = te.create_schedule(Y.op)
    s[Y].vectorize(Y.op.axis[0])
    te_sched.lower(s, [X, Y])


def racing() -> None:
    s, B, k = rows()
    s[B].parallel(k)
    te_sched.build(s, [A, B])


def racing_program() -> None:
    s, B, k = rows()
    s[B].parallel(k)
    te_sched.build(te_sched.lower(s, [A, B]))


def unbound() -> None:
    s, B, _ = rows()
    te_sched.build(s, [A, B], "cuda")


def called() -> None:
    s, B, _ = rows()
    te_sched.build(s, [A, B])(np.zeros((8, 7), "float32"), np.zeros(8, "float32"))


def read_outside() -> None:
    at = te.placeholder((8,), "int32", "at")
    C = te.compute((8,), lambda i: A[at[i], 0], name="C")
    function = te_sched.build(te.create_schedule(C.op), [A, at, C])
    function(np.zeros((8, 8), "float32"), np.full(8, 9, "int32"), np.zeros(8, "float32"))


def ill_formed() -> None:
    body = tir.Evaluate(tir.Var("x", "float32"))
    verify(tir.PrimFunc((), body, {}, {"global_symbol": "f"}), "buffers")


@pytest.mark.parametrize(
    ("mistake", "error", "about", "can_override"),
    [
        (declared, DeclarationError, [("tensor", "A")], False),
        (misused_buffer, DeclarationError, [("buffer", "X")], False),
        (split, ScheduleError, [("stage", "B"), ("axis", "k")], False),
        (lowered, LoweringError, [("stage", "Y"), ("axis", "i")], False),
        (racing, BuildError, [("stage", "B"), ("axis", "k")], True),
        (racing_program, BuildError, [("stage", "B"), ("axis", "k")], True),
        (unbound, BuildError, [("stage", "B")], False),
        (called, CallError, [("argument", "A"), ("function", "main")], False),
        (read_outside, AccessError, [("stage", "C")], False),
        (ill_formed, InternalError, [("function", "f")], False),
    ],
)
def test_errors_say_what_they_are_about_as_data(mistake, error, about, can_override):
    with pytest.raises(error, match="where: ") as caught:
        mistake()
    *subjects, place = caught.value.about
    assert [(one.kind, one.name) for one in subjects] == about
    assert place.file == __file__
    assert caught.value.where == ", ".join(map(str, caught.value.about))
    assert caught.value.names(about[0][0]) == [about[0][1]]
    assert caught.value.can_override is can_override
    assert caught.value.help.endswith("pass verify=False to build anyway") is can_override
    assert "verify=False" not in caught.value.advice


def test_the_help_may_be_the_override_alone():
    error = BuildError("build it", "it races", can_override=True)
    assert error.help == "pass verify=False to build anyway"


def test_a_script_that_is_called_elsewhere_is_named_by_its_innermost_line():
    file = "/nowhere/scripts.py"
    linecache.cache[file] = (len(_SCRIPT), None, _SCRIPT.splitlines(keepends=True), file)
    names = {}
    exec(compile(_SCRIPT, file, "exec"), names)
    with pytest.raises(DeclarationError, match=r"script /nowhere/scripts\.py:6\n") as caught:
        te.hybrid.script(names["script"])(te.placeholder((8,), name="X"))
    assert [one.line for one in caught.value.about if isinstance(one, SourceLocation)][1:] == [6]


# What code may do with errors


@pytest.mark.parametrize(
    "code",
    [
        "except TeSchedError as error:\n        return 'axis' in error.why",
        "except TeSchedError as error:\n        return error.help.removesuffix('; anyway')",
        "except TeSchedError as error:\n        text = str(error)\n        text.startswith('te')",
        "except Exception as error:\n        return f'{error}'.split(':')",
        "except BuildError as error:\n        return re.findall('axis', error.fault)",
        "except BuildError as error:\n        return error.where[:4]",
        "except BuildError as error:\n        return error.args[0] == 'axis k'",
        "finally:\n        return problem.fault == 'axis k'",
        "finally:\n        return why.startswith('axis')",
    ],
)
def test_code_that_looks_into_an_error_is_found(code):
    text = f"def f(problem, why):\n    try: ...\n    {code}\n"
    assert error_texts.looks_into_errors(ast.parse(text))


@pytest.mark.parametrize(
    "code",
    [
        "except TeSchedError as error:\n        return error.names('axis')",
        "except TeSchedError as error:\n        raise CallError(error.fault, str(error)) from None",
        "except TeSchedError as error:\n        return ' '.join(error.fault.split())",
        "except RuntimeError as error:\n        return re.search('missing', str(error))",
        "finally:\n        return problem.fault == other.fault",
    ],
)
def test_code_that_shows_an_error_is_fine(code):
    text = f"def f(problem, other):\n    try: ...\n    {code}\n"
    assert not error_texts.looks_into_errors(ast.parse(text))


def test_nothing_looks_into_the_text_of_an_error():
    package = Path(te_sched.__file__).parent
    found = [
        f"{path.relative_to(package)}:{line}"
        for path, tree in syntax_trees().items()
        if path != package / "errors.py"  # which owns the texts
        for line in error_texts.looks_into_errors(tree)
    ]
    assert found == []


# Classes of errors


def _classes_elsewhere() -> set[str]:
    """The names of exceptions that modules define outside of te_sched.errors; those of commands are
    printed, private ones are caught in their modules.
    """
    found: set[str] = set()
    package = Path(te_sched.__file__).parent
    for path, node in nodes(ast.ClassDef):
        if path == package / "errors.py" or "cli" in path.relative_to(package).parts:
            continue
        bases = [ast.unparse(base) for base in node.bases]
        if any(base.endswith(("Error", "Exception")) for base in bases):
            found |= {node.name} - {name for name in (node.name,) if name[0] == "_"}
    return found


def test_all_classes_of_errors_are_in_one_module():
    # What is caught by the code that asks a question, and turned into a note or an error.
    inside = {"Mismatch", "NotAffine", "Overflow", "Stopped", "Unevaluable", "Unknown", "WorkLimit"}
    assert _classes_elsewhere() == inside
    named = {name for name, value in vars(errors).items() if isinstance(value, type)}
    kinds = {kind.__name__ for kind in _below(errors.TeSchedError)}
    commands = {"CommandError", "UsageError"}  # of the command line, which prints them
    assert {name for name in kinds if name[0] != "_"} - commands <= named


def _below(kind: type[Any]) -> set[type[Any]]:
    below = {one for one in kind.__subclasses__() if one.__module__.startswith("te_sched.")}
    return below.union(*map(_below, below))


def test_classes_are_the_same_where_they_were():
    assert te_sched.error.KnobError is te_sched.autotvm.task.space.KnobError
    assert issubclass(errors.StructuralDifference, errors.TeSchedError)


def test_warnings_have_the_line_of_the_user() -> None:
    with pytest.warns(RuntimeWarning, match="^strange$") as warned:
        warn("strange", RuntimeWarning)
    assert [warning.filename for warning in warned] == [__file__]


def test_warnings_are_shown_once_for_each_line() -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("default")
        for _ in range(2):
            warn("strange")
        warn("strange")
    assert len(warned) == 2


def test_all_warnings_of_the_library_are_at_lines_of_the_user() -> None:
    files = Path(errors.__file__).parent.rglob("*.py")
    assert [path.name for path in files if "warnings.warn" in path.read_text()] == ["errors.py"]
