"""What objects show of themselves, asked as IPython asks them."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from IPython.core.formatters import DisplayFormatter
from IPython.core.interactiveshell import InteractiveShell

import te_sched
from te_sched import te
from te_sched.analysis.judge import check
from te_sched.codegen.checker.report import Report
from te_sched.errors import InternalError, ScheduleError, TeSchedError
from te_sched.notebook_display import Shown
from te_sched.short_tracebacks import users_part
from te_sched.trace.observing import Observer, observed_by
from tests.golden.corpus import programs
from tests.views.programs import broken, chain, product, tiled

_VOID = re.compile(r"<style>.*?</style>", re.DOTALL)


def html_of(thing):
    """What IPython would send to a notebook; it must be well-formed."""
    formats, _ = DisplayFormatter().format(thing)
    html = formats["text/html"]
    assert formats["text/plain"]
    assert "<script" not in html
    ElementTree.fromstring(_VOID.sub("", html).replace("<details open>", "<details>"))
    return html


def text_of(html):
    return "".join(ElementTree.fromstring(_VOID.sub("", html).replace(" open>", ">")).itertext())


def failed(call):
    with pytest.raises(TeSchedError) as caught:
        call()
    return caught.value


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
    for program in (module, module["main"]):
        assert '<span class="k">def</span>' in html_of(program)


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


def test_entries_print_as_calls():
    s, *_ = tiled()
    assert repr(s.trace.entries[-1]) == "s[C].parallel(i_outer)"


def test_looking_at_a_schedule_is_no_lowering():
    s, *_ = tiled()
    seen = []

    class Watching(Observer):
        def lowering(self, inputs, **options):
            seen.append(inputs)

    with observed_by(Watching()):
        print(s)
        html_of(s)
    assert seen == []


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


def test_printing_a_schedule_draws_its_loops():
    s, *_ = product()
    assert str(s).startswith("main(A: float32[64, 32]")
    assert repr(s).startswith("schedule of C:")


def test_notebooks_show_the_users_lines_of_an_error():
    shell = InteractiveShell()
    s, _, _, C = tiled()
    shell.user_ns.update(s=s, C=C)
    result = shell.run_cell("def apply(s):\n    s[C].split(C.op.axis[0], factor=4)\n\napply(s)")
    assert isinstance(result.error_in_exec, ScheduleError)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("IPython.get_ipython", lambda: shell)
        shown = "\n".join(result.error_in_exec._render_traceback_())
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert plain.count("\nFile ") == 2  # of the cell; none of te_sched
    assert "te_sched/schedule" not in plain
    assert "----> 4 apply(s)" in plain
    assert plain.rstrip().endswith("C = ...")


def test_errors_without_ipython_have_their_traceback(monkeypatch):
    monkeypatch.setattr("IPython.get_ipython", lambda: None)
    error = failed(lambda: te.placeholder("x"))
    assert error._render_traceback_()[0].startswith("Traceback")


def test_internal_errors_show_all_frames(monkeypatch):
    def fail(i):
        raise InternalError("a bug")

    shell = InteractiveShell()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    error = failed(lambda: te.compute((4,), fail))
    assert "te_sched/te/declare.py" in "".join(error._render_traceback_())


def test_frames_of_te_sched_are_left_out_unless_there_are_no_others():
    frames = failed(lambda: te.placeholder("x")).__traceback__
    kept = users_part(frames)
    while kept is not None:
        assert kept.tb_frame.f_code.co_filename == __file__
        kept = kept.tb_next
    while frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    assert users_part(frames) is frames
    assert users_part(None) is None


def test_importing_te_sched_loads_no_view():
    code = (
        "import sys, te_sched\n"
        "views = [f'te_sched.views.{name}' for name in ('cards', 'loop_tree', 'dataflow')]\n"
        "late = ['pygments', 'IPython', 'tqdm', *views]\n"
        "print([name for name in late if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_findings_and_times_show_their_text():
    s, A, B, C = product()
    assert "0 refuted" in text_of(html_of(check(te_sched.lower(s, [A, B, C])["main"])))
    module = te_sched.build(s, [A, B, C])
    arrays = [np.ones(shape, "float32") for shape in ((64, 32), (32, 64), (64, 64))]
    times = module.time_evaluator("main", te_sched.cpu(0), number=1, repeat=1)(*arrays)
    assert "median (ms)" in text_of(html_of(times))
    assert "checked: nothing found" in text_of(html_of(Report()))


def test_objects_without_a_view_show_none():
    class Unknown(Shown):
        pass

    assert Unknown()._repr_html_() is None


def test_arrays_print_their_values():
    assert "1." in repr(te_sched.nd.array(np.ones(2, "float32")))
