"""Which objects have a view, and when views are loaded."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

import te_sched
from te_sched.notebook_display import Shown
from te_sched.trace.observing import Observer, observed_by
from tests.views.display import html_of
from tests.views.programs import product, tiled


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


def test_printing_a_schedule_draws_its_loops():
    s, *_ = product()
    assert str(s).startswith("main(A: float32[64, 32]")
    assert repr(s).startswith("schedule of C:")


def test_importing_te_sched_loads_no_view():
    code = (
        "import sys, te_sched\n"
        "views = [f'te_sched.views.{name}' for name in ('cards', 'loop_tree', 'dataflow')]\n"
        "late = ['pygments', 'IPython', 'tqdm', *views]\n"
        "print([name for name in late if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_objects_without_a_view_show_none():
    class Unknown(Shown):
        pass

    assert Unknown()._repr_html_() is None


def test_arrays_print_their_values():
    assert "1." in repr(te_sched.nd.array(np.ones(2, "float32")))
