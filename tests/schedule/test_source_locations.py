"""Errors name the lines on which stages were declared and scheduled."""

import re
import sys
from pathlib import Path

import pytest

from te_sched import build, lower, te
from te_sched.errors import BuildError, CallError, LoweringError, ScheduleError, Subject
from te_sched.schedule.source_locations import adding_places

A = te.placeholder((8, 8), name="A")


def _line() -> int:
    return sys._getframe(1).f_lineno


def _here(line: int) -> str:
    return re.escape(f"{Path(__file__).name}:{line}")


def test_operations_know_their_line():
    B, line = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B"), _line()
    assert (B.op.place.file, B.op.place.line) == (__file__, line)


def test_primitives_name_the_line_of_the_declaration():
    B, line = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B"), _line()
    with pytest.raises(ScheduleError, match=rf"stage B \(declared at .*{_here(line)}\)"):
        te.create_schedule(B.op)[B].split(B.op.axis[0], 0)


def test_a_rewritten_stage_keeps_the_line_of_its_declaration():
    B, line = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B"), _line()
    s = te.create_schedule(B.op)
    s.cache_read(A, "local", [B])
    with pytest.raises(ScheduleError, match=rf"stage B \(declared at .*{_here(line)}\)"):
        s[B].split(s[B].op.axis[0], 0)


def _made_stages():
    """A stage that each primitive makes, its line, and that of the declaration."""
    k = te.reduce_axis((0, 8), name="k")
    B, line = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="B"), _line()
    s = te.create_schedule(B.op)
    local, at = s.cache_write(B, "local"), _line()
    yield s[local], f"cache_write at {_at(at)} of B, declared at {_at(line)}"
    again, at = s.cache_write(local, "local"), _line()
    yield s[again], f"cache_write at {_at(at)} of B, declared at {_at(line)}"
    cached, at = s.cache_read(local, "local", [B]), _line()
    yield s[cached], f"cache_read at {_at(at)} of B, declared at {_at(line)}"
    s = te.create_schedule(B.op)
    part, at = s.rfactor(B, s[B].split(k, 4)[1]), _line()
    yield s[part], f"rfactor at {_at(at)} of B, declared at {_at(line)}"
    yield s[B], f"declared at {_at(line)}"


def _at(line: int) -> str:
    return f"{__file__}:{line}"


@pytest.mark.parametrize(("stage", "text"), list(_made_stages()))
def test_stages_that_primitives_make_name_the_declaration_too(stage, text):
    with pytest.raises(ScheduleError) as caught:
        stage.split(stage.op.axis[0], 0)
    name = stage.op.name
    assert caught.value.where.startswith(f"stage {name} ({text}), axis ")


def test_passes_name_the_declaration_of_a_stage_that_a_primitive_made():
    n = te.var("n")
    X = te.placeholder((n,), name="X")
    Y, line = te.compute((n,), lambda i: X[i] + 1.0, name="Y"), _line()
    s = te.create_schedule(Y.op)
    local, at = s.cache_write(Y, "local"), _line()
    s[local].vectorize(local.op.axis[0])
    text = rf"stage Y.local \(cache_write at .*{_here(at)} of Y, declared at .*{_here(line)}\)"
    with pytest.raises(LoweringError, match=text):
        lower(s, [X, Y])


def test_passes_name_the_line_of_the_primitive():
    n = te.var("n")
    X = te.placeholder((n,), name="X")
    Y, line = te.compute((n,), lambda i: X[i] + 1.0, name="Y"), _line()
    s = te.create_schedule(Y.op)
    s[Y].vectorize(Y.op.axis[0]) or (at := _line())
    match = rf"stage Y \(declared at .*{_here(line)}\), axis i \(vectorize at .*{_here(at)}\)"
    with pytest.raises(LoweringError, match=match):
        lower(s, [X, Y])
    with pytest.raises(LoweringError, match=match):
        build(s, [X, Y])


def test_a_name_of_two_stages_stays_a_name():
    B = te.compute((8,), lambda i: A[i, 0], name="B")
    C = te.compute((8,), lambda i: B[i] + A[9, 0], name="B")
    with pytest.raises(BuildError, match=r"where: stage B, "):
        build(te.create_schedule(C.op), [A, C])


def test_a_missing_axis_is_shown_in_the_loops():
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8, 8), lambda i, j: B[i, j] + 1.0, name="C")
    s = te.create_schedule(C.op)
    i = C.op.axis[0]
    _, inner = s[C].split(i, 4)
    s[C].parallel(inner)
    drawn = (
        r"loops:\n"
        r"    for i\.outer   <-- comes from i\n"
        r"      for i\.inner \(parallelized\)   <-- comes from i\n"
        r"        for j\n"
        r"          C = \.\.\."
    )
    with pytest.raises(ScheduleError, match=drawn):
        s[B].compute_at(s[C], i)


def test_an_impossible_attachment_is_shown_in_the_loops():
    B = te.compute((8,), lambda i: A[i, 0] + 1.0, name="B")
    C = te.compute((8,), lambda i: B[i] + 1.0, name="C")
    D = te.compute((8,), lambda i: B[i] + C[i], name="D")
    s = te.create_schedule(D.op)
    s[B].compute_at(s[C], C.op.axis[0])
    drawn = r"compute_at at .*test_\w+\.py(.|\n)*B is computed here   <-- not in the loops of D"
    with pytest.raises(LoweringError, match=drawn):
        lower(s, [A, D])


def test_an_axis_that_nothing_was_done_to_is_named_with_its_stage_once():
    @te.hybrid.script
    def copied(a):
        b = output_tensor((8, 8), "float32")  # noqa: F821
        for i in range(8):
            b[i, 0] = 0.0
            for j in range(8):
                b[i, j] = a[i, j]
        return b

    B = copied(A)
    s = te.create_schedule(B.op)
    i, j = B.op.axis
    s[B].reorder(j, i)
    with pytest.raises(LoweringError, match=r"where: stage copied \(declared at [^)]*\), axis j, "):
        lower(s, [A, B])


def test_a_folder_that_is_called_like_a_stage_stays_a_folder():
    program = """
B = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="B")
s = te.create_schedule(B.op)
s[B].parallel(k)
build(s, [A, B])
"""
    folder = "/nowhere/stage B of tests"
    given = {"te": te, "build": build, "A": A, "k": te.reduce_axis((0, 8), "k")}
    with pytest.raises(BuildError, match=rf", {folder}/program\.py:5\n"):
        exec(compile(program, f"{folder}/program.py", "exec"), given)


def test_an_axis_of_one_name_is_found_without_its_stage():
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].parallel(B.op.axis[0])
    with pytest.raises(CallError) as caught, adding_places(s):
        raise CallError(
            "do it", "it fails", "do not", [Subject("stage", "B"), Subject("axis", "j")]
        )
    assert caught.value.names("stage") == ["B"]
    with pytest.raises(CallError) as caught, adding_places(s):
        raise CallError("do it", "it fails", "do not", Subject("axis", "i"))
    assert caught.value.names("stage") == ["B"]
    assert re.search(r"axis i \(parallel at .*test_\w+\.py", caught.value.where)


def test_an_axis_of_two_stages_stays_a_name():
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8, 8), lambda i, j: B[i, j] + 1.0, name="C")
    with pytest.raises(CallError) as caught, adding_places(te.create_schedule(C.op)):
        raise CallError("do it", "it fails", "do not", Subject("axis", "i"))
    assert caught.value.where.startswith("axis i, ")
