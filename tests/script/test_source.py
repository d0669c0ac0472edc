"""The text of a script, and errors that show the place."""

from __future__ import annotations

import pytest

from te_sched.errors import ScriptError
from te_sched.script import from_source
from te_sched.script import tir as T
from tests.script.wrong_scripts import failed


def test_a_text_that_is_not_python_shows_its_place() -> None:
    error = failed("@T.prim_func\ndef f(:\n    pass")
    assert error.fault == "invalid syntax"
    assert error.excerpt.splitlines()[-1].strip().endswith("^")


def test_a_text_without_a_function_is_refused() -> None:
    with pytest.raises(ScriptError, match="a script has no function"):
        from_source("x = 1")


def test_a_function_without_a_source_is_refused() -> None:
    namespace: dict[str, object] = {}
    exec("def f(): pass", namespace)
    with pytest.raises(ScriptError, match="the source of f cannot be read"):
        T.prim_func(namespace["f"])


def test_the_place_is_that_of_the_file() -> None:
    with pytest.raises(ScriptError) as caught:

        @T.prim_func
        def wrong(A: T.Buffer((4,), "float32")) -> None:
            for i in range(4):
                A[i] = nothing  # noqa: F821

    assert "test_source.py" in caught.value.where
    assert "A[i] = nothing" in caught.value.excerpt
