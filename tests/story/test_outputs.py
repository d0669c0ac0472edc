"""Cross-highlighting: of which stages the lines of programs and of generated code are."""

from __future__ import annotations

import pytest

import te_sched
from te_sched import te
from te_sched.codegen.target import Target
from te_sched.driver import functions_for_processor
from te_sched.story.model import Line, StoryStep
from te_sched.story.outputs import changes, numbered
from tests.golden.corpus import programs
from tests.story.compiled_steps import last, lines_with, output, two_stages


@pytest.mark.parametrize("kind", ["llvm", "assembly"])
def test_instructions_are_of_the_stages_of_their_statements(kind: str) -> None:
    lines = output(last(*two_stages()), kind)
    first = {line.stages[0] for line in lines if line.stages}
    assert first == {"B", "C"}
    known = [line for line in lines if line.stages]
    assert len(known) > len(lines) / 2
    # exp is of B alone: its constants and conversions come before the products of C
    places = {
        name: [k for k, one in enumerate(lines) if one.stages[:1] == (name,)] for name in "BC"
    }
    assert min(places["B"]) < max(places["C"])


def test_generated_code_shows_no_debug_metadata() -> None:
    step = last(*two_stages())
    text = "\n".join(line.text for one in step.outputs for line in one.lines)
    for hidden in ("!dbg", "!DILocation", ".loc", "te_sched_metadata", ".repeat"):
        assert hidden not in text
    assert " i32 @te_sched_main(" in text


def test_the_body_of_a_parallel_loop_is_a_function_with_stages() -> None:
    s, args = two_stages()
    s[args[1]].parallel(args[1].op.axis[0])
    lines = output(last(s, args), "llvm")
    start = next(k for k, line in enumerate(lines) if "te_sched_main.parallel" in line.text)
    assert any(line.stages[:1] == ("C",) for line in lines)
    assert start >= 0


def test_lines_of_cuda_are_of_the_stages_of_their_statements() -> None:
    s, (A, C) = two_stages()
    B = s.stages[1].op.output(0)
    s[B].set_scope("shared")
    outer, inner = s[C].split(C.op.axis[0], 32)
    s[C].bind(outer, te.thread_axis("blockIdx.x"))
    s[C].bind(inner, te.thread_axis("threadIdx.x"))
    s[B].compute_at(s[C], outer)
    _, part = s[B].split(B.op.axis[0], 32)
    s[B].bind(part, te.thread_axis("threadIdx.x"))
    lines = output(last(s, [A, C]), "cuda")
    (shared,) = lines_with(lines, "__shared__")
    (store,) = lines_with(lines, "C[")
    assert shared.stages == ("B",)
    assert store.stages == ("C", "B")


def test_instructions_say_their_lines_only_when_asked() -> None:
    s, args = two_stages()
    assert "!dbg" not in te_sched.build(s, args).get_source("ll")
    functions = functions_for_processor(s, args, Target("llvm"))
    assert set(functions) == {"main"}


def test_an_unbuildable_schedule_has_no_functions_for_a_processor() -> None:
    k = te.reduce_axis((0, 8), "k")
    A = te.placeholder((8,), name="A")
    B = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].parallel(k)
    with pytest.raises(te_sched.BuildError, match="axis k"):
        functions_for_processor(s, [A, B], Target("llvm"))


def generated_from(step: StoryStep, kind: str, line: Line) -> list[str]:
    """The instructions of the statement that a line of the program shows."""
    return [one.text for one in output(step, kind) if set(one.numbers) & set(line.numbers)]


@pytest.mark.parametrize("kind", ["llvm", "assembly"])
def test_each_statement_has_its_own_instructions(kind: str) -> None:
    A = te.placeholder((64,), name="A")
    B, C = te.compute((64,), lambda i: (A[i] * 3.0, A[i] + 7.0), name="B")
    step = last(te.create_schedule(B.op), [A, B, C])
    product, total = lines_with(step.program, "] = ")
    assert product.stages == total.stages
    assert product.numbers != total.numbers
    multiplies, adds = (generated_from(step, kind, one) for one in (product, total))
    assert any("mul" in one for one in multiplies)
    assert not any("mul" in one for one in adds)


def test_a_statement_that_lowering_copies_has_the_instructions_of_all_copies() -> None:
    A, B = (te.placeholder((128, 128), name=name) for name in "AB")
    k = te.reduce_axis((0, 128), "k")
    C = te.compute((128, 128), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    sums = s.cache_write(C, "local")
    rows, columns, _, inner = s[C].tile(*C.op.axis, 30, 64)
    s[sums].compute_at(s[C], columns)
    s[sums].reorder(k, *s[sums].op.axis)
    s[sums].vectorize(s[sums].op.axis[1])
    s[C].vectorize(inner)
    s[C].parallel(rows)
    step = last(s, [A, B, C])
    (zeros,) = lines_with(step.program, "= T.Broadcast(T.float32(0), 64)")
    copies = lines_with(output(step, "compiled"), "= T.Broadcast(T.float32(0), 64)")
    assert len(copies) == 2
    assert zeros.numbers == tuple(number for line in copies for number in line.numbers)


def rows_and_lines(step: StoryStep) -> dict[str, list[str]]:
    """The lines of the program that the rows of the loop nest show."""
    return {row.text: [step.program[n - 1].text.strip() for n in row.lines] for row in step.nest}


def test_rows_of_the_nest_show_the_statements_of_the_program() -> None:
    A = te.placeholder((64, 64), name="A")
    k = te.reduce_axis((0, 64), "k")
    C = te.compute((64,), lambda i: te.sum(A[i, k], axis=k), name="C")
    D = te.compute((64,), lambda i: C[i] + 1.0, name="D")
    s = te.create_schedule(D.op)
    outer, _ = s[D].split(D.op.axis[0], 24)
    s[C].compute_at(s[D], outer)
    s[C].unroll(s[C].split(k, 2)[1])
    step = last(s, [A, D])
    shown = rows_and_lines(step)
    assert shown["for i.outer  0:3"] == ["for i_outer in range(3):"]
    assert shown["for i.inner  0:24"] == ["for i_inner in range(24):"]
    assert shown["C[i + i.outer * 24] = 0.0"] == ["C_1[i] = T.float32(0)"]
    (updates,) = (lines for text, lines in shown.items() if "+=" in text)
    assert len(updates) == 2  # the loop of k.inner is unrolled
    (loop,) = (row for row in step.nest if row.text == "for k.outer  0:32")
    (line,) = lines_with(step.program, "for k_outer")
    assert loop.numbers == line.numbers != ()
    (memory,) = (lines for text, lines in shown.items() if text.startswith("C: float32"))
    assert memory == ['C = T.allocate([24], "float32", "global")']


def test_rows_of_launches_show_the_launches_in_order() -> None:
    s, (A, C) = two_stages()
    for stage in s.stages[1:]:
        s[stage.op].bind(stage.op.axis[0], te.thread_axis("threadIdx.x"))
    step = last(s, [A, C])
    rows = [row for row in step.nest if row.kind == "thread"]
    assert len(rows) == 2
    assert [len(row.lines) for row in rows] == [1, 1]
    assert rows[0].lines < rows[1].lines


def test_lines_of_cuda_are_generated_from_their_statements() -> None:
    s, (A, C) = two_stages()
    for stage in s.stages[1:]:
        s[stage.op].bind(stage.op.axis[0], te.thread_axis("threadIdx.x"))
    step = last(s, [A, C])
    (store,) = lines_with(output(step, "compiled"), "C_1[threadIdx_x] = ")
    (line,) = generated_from(step, "cuda", store)
    assert line.strip().startswith("C[")


def test_equal_lines_are_matched_in_order_or_not_at_all() -> None:
    twice = [Line("x_1 = 0", ("X",), (number,)) for number in (3, 5)]
    same = [Line("x = 0", ("X",)), Line("  x_2 = 0", ("X",))]
    plain = [Line(one.text.replace("x_2", "x").replace("x =", "x_9 ="), ("X",)) for one in same]
    assert [line.numbers for line in numbered(plain, twice)] == [(3,), (5,)]
    assert [line.numbers for line in numbered(plain[:1], twice)] == [(3, 5)]
    assert [line.numbers for line in numbered(plain * 2, twice)] == [()] * 4
    assert [line.numbers for line in numbered([Line("x_1 = 0")], twice)] == [()]


def test_changes_show_two_lines_round_them_and_count_the_rest() -> None:
    before = tuple(Line(f"line {k}") for k in range(9))
    after = (*before[:4], Line("new", ("C",)), *before[5:])
    assert [(one.mark, one.text) for one in changes(before, after)] == [
        ("@", "2 unchanged lines"),
        (" ", "line 2"),
        (" ", "line 3"),
        ("-", "line 4"),
        ("+", "new"),
        (" ", "line 5"),
        (" ", "line 6"),
        ("@", "2 unchanged lines"),
    ]
    assert changes((), after) == changes(before, before) == ()


@pytest.mark.parametrize("name", ["blur_stencil", "gemm_cpu", "softmax"])
def test_the_assembly_is_what_is_built(name: str) -> None:
    (program,) = [one for one in programs("programs") if one.name == name]
    *_, (s, args) = program.steps(te_sched)
    shown = output(te_sched.explain(s, args, measure=False, max_steps=2).steps[-1], "assembly")
    built = te_sched.build(s, args).get_source("asm").splitlines()
    instructions = {line.expandtabs(8) for line in built}
    assert len(shown) > 50
    assert [line.text for line in shown if line.text and line.text not in instructions] == []


def test_changes_ignore_indentation_and_numbers_of_common_subexpressions() -> None:
    before = (
        Line("for i in range(4):"),
        Line("    cse_var_1 = i * 4"),
        Line("    A[cse_var_1] = 0"),
    )
    after = (Line("cse_var_2 = i * 4"), Line("A[cse_var_2] = 0"))
    assert [(one.mark, one.text) for one in changes(before, after)] == [
        ("-", "for i in range(4):"),
        (" ", "cse_var_2 = i * 4"),
        (" ", "A[cse_var_2] = 0"),
    ]
