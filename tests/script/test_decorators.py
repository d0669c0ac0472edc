"""Decorators of functions and modules."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import te_sched
from te_sched.errors import ScriptError
from te_sched.ir.structural import structural_difference
from te_sched.script import from_source
from te_sched.script import ir as I
from te_sched.script import tir as T


def test_a_function_in_another_class_is_itself() -> None:
    class Programs:
        @T.prim_func
        def first(A: T.Buffer((4,), "float32")) -> None:
            A[0] = 1.0

    assert "A[0] = T.float32(1)" in Programs.first.script()


def test_functions_and_modules_are_named_as_in_python() -> None:
    @T.prim_func(private=True)
    def double(A: T.Buffer((8,), "float32")):
        A[0] = A[0] * T.float32(2)

    @T.prim_func(private=True)
    def twice(A: T.Buffer((8,), "float32")):
        A[0] = A[0] * T.float32(2)

    @I.ir_module
    class Empty:
        pass

    assert (double.__name__, Empty.__name__) == ("double", "Empty")
    assert structural_difference(double, twice) is None
    assert structural_difference(Empty, te_sched.IRModule({})) is None
    assert te_sched.IRModule({}).__name__ == "Module"


def test_a_class_of_a_module_that_is_only_executed(tmp_path: Path) -> None:
    """As importlib executes a file that it does not import."""
    file = tmp_path / "program.py"
    file.write_text(
        "from te_sched.script import ir as I, tir as T\n"
        "@I.ir_module\n"
        "class Module:\n"
        "    @T.prim_func\n"
        "    def main(A: T.Buffer((4,), 'float32')):\n"
        "        for i in range(4):\n"
        "            A[i] = 1.0\n"
    )
    spec = importlib.util.spec_from_file_location("only_executed", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert "A[i] = T.float32(1)" in str(module.Module)


def test_decorators_stand_before_functions_and_classes() -> None:
    with pytest.raises(ScriptError, match=r"@T.prim_func stands before 3, expected a function"):
        T.prim_func(3)
    with pytest.raises(ScriptError, match=r"@I.ir_module stands before 3, expected a class"):
        I.ir_module(3)


def test_decorators_have_known_options() -> None:
    with pytest.raises(ScriptError, match=r"T\.prim_func has no option privat"):
        from_source("@T.prim_func(privat=True)\ndef f():\n    T.evaluate(0)\n")


@pytest.mark.parametrize("kind", ["T.prim_func", "R.function"])
def test_methods_are_refused_with_what_to_remove(kind: str) -> None:
    source = f"@I.ir_module\nclass M:\n    @{kind}\n    def f(self):\n        return None\n"
    with pytest.raises(ScriptError, match="remove self"):
        from_source(source)
