"""Cards of objects, asked as IPython asks them."""

from __future__ import annotations

import time

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.analysis.judge import check
from te_sched.codegen.checker.report import Report
from te_sched.errors import TeSchedError
from tests.golden.corpus import programs
from tests.tensorir.programs import function, program
from tests.tracebacks import failed
from tests.views.display import html_of, text_of
from tests.views.programs import broken, chain, product, scheduled, tiled


def test_schedule_shows_loops_dataflow_and_trace():
    s, *_ = tiled()
    html = html_of(s)
    text = text_of(html)
    assert "C.local: float32[8, 16] local, 512 bytes" in text
    assert '<svg xmlns="http://www.w3.org/2000/svg" class="te-flow"' in html
    assert "trace (6 entries)" in text
    assert "s[C].parallel(i_outer)" in text
    assert len(html) < 16_000


def test_schedule_that_cannot_be_lowered_is_shown():
    assert "not lowered: " in text_of(html_of(broken()))


def test_large_schedules_are_cut_and_quick():
    s = chain(1000)
    start = time.process_time()
    html = html_of(s)
    assert time.process_time() - start < 5
    assert "3,600 lines more; print it to see all." in html
    assert "1001 stages are too many for a picture." in html
    assert len(html) < 100_000


def test_stage_shows_what_it_computes_and_its_loops():
    s, _, _, C = tiled()
    text = text_of(html_of(s[C]))
    assert "C[i, j] = C.local[i, j]" in text or "sum(A[i, k] * B[k, j], axis=k)" in text
    assert "parallel i.outer  0:8" in text
    assert "vectorized j.inner  0:16" in text


def test_groups_are_shown():
    s = chain(3)
    group = s.create_group(outputs=s.stages[2].op, inputs=s.stages[1].op)
    assert "group" in text_of(html_of(group))


@pytest.mark.parametrize("program", programs("primitives", "programs"), ids=lambda one: one.name)
def test_every_known_program_is_shown(program):
    for s, _ in program.steps(te_sched):
        html_of(s)
        for stage in s.stages:
            html_of(stage)
            html_of(stage.op.output(0))


def test_programs_are_colored():
    s, A, B, C = tiled()
    module = te_sched.lower(s, [A, B, C])
    for shown in (module, module["main"]):
        assert '<span class="k">def</span>' in html_of(shown)


def test_module_shows_its_functions_and_code():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    module = te_sched.build(te.create_schedule(B.op), [n, A, B])
    text = text_of(html_of(module))
    assert "module for processor, entry main" in text
    assert "main(n: int32, A: float32[n], B: float32[n])" in text
    assert "define" in text


def test_loaded_module_says_that_it_has_no_source(tmp_path):
    s, A, B, C = product()
    te_sched.build(s, [A, B, C]).export_library(tmp_path / "lib.so")
    module = te_sched.runtime.load_module(tmp_path / "lib.so")
    assert "cannot show the source of a loaded module: files contain machine" in text_of(
        html_of(module)
    )


def test_cuda_module_shows_its_launch_and_code():
    s, A, B, C = product()
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    s[C].bind(C.op.axis[1], te.thread_axis("threadIdx.x"))
    text = text_of(html_of(te_sched.build(s, [A, B, C], target="cuda")))
    assert "main_kernel(" in text
    assert "blockIdx.x" in text
    assert "__global__" in text


def test_trace_and_entries_are_programs():
    s, *_ = tiled()
    assert "from te_sched import te" in text_of(html_of(s.trace))
    entries = [text_of(html_of(entry)) for entry in s.trace]
    assert any(text.startswith("s[C].parallel(i_outer)called at ") for text in entries)


def test_errors_show_their_parts_and_loops():
    s, _, _, C = tiled()
    error = failed(lambda: s[C].split(C.op.axis[0], factor=4))
    html = html_of(error)
    assert "ScheduleError: cannot split axis i of stage C" in text_of(html)
    assert "<dt>help</dt>" in html
    assert (
        '<pre class="te-code">for i.outer (parallelized)   &lt;-- comes from i\n  for j.outer'
        in html
    )
    assert "<dt>why</dt>" not in html_of(TeSchedError("no"))


def test_strange_names_are_escaped():
    A = te.placeholder((4,), name="<script>alert(1)</script>")
    B = te.compute((4,), lambda i: A[i] + 1.0, name='"><b>')
    s = te.create_schedule(B.op)
    outer, _ = s[B].split(B.op.axis[0], 2)
    module = te_sched.lower(s, [A, B])
    things = [s, s[B], A, B, module, s.trace, failed(lambda: s[B].split(outer, factor=0))]
    for thing in things:
        html = html_of(thing)
        assert "<b>" not in html


@pytest.mark.parametrize("shape", [(), (0,), (1,), (0, 1)])
def test_small_tensors_are_shown(shape):
    A = te.placeholder(shape, name="A")
    B = te.compute(shape, lambda *index: A(*index) + 1.0, name="B")
    s = te.create_schedule(B.op)
    html_of(s)
    html_of(B)
    html_of(te_sched.lower(s, [A, B]))


def test_findings_and_times_show_their_text():
    s, A, B, C = product()
    assert "0 refuted" in text_of(html_of(check(te_sched.lower(s, [A, B, C])["main"])))
    module = te_sched.build(s, [A, B, C])
    arrays = [np.ones(shape, "float32") for shape in ((64, 32), (32, 64), (64, 64))]
    times = module.time_evaluator("main", te_sched.cpu(0), number=1, repeat=1)(*arrays)
    assert "median (ms)" in text_of(html_of(times))
    assert "checked: nothing found" in text_of(html_of(Report()))


def test_a_block_schedule_is_shown_with_its_dataflow_and_trace() -> None:
    sch = scheduled()
    text = text_of(html_of(sch))
    assert "block C_update" in text
    assert "Dataflow of D" in text
    assert "sch.parallel(loop=l4)" in text


def test_many_blocks_have_no_picture() -> None:
    body = "".join(f"with T.block('b{n}'):\n    A[{n}] = 0.0\n" for n in range(210))
    text = text_of(html_of(tir.Schedule(program(function("A:256", body)))))
    assert "211 blocks are too many for a picture" in text


def test_an_entry_is_shown_as_its_instruction() -> None:
    sch = scheduled()
    entry = sch.trace.entries[-1]
    assert repr(entry) == "_ = sch.decompose_reduction(block=_, loop=_)"
    assert "decompose_reduction(block=_, loop=_)" in text_of(html_of(entry))
