"""Programs built frame by frame."""

from __future__ import annotations

import pytest

from te_sched.errors import ScriptError
from te_sched.script import tir as T
from te_sched.script.frames import ScriptBuilder


def test_programs_are_built_by_frames() -> None:
    with ScriptBuilder() as builder, T.prim_func():
        T.func_name("f")
        A = T.arg("A", T.Buffer((4,), "float32"))
        with T.serial(4) as i, T.If(i < 2):
            with T.Then():
                T.buffer_store(A, 1.0, [i])
            with T.Else():
                T.buffer_store(A, 2.0, [i])
        ScriptBuilder.name("i", i)
    assert builder.get().script().splitlines()[4:] == [
        "    for i in range(4):",
        "        if i < 2:",
        "            A[i] = T.float32(1)",
        "        else:",
        "            A[i] = T.float32(2)",
    ]


def test_words_stand_in_a_program() -> None:
    with pytest.raises(ScriptError, match="no program is being built"):
        T.evaluate(0)
    with (
        ScriptBuilder(),
        pytest.raises(ScriptError, match=r"T.func_attr stands outside of a function"),
    ):
        T.func_attr({})
    with ScriptBuilder() as builder:
        pass
    with pytest.raises(ScriptError, match="nothing was built"):
        builder.get()


def test_names_are_given_to_what_is_built() -> None:
    with ScriptBuilder() as builder, T.prim_func():
        T.func_name("f")
        with T.grid(2, 3) as (i, j):
            ScriptBuilder.name_many(["row", "column"], [i, j])
            T.evaluate(i + j)
    assert "for row, column in T.grid(2, 3):" in builder.get().script()
