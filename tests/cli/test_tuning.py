"""te-sched tune: searches for programs in files, and what they print."""

import json
import runpy
import subprocess
import sys

import pytest

import te_sched
from tests.cli.conftest import GEMM
from tests.cli.tuned_programs import (
    SPACE,
    in_this_process,  # noqa: F401 (a fixture)
)


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
