"""Loops that a schedule vectorizes or parallelizes, but that are serial when the program runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import te_sched
from te_sched import te, tir
from te_sched.codegen.target import Target
from te_sched.driver import functions_for_processor
from te_sched.ir import stmt as S
from te_sched.ir.visitor import statements
from te_sched.views.loop_tree import loop_tree, tree_text


def doubled(n: Any) -> tuple[te.Schedule, te.Tensor, te.Tensor]:
    """Twice every other element: some lanes of them are no vector."""
    A = te.placeholder((2 * n,), name="A")
    B = te.compute((n,), lambda i: A[i * 2] * 2, name="B")
    return te.create_schedule(B.op), A, B


def guarded(n: Any) -> tuple[te.Schedule, list[te.Tensor]]:
    s, A, B = doubled(n)
    s[B].vectorize(s[B].split(B.op.axis[0], 16)[1])
    return s, [A, B]


def padded(choose: Callable[..., Any], period: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """Zeros before and after some elements: with a period of 32, these are between two limits."""
    A = te.placeholder((30,), name="A")
    B = te.compute(
        (32,), lambda i: choose(te.all(i > 0, i % period < period - 1), A[i - 1], 0.0), name="B"
    )
    s = te.create_schedule(B.op)
    s[B].vectorize(B.op.axis[0])
    return s, [A, B]


def called() -> tuple[te.Schedule, list[te.Tensor]]:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: tir.call_extern("float32", "cosf", A[i]), name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(B.op.axis[0])
    return s, [A, B]


def triangle() -> tuple[te.Schedule, list[te.Tensor]]:
    """A loop whose extent is another loop variable."""

    def body(outs: Any) -> Any:
        ib = tir.ir_builder.create()
        b = ib.buffer_ptr(outs[0])
        with ib.for_range(0, 8, kind="vectorize", name="i") as i, ib.for_range(0, i, name="j") as j:
            b[i * 8 + j] = 1.0
        return ib.get()

    B = te.extern((64,), [], lambda ins, outs: body(outs), name="B", dtype="float32")
    return te.create_schedule(B.op), [B]


def endless() -> tuple[te.Schedule, list[te.Tensor]]:
    def body(outs: Any) -> Any:
        ib = tir.ir_builder.create()
        b = ib.buffer_ptr(outs[0])
        with ib.for_range(0, 8, kind="vectorize", name="i") as i, ib.while_loop(b[i] < 1.0):
            b[i] = b[i] + 1.0
        return ib.get()

    B = te.extern((8,), [], lambda ins, outs: body(outs), name="B", dtype="float32")
    return te.create_schedule(B.op), [B]


def nested(annotate: str) -> tuple[te.Schedule, list[te.Tensor]]:
    B = te.compute((8, 8), lambda i, j: i * 8 + j, name="B")
    s = te.create_schedule(B.op)
    for axis in B.op.axis:
        getattr(s[B], annotate)(axis)
    return s, [B]


SERIAL = {
    "guard": (
        guarded(1000),
        "i.inner",
        "the condition i.inner + i.outer * 16 < 1000 differs",
        "facto",
    ),
    "padding": (
        padded(te.if_then_else, 8),
        "i",
        "if_then_else chooses by 0 < i and i % 8 < 7",
        "tir.Select",
    ),
    "call": (called(), "i", "cosf(A[i]) takes no vectors", "without the call"),
    "extent": (triangle(), "i", "i, an extent inside of it, differs", "the innermost loop"),
    "while": (endless(), "i", "leave a while loop at different times", "inside of the while loop"),
    "vectors": (nested("vectorize"), "j", "are vectors of another loop", "vectorize one of"),
    "parallel": (
        nested("parallel"),
        "j",
        "the parallel loop i around it has all",
        "fuse the loops",
    ),
}


@pytest.mark.parametrize("case", SERIAL)
def test_serial_loops_say_so_with_the_reason_and_a_remedy(case: str) -> None:
    (s, args), name, why, remedy = SERIAL[case]
    lines = loop_tree(s, args)
    (note,) = [line for line in lines if line.kind == "note"]
    (loop,) = [line for line in lines if line.text.startswith(f"for {name} ")]
    assert loop.text.endswith("not parallel" if case == "parallel" else "not vectorized")
    assert (loop.kind, loop.annotation) == ("loop", "")
    assert note.depth == loop.depth + 1
    assert note.text.startswith(f"{name} is serial: ")
    assert why in note.text
    assert remedy in note.text.partition("; ")[2]
    assert str(s) == tree_text(loop_tree(s))
    if case != "parallel":  # parallel loops stay so in the program, and run one after the other
        assert _has_serial_lanes(s, args)


def _has_serial_lanes(s: te.Schedule, args: Any) -> bool:
    """Whether the program that is compiled has a loop over the lanes of a vector."""
    functions = functions_for_processor(s, args, Target("llvm"), "main").values()
    loops = [one for func in functions for one in statements(func.body) if type(one) is S.For]
    return any(one.is_scalarized or one.loop_var.name == "j" for one in loops)


@pytest.mark.parametrize(
    "case",
    [
        guarded(1024),
        guarded(100_003),
        padded(tir.Select, 8),
        padded(te.if_then_else, 32),
        nested("unroll"),
    ],
)
def test_loops_that_are_vectors_when_built_have_no_note(case: Any) -> None:
    s, args = case
    assert all(line.kind != "note" for line in loop_tree(s, args))
    assert not _has_serial_lanes(s, args) or "unrolled" in str(s)


def test_loops_with_a_serial_rest_are_vectorized_in_part() -> None:
    s, args = guarded(te.var("n"))
    (loop,) = [line for line in loop_tree(s, args) if line.annotation == "vectorized"]
    assert loop.text == "vectorized i.inner  0:16  in part"
    assert "i.inner is serial in part: the condition i.inner + i.outer * 16 < n differs" in str(s)


def test_vectorization_that_is_switched_off_is_the_reason() -> None:
    s, args = guarded(1000)
    with te_sched.transform.PassContext(config={"tir.disable_vectorize": True}):
        text = tree_text(loop_tree(s, args))
    assert "i.inner is serial: vectorization is switched off" in text


def test_parallel_loops_of_threads_are_serial() -> None:
    s, args = nested("parallel")
    s[args[0]].bind(args[0].op.axis[0], te.thread_axis("blockIdx.x"))
    assert "j is serial: a thread of the GPU runs it alone; bind it to threads" in str(s)


def test_schedules_of_blocks_say_it_too() -> None:
    _, A, B = doubled(1000)
    sch = tir.Schedule(te.create_prim_func([A, B]))
    (i,) = sch.get_loops(sch.get_block("B"))
    sch.vectorize(sch.split(i, [None, 16])[1])
    text = tree_text(loop_tree(sch))
    assert "0:16  not vectorized" in text
    assert " is serial: the condition " in text


def test_explain_says_it_at_the_step_that_asks_for_it() -> None:
    s, args = guarded(1000)
    story = te_sched.explain(s, args, measure=False)
    declared, split, vectorized = story.steps
    (note,) = vectorized.notes
    assert note.startswith("Loop i.inner is serial: the condition i.inner + i.outer * 16 < 1000")
    assert (declared.notes, split.notes) == ((), ())
    rows = [row for row in vectorized.nest if row.kind == "loop"]
    assert [row.annotation for row in rows] == ["", ""]
    assert note in story.text()
    assert "i.inner is serial" in story.html()
    assert {one["annotation"] for one in story.records("loops")} == {""}
