"""Declarations of tensors in mathematical notation."""

from __future__ import annotations

from te_sched import te
from te_sched.views.declaration import declaration, type_text
from tests.views.display import html_of, text_of
from tests.views.programs import product


def test_tensors_show_their_declaration():
    _, A, _, C = product()
    assert "A is given by the caller" in text_of(html_of(A))
    text = text_of(html_of(C))
    assert "C: float32[64, 64]" in text
    assert (
        "C[i, j] = sum(A[i, k] * B[k, j], axis=k)\n  i in 0:64\n  j in 0:64\n  k in 0:32, reduced"
        in text
    )
    assert "declared at " in text


def test_a_type_has_the_sizes_of_the_tensor():
    n = te.var("n")
    assert type_text(te.placeholder((1024, n), name="A")) == "float32[1024, n]"
    assert type_text(te.placeholder((), "int8", name="A")) == "int8[]"


def test_a_scan_begins_and_goes_on():
    begin = te.placeholder((1, 4), name="begin")
    state = te.placeholder((8, 4), name="state")
    update = te.compute((8, 4), lambda t, i: state[t - 1, i] + 1.0, name="update")
    scan = te.scan(te.compute((1, 4), lambda _, i: begin[0, i], name="start"), update, state)
    lines = declaration(scan)
    assert lines[0] == f"{scan.name} begins as start"
    assert "= update[" in lines[1]


def test_an_external_function_has_the_names_of_its_inputs():
    A = te.placeholder((4,), name="A")
    B = te.extern((4,), [A], lambda ins, outs: te.const(0), name="B")
    assert declaration(B) == ("B = extern(A)",)
