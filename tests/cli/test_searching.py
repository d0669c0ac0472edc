"""What te-sched tune searches for and shows."""

import re

import pytest

from te_sched.cli import tuning
from tests.cli.conftest import GEMM
from tests.cli.tuned_programs import (
    SPACE,
    in_this_process,  # noqa: F401 (a fixture)
)

FUNCTION = """
from te_sched.script import tir as T
@T.prim_func
def scaled(a: T.handle, b: T.handle):
    n = T.int32()
    A, B = T.match_buffer(a, (n,)), T.match_buffer(b, (n,))
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] * 2.0
"""


BLOCKS = f"""
{FUNCTION}
import te_sched
from te_sched import tir
func = scaled.specialize({{p: tir.decl_buffer((64,), name=n) for p, n in zip(scaled.params, "AB")}})
sch = tir.Schedule(func)
sch.parallel(sch.get_loops("B")[0])
"""


@pytest.mark.parametrize(
    ("text", "words", "shown"),
    [
        (GEMM + SPACE, ["--name", "total"], "A: T.Buffer((32, 32)"),
        (SPACE.replace("def total", "from te_sched import te\ndef total"), ["--name", "total"], ""),
        (FUNCTION, ["--size", "n=16"], "A: T.Buffer((16,)"),
        (FUNCTION, ["--name", "scaled"], "A: T.Buffer((100,)"),
        (BLOCKS, [], "A: T.Buffer((64,)"),
        ("old", ["--size", "n=24"], "(24,)"),
    ],
)
def test_what_is_tuned(te_sched_command, program, text, words, shown):
    text = text if text == "old" else f"{text}\ndef nothing(sch):\n    pass\n"
    path = program(text)
    given = [] if text == "old" else ["--space", "nothing"]
    done = te_sched_command("tune", "--trials", 1, *words, *given, path)
    assert done.exit_code == 0, done.stderr
    assert shown in done.stdout


def test_failure_of_a_function_shows_its_traceback(te_sched_command, program):
    done = te_sched_command("tune", "--name", "wrong", program(GEMM + SPACE))
    assert done.exit_code == 1
    assert "ZeroDivisionError" in done.stderr
    assert "cli/tuning.py" not in done.stderr
    assert tuning.command.name == "tune"


def test_nothing_faster_is_said_in_the_terminal(te_sched_command, program):
    path = program(f"{GEMM}{SPACE}\ndef nothing(sch):\n    pass\n")
    done = te_sched_command("tune", "--space", "nothing", "--trials", 1, path)
    assert done.exit_code == 0, done.stderr
    is_said = "No candidate is faster than the unscheduled program.\n" in done.stderr
    best, plain = re.findall(r"# C: ([\d.]+) us; ([\d.]+) us unscheduled", done.stdout)[0]
    assert is_said == (best == plain)
