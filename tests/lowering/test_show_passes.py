import pytest

import te_sched
from te_sched import te
from te_sched.errors import LoweringError, TeSchedError


def scheduled():
    A = te.placeholder((60,), name="A")
    B = te.compute((60,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    _, inner = s[B].split(B.op.axis[0], factor=4)
    s[B].vectorize(inner)
    return s, [A, B]


def test_show_passes_prints_the_program_and_what_each_pass_changes(capsys):
    s, args = scheduled()
    shown = te_sched.lower(s, args, show="passes")
    out = capsys.readouterr().out
    assert out.startswith("@@ schedule_ops: The loops as they are scheduled @@\n")
    assert "\n@@ vectorize_loops: Turn vectorized loops into vector expressions" in out
    assert "\n-        for i_inner in T.vectorized(4):" in out
    assert "\nNothing to do: inject_prefetch, narrow_index_types," in out
    assert str(shown) == str(te_sched.lower(s, args))


def test_show_passes_stops_where_lowering_stops(capsys):
    s, args = scheduled()
    te_sched.lower(s, args, stop_after="schedule_ops", show="passes")
    assert "flatten_storage" not in capsys.readouterr().out


def test_show_passes_shows_functions_and_modules(capsys):
    module = te_sched.lower(*scheduled(), stop_after="flatten_storage")
    for program in (module, module["main"]):
        te_sched.lower(program, show="passes")
        out = capsys.readouterr().out
        assert out.startswith("@@ main: the program that is given @@\n")
        assert "@@ vectorize_loops" in out


def test_show_passes_prints_what_there_was_before_a_failure(capsys):
    def refuse(func):
        raise TeSchedError("no")

    s, args = scheduled()
    added = te_sched.config.Lowering(added_passes=((1, refuse),))
    with te_sched.config.scoped(lowering=added), pytest.raises(TeSchedError, match="no"):
        te_sched.lower(s, args, show="passes")
    assert "@@ flatten_storage" in capsys.readouterr().out


def test_show_passes_prints_a_deep_program_once(capsys):
    A = te.placeholder((4,), name="A")
    value = A
    for number in range(400):
        value = te.compute((4,), lambda i, value=value: value[i] + 1.0, name=f"B{number}")
    te_sched.lower(te.create_schedule(value.op), [A, value], show="passes")
    assert capsys.readouterr().out.count("@@ schedule_ops") == 1


def test_show_rejects_other_words():
    with pytest.raises(LoweringError, match=r"use show='passes'.*did you mean 'passes'"):
        te_sched.lower(*scheduled(), show="pases")
