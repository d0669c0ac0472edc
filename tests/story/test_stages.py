"""Of which stages statements are."""

from __future__ import annotations

import te_sched
from te_sched import te
from tests.story.compiled_steps import last, lines_with, two_stages


def test_a_store_is_of_the_stage_it_computes_then_of_those_it_reads() -> None:
    step = last(*two_stages())
    (store,) = lines_with(step.program, "C[i] = ")
    assert store.stages == ("C", "B")
    (memory,) = lines_with(step.program, "T.allocate")
    assert memory.stages == ("B",)
    loops = lines_with(step.program, "for i in range")
    assert [loop.stages for loop in loops] == [("B",), ("C",)]


def test_a_loop_is_of_the_stage_computed_last_in_it_then_of_the_others() -> None:
    s, args = two_stages()
    C = args[1]
    outer, _ = s[C].split(C.op.axis[0], 16)
    s[s.stages[1].op].compute_at(s[C], outer)
    step = last(s, args)
    (loop,) = lines_with(step.program, "for i_outer in range")
    assert loop.stages == ("C", "B")
    rows = {row.text: row.stages for row in step.nest if row.kind == "loop"}
    assert rows["for i.outer  0:16"] == ("C", "B")
    counted = {row.kind for row in step.nest if row.figures is not None}
    assert counted == {"function", "loop"}


def test_extern_code_is_of_its_stage() -> None:
    A = te.placeholder((8,), name="A")
    B = te.extern(
        (8,),
        [A],
        lambda ins, outs: te_sched.tir.call_packed("te_sched.tests.story", ins[0], outs[0]),
        name="B",
        dtype="float32",
    )
    C = te.compute((8,), lambda i: B[i] + 1.0, name="C")
    with registered("te_sched.tests.story"):
        step = last(te.create_schedule(C.op), [A, C])
    (call,) = lines_with(step.program, "te_sched.tests.story")
    assert call.stages[0] == "B"
    assert step.problems == ()


class registered:
    """A packed function that does nothing, while a test runs."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        te_sched.register_func(self.name, lambda *args: None, override=True)

    def __exit__(self, *error: object) -> None:
        te_sched.runtime.remove_global_func(self.name)
