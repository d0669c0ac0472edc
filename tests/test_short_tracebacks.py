"""Tracebacks end at the user's line, in programs, threads and pytest; a switch shows all frames."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import relax, te
from te_sched.lazy_loading import load
from te_sched.short_tracebacks import frames_of, shown_part, users_part
from tests import tracebacks
from tests.tracebacks import failed

PROGRAM = """
import threading

import te_sched
from te_sched import te


def declare(i):
    return A[i] + 1


A = te.placeholder((8,), name="A")
B = te.compute((8,), declare, name="B")


def test_build():
    te_sched.build(te.create_schedule(B.op), [A])  # B is forgotten


def test_element():
    te.compute((8,), lambda i: A[i, i], name="C")


if __name__ == "__main__":
    started = threading.Thread(target=test_element)
    started.start()
    started.join()
    test_build()
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def run(*arguments: object, **variables: str) -> str:
    """What a Python process says of its errors."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_programs_and_threads_end_at_the_users_line(program: Path) -> None:
    text = run(program)
    assert text.count("te_sched.errors.") == 2
    assert "in test_build\n    te_sched.build(te.create_schedule(B.op), [A])" in text
    assert "in <lambda>\n" in text  # of the thread
    assert "short_tracebacks" not in text
    assert os.path.join("te_sched", "driver") not in text


def test_a_switch_shows_all_frames(program: Path) -> None:
    text = run(program, TE_SCHED_FULL_TRACEBACKS="1")
    assert os.path.join("te_sched", "driver") in text


def test_pytest_leaves_the_frames_out(program: Path) -> None:
    text = run("-m", "pytest", "-p", "no:cacheprovider", program)
    assert "2 failed" in text
    assert os.path.join("te_sched", "te", "tensor.py") not in text
    assert os.path.join("te_sched", "driver") not in text


SCRIPTS = """
import sys

from te_sched.script import relax as R
from te_sched.script import tir as T


def helper(x):
    return x.nope


def of_indices():
    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i, 0] = T.float32(1)


def of_python():
    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i] = int(A[i])


def of_a_helper():
    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i] = helper(A[i])


def of_graphs():
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        y = R.matmul(x, x)
        return y


def of_names():
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        y = R.nn.relux(x)
        return y


globals()[sys.argv[1]]()
"""


@pytest.mark.parametrize(
    ("case", "where"),
    [
        ("of_indices", "where: buffer A, "),
        ("of_python", "where: "),
        ("of_a_helper", "py:30, raised at "),
        ("of_graphs", "where: "),
        ("of_names", "did you mean 'relu'"),
    ],
)
def test_errors_of_scripts_have_one_traceback(case: str, where: str, tmp_path: Path) -> None:
    path = tmp_path / "scripts.py"
    path.write_text(SCRIPTS)
    text = run(path, case)
    assert text.count("Traceback (most recent call last)") == 1
    assert os.path.join("te_sched", "script") not in text
    assert "te_sched.errors.ScriptError: " in text
    assert where in text


def test_own_faults_are_shown_whole() -> None:
    text = run("-c", "from te_sched import errors\nraise errors.InternalError('broken')")
    assert "InternalError: broken" in text


CALLBACKS = """
from te_sched import te

A = te.placeholder((8,), name="A")
try:
    te.compute((8,), lambda i: A[i, i], name="B")
except Exception:
    te.compute((8,), lambda i: A[i] + 1 // 0, name="C")
"""


def test_programs_show_users_frames_of_callbacks_and_of_what_they_follow(tmp_path: Path) -> None:
    path = tmp_path / "callbacks.py"
    path.write_text(CALLBACKS)
    text = run(path)
    assert text.count("Traceback (most recent call last)") == 2
    assert text.count("in <lambda>\n") == 2
    assert text.endswith("ZeroDivisionError: integer division or modulo by zero\n")
    assert os.path.join("te_sched", "te") not in text


def fail(*_: Any) -> Any:
    return [][0]


class Failing(relax.PyExprMutator):
    visit_var_ = fail


def of_a_combiner() -> None:
    axis = te.reduce_axis((0, 8))
    total = te.comm_reducer(fail, lambda dtype: te.const(0, dtype))
    te.compute((1,), lambda i: total(axis.var, axis=axis))


def of_a_sequence_of_passes() -> None:
    own = te_sched.transform.module_pass(fail, opt_level=0)
    te_sched.transform.Sequential([own])(te_sched.IRModule({}))


def of_a_mutator() -> None:
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    Failing().visit_expr(relax.op.add(x, x))


def of_numpy() -> None:
    te.compute((8,), lambda i: np.zeros(3).reshape(2, 2))


@pytest.mark.parametrize("act", [of_a_combiner, of_a_sequence_of_passes, of_a_mutator, of_numpy])
def test_callbacks_end_at_the_users_line(act: Any) -> None:
    with pytest.raises((IndexError, ValueError)) as caught:
        act()
    shown = [*frames_of(shown_part(caught.value, caught.value.__traceback__))]
    files = [frame.tb_frame.f_code.co_filename for frame in shown]
    assert {*files} == {__file__}
    with te_sched.config.scoped(full_tracebacks=True):
        assert shown_part(caught.value, caught.value.__traceback__) is caught.value.__traceback__


def test_errors_of_libraries_and_bugs_show_all_frames() -> None:
    """Also where a function of the user was called before."""
    with pytest.raises(ModuleNotFoundError) as caught:
        te.compute((8,), lambda i: load("nowhere"))
    assert shown_part(caught.value, caught.value.__traceback__) is caught.value.__traceback__


def test_frames_of_te_sched_are_left_out_unless_there_are_no_others() -> None:
    frames = failed(lambda: te.placeholder("x")).__traceback__
    kept = users_part(frames)
    while kept is not None:
        assert kept.tb_frame.f_code.co_filename in (__file__, tracebacks.__file__)
        kept = kept.tb_next
    while frames.tb_frame.f_code.co_filename in (__file__, tracebacks.__file__):
        frames = frames.tb_next
    assert users_part(frames) is frames
    assert users_part(None) is None
