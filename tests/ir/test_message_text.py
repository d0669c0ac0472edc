"""Expressions in messages name axes as the rest of a message does."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import build, te
from te_sched.errors import BuildError, ScheduleError
from te_sched.ir.expr import Var
from te_sched.ir.message_text import spelled


def test_variables_have_their_names() -> None:
    inner, fused = Var("k.inner"), Var("i.j.fused")
    assert spelled(inner * 4 + fused) == "k.inner * 4 + i.j.fused"
    assert spelled(Var("n") + 1) == "n + 1"
    assert spelled(Var("k_inner")) == "k_inner"


A = te.placeholder((64, 64), name="A")


def test_an_index_out_of_bounds_names_axes_in_one_way() -> None:
    D = te.compute((64,), lambda i: A[i, i + 3], name="D")
    s = te.create_schedule(D.op)
    s[D].split(D.op.axis[0], 5)
    with pytest.raises(BuildError) as caught:
        build(s, [A, D])
    text = "the index i.inner + i.outer * 5 + 3 is 64 where i.outer = 12 and i.inner = 1"
    assert text in caught.value.why


def test_a_refused_argument_is_named_as_axes_are() -> None:
    C = te.compute((64,), lambda i: A[i, 0], name="C")
    s = te.create_schedule(C.op)
    _, inner = s[C].split(C.op.axis[0], 5)
    with pytest.raises(ScheduleError, match=r"must be a condition, got i\.inner \+ 1"):
        s[C].set_store_predicate(inner.var + 1)


def test_checks_of_the_debug_build_name_axes_in_one_way() -> None:
    places = te.placeholder((64,), "int32", name="P")
    E = te.compute((64,), lambda i: A[places[i], i], name="E")
    s = te.create_schedule(E.op)
    s[E].split(E.op.axis[0], 8)
    run = build(s, [A, places, E])
    index = np.full(64, 64, "int32")
    with pytest.raises(RuntimeError, match=r"the index P\[i\.inner \+ i\.outer \* 8\] is 64"):
        run(np.zeros((64, 64), "float32"), index, np.zeros(64, "float32"))
