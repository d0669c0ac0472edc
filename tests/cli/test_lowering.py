"""te-sched lower: programs as text, after primitives and passes."""

import json
from pathlib import Path

import pytest

import te_sched
from tests.cli.block_programs import CALLS, SCHEDULED, data

COMPAT = Path(__file__).parent.parent / "compat" / "programs"


@pytest.mark.parametrize("name", ["gemm", "gpu", "old", "broken"])
def test_lower_prints_one_module(te_sched_command, program, name):
    done = te_sched_command("lower", program(name))
    assert done.stdout.startswith("# from tvm.script import ir as I\n")
    assert done.stdout.count("@T.prim_func") == 1
    assert done.exit_code == (name == "broken"), done.stderr


def test_lower_prints_what_the_library_prints(te_sched_command, program):
    path = program("two")
    names: dict[str, object] = {}
    exec(Path(path).read_text(), names)
    expected = te_sched.lower(names["s"], [names["A"], names["B"]], "run_second", simple_mode=True)
    assert te_sched_command("lower", path, "-s", 2).stdout == f"{expected}\n"


def test_lower_titles_several(te_sched_command, program):
    text = te_sched_command("lower", program("two")).stdout
    titles = [line for line in text.splitlines() if line.startswith("# schedule")]
    assert titles == [
        "# schedule 1: run_first (program.py:7)",
        "# schedule 2: run_second (program.py:7)",
    ]


def test_lower_older_dialect(te_sched_command, program):
    assert "primfn(" in te_sched_command("lower", "--dialect", "primfn", program("gemm")).stdout


def test_lower_after_a_pass(te_sched_command, program):
    path = program("gemm")
    assert "T.realize" in te_sched_command("lower", "--after", "schedule_ops", path).stdout
    flat = te_sched_command("lower", "--after", "flatten_storage", path).stdout
    assert "T.vectorized" in flat
    assert "T.realize" not in flat


def test_lower_simple_mode(te_sched_command, program):
    path = program(
        "import te_sched\n"
        "from te_sched import te\n"
        "A = te.placeholder((10,), name='A')\n"
        "n = te.var('n')\n"
        "A = te.placeholder((n,), name='A')\n"
        "B = te.compute((n,), lambda i: A[i], name='B')\n"
        "s = te.create_schedule(B.op)\n"
        "s[B].split(B.op.axis[0], 4)\n"
        "te_sched.lower(s, [A, B])\n"
    )
    as_lowered = te_sched_command("lower", path).stdout
    simple = te_sched_command("lower", "--simple", path).stdout
    assert as_lowered == te_sched_command("lower", "--no-simple", path).stdout
    assert as_lowered.count("for ") > simple.count("for ")


def test_lower_after_a_pass_that_is_switched_off(te_sched_command, program):
    path = program(
        "import te_sched\n"
        "from te_sched import te\n"
        "A = te.placeholder((8,), name='A')\n"
        "s = te.create_schedule(te.compute((8,), lambda i: A[i], name='B').op)\n"
        "with te_sched.transform.PassContext(disabled_pass=['tir.UnrollLoop']):\n"
        "    te_sched.lower(s, [A, s.outputs[0].output(0)])\n"
    )
    done = te_sched_command("lower", "--after", "unroll_loops", path)
    assert done.exit_code == 1
    assert "of stop_after is disabled" in done.stderr


def test_lower_step_by_step(te_sched_command, program):
    text = te_sched_command("lower", "--step", program("gemm")).stdout
    steps = [line for line in text.splitlines() if line.startswith(">>> ")]
    assert steps == [
        ">>> s = te.create_schedule([C.op])  # program.py:8",
        ">>> i, j = s[C].op.axis  # program.py:9",
        ">>> i_outer, j_outer, i_inner, j_inner = s[C].tile(i, j, 8, 16)  # program.py:9",
        ">>> s[C].vectorize(j_inner)  # program.py:10",
        ">>> s[C].parallel(i_outer)  # program.py:11",
    ]
    assert text.count("@T.prim_func") == 4


def test_lower_differences_of_steps(te_sched_command, program):
    text = te_sched_command("lower", "--diff", program("gemm")).stdout
    assert text.count("\n@I.ir_module") == 1
    assert "-        for i, j in T.grid(64, 64):" in text
    assert "+        for i_outer in T.parallel(8):" in text


def test_lower_steps_as_json(te_sched_command, program):
    done = te_sched_command("lower", "--step", "--json", program("gemm"))
    (found,) = json.loads(done.stdout)["schedules"]
    assert [step["line"] for step in found["steps"]] == [8, 9, 10, 11]
    assert found["steps"][0]["diff"] == ""
    assert found["steps"][3]["code"] == "s[C].parallel(i_outer)"
    assert all(step["error"] is None for step in found["steps"])


def test_lower_as_json(te_sched_command, program):
    done = te_sched_command("lower", "--json", program("gpu"))
    data = json.loads(done.stdout)
    assert data["error"] is None
    assert "threadIdx" in data["schedules"][0]["program"]
    assert data["schedules"][0]["target"] == "cuda"


def test_lower_shows_passes(te_sched_command, program):
    text = te_sched_command("lower", "--passes", program("gemm")).stdout
    assert "@@ flatten_storage" in text
    assert "Nothing to do: " in text
    done = te_sched_command("lower", "--passes", "--diff", program("gemm"))
    assert done.exit_code == 2
    assert "ask for one of them" in done.stderr


WRONG = """
import te_sched
from te_sched import te
A = te.placeholder((8,), name="A")
B = te.compute((8,), lambda i: A[i], name="B")
s = te.create_schedule(B.op)
s[B].vectorize(B.op.axis[0])
try:
    te_sched.lower(s, [B])
except te_sched.TeSchedError:
    pass
"""


def test_lower_what_cannot_be_lowered(te_sched_command, program):
    path = program(WRONG)
    for how in ("--simple", "--step", "--passes"):
        done = te_sched_command("lower", how, path)
        assert done.exit_code == 1, done.stdout
        assert "help: " in done.stderr
    (row,) = json.loads(te_sched_command("lower", "--json", path).stdout)["schedules"]
    assert row["error"]


@pytest.mark.parametrize("path", sorted(COMPAT.glob("second_[bm]*.py")), ids=lambda one: one.stem)
def test_old_programs(te_sched_command, path):
    for words in (["lower"], ["lower", "--diff"], ["lower", "--passes"], ["schedules"]):
        done = te_sched_command(*words, path)
        assert done.exit_code == 0, done.stderr
        assert done.stdout


def test_lower_shows_each_step_of_a_schedule(te_sched_command, program):
    path = program(SCHEDULED)
    done = te_sched_command("lower", "--step", "--after", "schedule_ops", "-s", 1, path)
    assert ">>> sch = tir.Schedule(module)  # program.py:18" in done.stdout
    assert ">>> sch.reorder(l1, l3, l2)  # program.py:20" in done.stdout
    assert done.stdout.count('with T.block("C"):') == 3
    diff = te_sched_command("lower", "--diff", "-s", 1, path).stdout
    assert "+        for i, k, j in T.grid(64, 64, 64):" in diff


@pytest.mark.parametrize("built", ["", "tvm.build(Module, target='llvm')\n"])
def test_functions_that_are_called_are_inlined(te_sched_command, program, built):
    path = program(CALLS + built)
    (found,) = data(te_sched_command("lower", "--json", path))["schedules"]
    assert found["name"] == "main"
    assert "* T.float32(2)" in found["program"]
    assert "nothing found" in te_sched_command("check", path).stdout
