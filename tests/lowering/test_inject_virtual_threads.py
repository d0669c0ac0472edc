"""Virtual threads: copies, loops, shares of buffers."""

from __future__ import annotations

import pytest

from te_sched.errors import LoweringError
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import IterVar
from te_sched.ir.stmt import For, IfThenElse, SeqStmt
from te_sched.ir.visitor import statements
from te_sched.lowering.inject_virtual_threads import inject_virtual_threads
from tests.lowering.build import (
    allocate,
    attribute,
    block,
    expected,
    function,
    loop,
    read,
    store,
    temporary,
    text,
    thread,
    var,
)

A = decl_buffer((64,), name="A")
C = decl_buffer((64,), name="C")
i, v, w = var("i"), var("v"), var("w")


def test_statements_are_copied_and_buffers_shared_out() -> None:
    B = temporary("B", 4, scope="local")
    copy = loop(i, 4, store(B, read(A, v * 4 + i), i))
    use = loop(i, 4, store(C, read(B, i), v * 4 + i))
    func = function(thread("vthread", 2, v, allocate(B, copy, use)), A, C)
    assert text(inject_virtual_threads(func)) == expected("""
        B = T.allocate([8], "float32", "local")
        B_1 = T.Buffer((16,), data=B, scope="local")
        for i in range(4):
            B_1[T.Mul(0, 4) + i] = A[T.Mul(0, 4) + i]
            B_1[T.Mul(1, 4) + i] = A[T.Mul(1, 4) + i]
        for i in range(4):
            C[T.Mul(0, 4) + i] = B_1[T.Mul(0, 4) + i]
            C[T.Mul(1, 4) + i] = B_1[T.Mul(1, 4) + i]
    """)


def test_what_does_not_depend_is_done_once() -> None:
    B = temporary("B", 4, scope="shared")
    copy = loop(i, 4, store(B, read(A, i), i))
    func = function(thread("vthread", 2, v, allocate(B, copy, store(C, read(B, 0), v))), A, C)
    found = text(inject_virtual_threads(func))
    assert 'allocate([4], "float32", "shared")' in found
    assert found.count("= A[i]") == 1


def test_cthreads_share_nothing() -> None:
    B = temporary("B", 4, scope="shared")
    copy = loop(i, 4, store(B, read(A, i), i))
    func = function(thread("cthread", 2, v, allocate(B, copy)), A)
    assert 'allocate([8], "float32", "shared")' in text(inject_virtual_threads(func))


def test_many_virtual_threads_are_a_loop() -> None:
    found = inject_virtual_threads(function(thread("vthread", 16, v, store(A, 0.0, v)), A)).body
    assert isinstance(found, For)
    assert found.loop_var.name == "v.s"


def test_few_virtual_threads_are_copies() -> None:
    found = inject_virtual_threads(function(thread("vthread", 15, v, store(A, 0.0, v)), A)).body
    assert isinstance(found, SeqStmt)
    assert len(found.seq) == 15


def test_loop_that_depends_is_repeated_as_a_whole() -> None:
    func = function(thread("vthread", 2, v, loop(i, v + 1, store(A, 0.0, i))), A)
    assert (
        text(inject_virtual_threads(func))
        == "for v_s in range(2):\n    for i in range(v_s + 1):\n        A[i] = T.float32(0)"
    )


def test_condition_that_depends_is_copied_with_its_branch() -> None:
    guard = IfThenElse(v * 4 + i < 6, store(A, 0.0, i))
    found = inject_virtual_threads(function(thread("vthread", 2, v, loop(i, 4, guard)), A))
    assert text(found).count("if ") == 2


def test_inner_virtual_threads_come_first() -> None:
    inner = thread("vthread", 2, w, store(A, 0.0, v * 8 + w * 4))
    found = text(inject_virtual_threads(function(thread("vthread", 2, v, inner), A)))
    assert found.splitlines() == [
        f"A[T.Mul({x}, 8) + T.Mul({y}, 4)] = T.float32(0)" for y in (0, 1) for x in (0, 1)
    ]


def test_copies_define_variables_of_their_own() -> None:
    B = temporary("B", 4, scope="local")
    guard = IfThenElse(v < 1, allocate(B, block(store(B, 0.0, 0), store(C, read(B, 0), v))))
    found = inject_virtual_threads(function(thread("vthread", 2, v, guard), C))
    allocated = [node.buffer_var for node in statements(found.body) if hasattr(node, "buffer_var")]
    assert len(allocated) == len(set(allocated)) == 2


def test_symbolic_number_is_rejected() -> None:
    axis = IterVar(None, v, "ThreadIndex", "vthread")
    func = function(attribute(axis, "virtual_thread", var("n"), store(A, 0.0, v)), A)
    with pytest.raises(LoweringError, match=r"(?s)virtual thread v has symbolic extent n.*nparts"):
        inject_virtual_threads(func)


def test_copies_among_statements_join_their_sequence() -> None:
    copies = thread("vthread", 2, v, store(C, 0.0, v))
    before = store(C, 1.0, 9)
    body = inject_virtual_threads(function(block(before, copies), A, C)).body
    assert not any(
        type(part) is SeqStmt
        for node in statements(body)
        if type(node) is SeqStmt
        for part in node.seq
    )
