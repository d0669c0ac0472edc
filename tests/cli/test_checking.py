"""te-sched check: what is judged, and what is watched."""

import json
import re
import subprocess
import sys

import pytest

from te_sched.cli import checking
from tests.cli.block_programs import SCHEDULED, data


@pytest.mark.parametrize("name", ["gemm", "gpu", "old", "two"])
def test_check_finds_nothing(te_sched_command, program, name):
    done = te_sched_command("check", program(name))
    assert done.exit_code == 0, done.stdout + done.stderr
    assert "0 refuted" in done.stdout
    assert "nothing found" in done.stdout


def test_check_finds_a_race(te_sched_command, program):
    done = te_sched_command("check", program("race"))
    assert done.exit_code == 1
    assert "cannot parallelize reduction axis k" in done.stdout
    assert "not run: what is refuted comes first" in done.stdout


def test_check_as_json(te_sched_command, program):
    done = te_sched_command("check", "--json", program("race"))
    (row,) = json.loads(done.stdout)["schedules"]
    assert row["ok"] is False
    assert {one["kind"] for one in row["findings"]} == {"rule", "race"}
    done = te_sched_command("check", "--json", program("gpu"))
    (row,) = json.loads(done.stdout)["schedules"]
    assert row["ok"] is row["report"]["ok"] is True


def test_check_strictly(te_sched_command, program):
    text = """
from te_sched import te
A = te.placeholder((8,), name="A")
index = te.placeholder((8,), dtype="int32", name="index")
B = te.compute((8,), lambda i: A[index[i]], name="B")
s = te.create_schedule(B.op)
"""
    done = te_sched_command("check", program(text))
    assert done.exit_code == 0, done.stdout
    assert "1 unproved" in done.stdout
    assert te_sched_command("check", "--strict", program(text)).exit_code == 1


OUTSIDE = """
from te_sched import te
A = te.placeholder((8,), name="A")
index = te.placeholder((8,), dtype="int32", name="index")
B = te.compute((8,), lambda i: A[index[i] + 7], name="B")
s = te.create_schedule(B.op)
"""


def test_check_watches_what_indices_do(te_sched_command, program):
    done = te_sched_command("check", program(OUTSIDE))
    assert done.exit_code == 1
    assert "wrong: " in done.stdout
    assert "A" in done.stdout
    (row,) = json.loads(te_sched_command("check", "--json", program(OUTSIDE)).stdout)["schedules"]
    assert row["error"]
    assert te_sched_command("check", "--no-run", program(OUTSIDE)).exit_code == 0


def test_check_watches_kernels(te_sched_command, program):
    race = """
import te_sched
from te_sched import te, tir
def body(ins, outs):
    ib = tir.ir_builder.create()
    a, b = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
    x = te.thread_axis("threadIdx.x")
    ib.scope_attr(x, "thread_extent", 64)
    b[a[x.var].astype("int32")] = x.var.astype("float32")
    return ib.get()
A = te.placeholder((64,), name="A")
B = te.extern((64,), [A], body, name="B", dtype="float32")
s = te.create_schedule(B.op)
"""
    done = te_sched_command("check", "--target", "cuda", program(race))
    assert done.exit_code == 1, done.stdout
    assert "write-write race" in done.stdout
    (row,) = json.loads(te_sched_command("check", "--json", "-t", "cuda", program(race)).stdout)[
        "schedules"
    ]
    assert row["report"]["findings"][0]["kind"] == "write-write race"


def test_check_does_not_watch_for_long(te_sched_command, program):
    text = """
from te_sched import te
A = te.placeholder((1000, 5000), name="A")
k = te.reduce_axis((0, 5000), name="k")
B = te.compute((1000, 1000), lambda i, j: te.sum(A[i, k] * A[j, k], axis=k), name="B")
s = te.create_schedule(B.op)
"""
    done = te_sched_command("check", program(text))
    assert done.exit_code == 0
    assert "not run: 5,000,000,000 iterations take long" in done.stdout
    assert "pass --run" in done.stdout


def test_check_what_has_no_arrays(te_sched_command, program):
    text = """
from te_sched import te
A = te.placeholder((8,), name="A", dtype="float32x4")
B = te.compute((8,), lambda i: A[i], name="B")
s = te.create_schedule(B.op)
"""
    done = te_sched_command("check", program(text))
    assert "not run: argument A has dtype float32x4, which numpy lacks" in done.stdout


def test_check_what_cannot_be_lowered(te_sched_command, program):
    text = """
import te_sched
from te_sched import te
A = te.placeholder((8,), name="A")
B = te.compute((8,), lambda i: A[i], name="B")
s = te.create_schedule(B.op)
try:
    te_sched.lower(s, [])
except te_sched.TeSchedError:
    pass
"""
    done = te_sched_command("check", program(text))
    assert done.exit_code == 1, done.stdout
    assert "not run: it cannot be lowered" in done.stdout


def test_check_says_what_watching_will_cost(te_sched_command, program, monkeypatch):
    monkeypatch.setattr(checking, "_PER_SECOND", 100)
    done = te_sched_command("check", program("gemm"))
    assert re.search(r"watching [\d,]+ iterations, about \d+ s\n", done.stderr)


def check_each(*words):
    """The result of te-sched check in a process, whose own processes print to the same streams."""
    command = [sys.executable, "-m", "te_sched", "check", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


REGISTERING = """
import sys
import te_sched
from te_sched import te
te_sched.register_func("check.each", lambda: None)
A = te.placeholder((int(sys.argv[1]),), name="A")
B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
s = te.create_schedule(B.op)
"""


def test_check_several_programs(program):
    """Each of them in a process: they register a function of the same name."""
    first, second = program(REGISTERING, "first.py"), program(REGISTERING, "second.py")
    wrong = program("race", "wrong.py")
    done = check_each(wrong, first, "--quiet", "--", "8")
    assert done.returncode == 1, done.stderr
    titles = [line for line in done.stdout.splitlines() if line.endswith(".py")]
    assert titles == [f"# {wrong}", f"# {first}", f"2 programs checked: see {wrong}"]
    assert done.stdout.count("watched with random inputs: nothing found") == 1
    done = check_each(first, second, "--json", "--size", "n=3", "--", "8")
    assert [one["program"] for one in json.loads(done.stdout)] == [first, second]
    assert done.returncode == 2
    assert "no symbolic extent named n" in done.stderr
    assert "2 programs checked: see" in done.stderr


def test_check_several_programs_with_the_same_options(te_sched_command, program, monkeypatch):
    """What the processes are given is what the command was given."""
    words = []
    monkeypatch.setattr(
        checking.subprocess,
        "run",
        lambda command, **_: words.append(command[2:]) or subprocess.CompletedProcess(command, 0),
    )
    path = program("gemm")
    options = ["--size=n=3", "--schedule=1", "--target=llvm -mcpu=znver4", "--no-run"]
    options += ["--quiet", "--strict"]
    done = te_sched_command("check", path, *options, path, "--", "--x")
    assert done.exit_code == 0
    assert words == [["te_sched", "check", "--blocks=64", *options, path, "--", "--x"]] * 2
    assert done.stdout.endswith("2 programs checked: nothing found\n")


def test_check_finds_wrong_paths_before_programs_run(te_sched_command, program):
    done = te_sched_command("check", program("raise SystemExit(7)"), "nothing.py")
    assert done.exit_code == 2
    assert "no such file: nothing.py" in done.stderr
    assert "exited" not in done.stderr


def test_check_and_bench(te_sched_command, program):
    path = program(SCHEDULED)
    assert "nothing found" in te_sched_command("check", "-s", 1, path).stdout
    (row,) = data(te_sched_command("bench", "-s", 1, "--json", "--min-ms", 1, path))["schedules"]
    assert row["operations"] == 2 * 64**3
    assert row["error"] is None
