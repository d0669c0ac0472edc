"""te-sched tune: searches for programs in files, and what they print."""

import json
import re
import runpy
import subprocess
import sys

import pytest

import te_sched
from te_sched.cli import tuning
from tests.cli.conftest import GEMM
from tests.meta_schedule.here import BuilderHere, RunnerHere

SPACE = """
def space(sch):
    i, j, k = sch.get_loops("C")
    sch.vectorize(sch.split(j, sch.sample_perfect_tile(j, n=2, max_innermost_factor=16))[1])

number = 3

def total(n=32):
    A = te.placeholder((n, n), name="A")
    k = te.reduce_axis((0, n), name="k")
    return te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="C")

def wrong():
    return 1 // 0
"""
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


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch):
    def search(*args, **options):
        return tune(
            *args,
            **options,
            builder=BuilderHere(),
            runner=RunnerHere(),
            cost_model=None,
            strategy="replay-trace",
        )

    tune = te_sched.tune
    monkeypatch.setattr(te_sched, "tune", search, raising=False)


def test_tune_prints_the_schedule(te_sched_command, program):
    path = program(GEMM + SPACE)
    done = te_sched_command("tune", "--space", "space", "--trials", 2, "--seed", 1, path)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("# C: ")
    assert "sch.vectorize(" in done.stdout
    assert "Total trials: 2" in done.stderr


def test_tune_writes_the_schedule_and_a_page(te_sched_command, program, tmp_path):
    path, best, page = program(GEMM + SPACE), tmp_path / "best.py", tmp_path / "page.html"
    words = ["--space", "space", "--trials", 2, "-o", best, "--page", page]
    done = te_sched_command("tune", *words, "--work-dir", tmp_path / "search", path)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ""
    assert "library" in runpy.run_path(str(best))
    assert "Search for schedules of C" in page.read_text()
    again = te_sched_command("tune", *words, "--work-dir", tmp_path / "search", "--json", path)
    data = json.loads(again.stdout)
    assert data["trials"] == 2
    assert data["seconds"] <= data["unscheduled_seconds"]
    assert data["schedule"] == best.read_text()


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


@pytest.mark.parametrize(
    ("words", "message", "help"),
    [
        (["--name", "totl"], "does not define totl, which --name names", "did you mean 'total'?"),
        (["--space", "spce"], "does not define spce, which --space names", "'space'?"),
        (["--space", "number"], "--space names number, which is not a function", "a function of a"),
        (["--size", "m=3"], "no symbolic extent named m", "all extents are numbers"),
        (["--schedule", "9"], "no schedule named 9", "1 (C)"),
        (["--trials", "0"], "0 is not in the range x>=1", "--help"),
        (["--target", "lvm"], "'lvm'", "'llvm'?"),
    ],
)
def test_wrong_options(te_sched_command, program, words, message, help):
    done = te_sched_command("tune", *words, program(GEMM + SPACE))
    assert done.exit_code == 2
    assert message in done.stderr
    assert help in done.stderr


@pytest.mark.parametrize("option", ["-o", "--page"])
def test_files_are_checked_before_the_program_runs(te_sched_command, program, tmp_path, option):
    path = program("raise SystemExit(7)")
    done = te_sched_command("tune", option, tmp_path / "none" / "file", path)
    assert done.exit_code == 2
    assert f"{option} FILE" in done.stderr


def test_failure_of_a_function_shows_its_traceback(te_sched_command, program):
    done = te_sched_command("tune", "--name", "wrong", program(GEMM + SPACE))
    assert done.exit_code == 1
    assert "ZeroDivisionError" in done.stderr
    assert "cli/tuning.py" not in done.stderr
    assert tuning.command.name == "tune"


def test_progress_is_shown_at_once(te_sched_command, program):
    """Also where the error stream is not a terminal, before the program runs."""
    path = program(GEMM + SPACE)
    done = te_sched_command("tune", "--space", "space", "--trials", 2, "--seed", 1, path)
    lines = done.stderr.splitlines()
    assert lines[0].startswith(f"te-sched: tuning {path}, 2 trials; Ctrl-C ends the search")
    assert lines[1] == "a line of the program"
    assert any(line.startswith("tuning C: 2 of 2, best ") for line in lines)
    with te_sched.config(progress=False):
        done = te_sched_command("tune", "--space", "space", "--trials", 1, path)
    assert done.stderr.startswith("a line of the program\n--- end of the output")


def test_progress_is_shown_before_the_search_is_loaded():
    """Which takes longer than a second on a busy machine."""
    program = (
        "import sys; from te_sched.cli import tuning\n"
        "print([name for name in sys.modules if name.startswith('te_sched.meta_schedule')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_nothing_faster_is_said_in_the_terminal(te_sched_command, program):
    path = program(f"{GEMM}{SPACE}\ndef nothing(sch):\n    pass\n")
    done = te_sched_command("tune", "--space", "nothing", "--trials", 1, path)
    assert done.exit_code == 0, done.stderr
    is_said = "No candidate is faster than the unscheduled program.\n" in done.stderr
    best, plain = re.findall(r"# C: ([\d.]+) us; ([\d.]+) us unscheduled", done.stdout)[0]
    assert is_said == (best == plain)
