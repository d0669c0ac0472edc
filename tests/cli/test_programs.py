"""How programs are run, found wanting, and their schedules found."""

import json
import sys

import pytest

import te_sched


def lines(done):
    """What is said on stderr, by its labels."""
    found = {"what": done.stderr.splitlines()[0]}
    for line in done.stderr.splitlines():
        label, _, text = line.strip().partition(": ")
        found.setdefault(label, text)
    return found


def test_a_program_is_main_with_its_arguments(te_sched_command, program, tmp_path):
    (tmp_path / "beside.py").write_text("SIZE = 3\n")
    path = program(
        "import sys, beside\n"
        "from te_sched import te\n"
        "def main():\n"
        "    assert sys.argv[1:] == ['--deep', 'x'], sys.argv\n"
        "    A = te.placeholder((beside.SIZE,), name='A')\n"
        "    te.create_schedule(te.compute(A.shape, lambda i: A[i], name='B').op)\n"
        "if __name__ == '__main__':\n"
        "    main()\n"
    )
    done = te_sched_command("lower", path, "--", "--deep", "x")
    assert done.exit_code == 0, done.stderr
    assert "range(3)" in done.stdout


def test_quiet_leaves_out_what_a_program_prints(te_sched_command, program):
    done = te_sched_command("lower", "-q", program("gemm"))
    assert "a line of the program" not in done.stderr + done.stdout


COMMANDS = ["schedules", "lower", "build", "bench", "check", "explain"]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_says_what_to_do(te_sched_command, program, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where explain writes its page
    for words, code, said in (
        (["--jsn", "x.py"], 2, "no such option: --jsn"),
        ([str(tmp_path / "nothing.py")], 2, "no such file: "),
        ([program("print('nothing')\n", "a.py")], 2, "a.py makes no schedule"),
        ([program("1 // 0\n", "b.py")], 1, "b.py failed before it made a schedule"),
        ([program("broken")], 1, "split into i.outer, i.inner"),
    ):
        done = te_sched_command(command, *words)
        assert done.exit_code == code, done.stderr
        assert said in done.stderr
        assert "help: " in done.stderr


def test_missing_file(te_sched_command, program, tmp_path):
    program("gemm", "gemm.py")
    done = te_sched_command("lower", tmp_path / "gem.py")
    assert done.exit_code == 2
    assert lines(done)["what"].startswith("te-sched: no such file: ")
    assert "did you mean" in lines(done)["help"]
    assert "gemm.py'" in lines(done)["help"]
    done = te_sched_command("lower", tmp_path / "none" / "gemm.py")
    assert "there is no folder" in lines(done)["help"]
    done = te_sched_command("lower", tmp_path / "quite_other.py")
    assert "from the current folder" in lines(done)["help"]


def test_folder(te_sched_command, program, tmp_path):
    done = te_sched_command("lower", tmp_path)
    assert done.exit_code == 2
    assert lines(done)["what"].endswith("is a folder, expected a Python program")
    assert lines(done)["help"] == "give a Python program"
    program("gemm", "gemm.py")
    assert "gemm.py" in lines(te_sched_command("lower", tmp_path))["help"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"def f(:\n", "invalid syntax, line 1: def f(:"),
        (b"\x7fELF\0\1", "source code string cannot contain null bytes"),
        (b"x = '\xff'\n", "(unicode error)"),
        (b"# coding: nothing\n", "unknown encoding"),
    ],
)
def test_no_python(te_sched_command, tmp_path, content, why):
    (tmp_path / "program.py").write_bytes(content)
    done = te_sched_command("lower", tmp_path / "program.py")
    assert done.exit_code == 2
    assert lines(done)["what"].endswith("program.py is not valid Python")
    assert lines(done)["why"].startswith(why)


def test_notebook(te_sched_command, program):
    done = te_sched_command("lower", program("{}", "gemm.ipynb"))
    assert done.exit_code == 2
    assert lines(done)["what"].endswith("is a notebook, expected a Python program")


def test_name_that_no_file_can_have(te_sched_command):
    done = te_sched_command("run", "a" * 5000)
    assert done.exit_code == 2
    assert lines(done)["help"] == "give a readable file"


def test_program_that_raises(te_sched_command, program):
    done = te_sched_command("lower", program("broken"))
    assert done.exit_code == 1
    told = done.stderr
    assert told.startswith("Traceback (most recent call last):\n")
    frames = [line for line in told.splitlines() if line.startswith("  File")]
    assert [frame.rpartition(" ")[2] for frame in frames] == ["<module>", "work"]
    assert "ScheduleError: cannot split axis i of stage " in told
    assert "help: use one of its axes" in told
    assert "for i_outer, i_inner in T.grid(8, 8)" in done.stdout
    data = json.loads(te_sched_command("lower", "--json", program("broken")).stdout)
    assert data["error"].startswith("ScheduleError: cannot split axis i of stage")
    assert data["schedules"][0]["error"] is None


def test_program_that_raises_before_its_first_schedule(te_sched_command, program):
    done = te_sched_command("lower", program("import te_sched\nprint(1 // 0)\n"))
    assert done.exit_code == 1
    assert "ZeroDivisionError" in done.stderr
    assert "failed before it made a schedule" in done.stderr


def test_traceback_of_an_exception_within_another(te_sched_command, program):
    path = program(
        "from te_sched import te\n"
        "try:\n"
        "    te.placeholder('no shape at all', 3)\n"
        "except Exception as error:\n"
        "    raise RuntimeError('gave up') from error\n"
    )
    told = te_sched_command("run", path).stderr
    assert "direct cause" in told
    assert "RuntimeError: gave up" in told
    assert "te_sched/cli" not in told


def test_program_that_exits(te_sched_command, program):
    path = program(te_sched_text() + "import sys\nsys.exit(3)\n")
    done = te_sched_command("lower", path)
    assert done.exit_code == 1
    assert "ended itself: exit code 3" in done.stderr
    assert "range(2)" in done.stdout
    path = program(te_sched_text() + "import sys\nsys.exit()\n")
    assert te_sched_command("lower", path).exit_code == 0
    path = program("import argparse\nargparse.ArgumentParser().parse_args()\n")
    done = te_sched_command("lower", path, "--", "--size=3")
    assert "ended itself: exit code 2" in done.stderr
    assert "help: pass its arguments after --" in done.stderr
    path = program("raise SystemExit('no schedules today')\n")
    assert "ended itself: no schedules today" in te_sched_command("lower", path).stderr


def te_sched_text():
    """A program that makes a schedule."""
    return (
        "from te_sched import te\n"
        "A = te.placeholder((2,), name='A')\n"
        "B = te.compute((2,), lambda i: A[i], name='B')\n"
        "s = te.create_schedule(B.op)\n"
    )


def test_program_without_schedules(te_sched_command, program):
    done = te_sched_command("lower", program("print('hello')\n"))
    assert done.exit_code == 2
    assert "program.py makes no schedule\n" in done.stderr
    assert "te.create_schedule" in lines(done)["help"]


def test_program_that_only_defines_functions(te_sched_command, program):
    done = te_sched_command("lower", program("def steps(tvm):\n    yield 1\n"))
    assert done.exit_code == 2
    assert lines(done)["why"].endswith("it defines steps, and calls none")
    assert lines(done)["help"].endswith("steps(...)")


def test_schedule_that_is_not_there(te_sched_command, program):
    path = program("two")
    done = te_sched_command("lower", path, "--schedule", "run_frist")
    assert done.exit_code == 2
    assert lines(done)["what"] == f"te-sched: no schedule named run_frist in {path}"
    assert lines(done)["help"].startswith("use a number or name of 1 (run_first), 2 (run_second)")
    assert "did you mean 'run_first'?" in lines(done)["help"]


def test_schedule_by_number_and_by_name(te_sched_command, program):
    path = program("two")
    by_number = te_sched_command("lower", path, "--schedule", 3).stdout
    assert by_number == te_sched_command("lower", path, "-s", "unused").stdout
    assert "def run_first" in te_sched_command("lower", path, "-s", "run_first").stdout


def test_errors_of_commands_name_no_line_of_theirs(te_sched_command, program):
    done = te_sched_command("build", program("race"))
    assert done.exit_code == 1
    where = lines(done)["where"]
    assert "program.py:6" in where
    assert "click" not in where
    assert "cli" not in where


def test_nobody_is_told_afterwards(te_sched_command, program):
    from te_sched.trace.observing import observers

    te_sched_command("lower", program("gemm"))
    assert observers == []
    assert te_sched.te.placeholder((2,)).dtype == "float32"


def test_programs_may_recurse_deeply_and_nobody_after_them(te_sched_command, program):
    before = sys.getrecursionlimit()
    deep = program("import sys\n\nassert sys.getrecursionlimit() >= 20_000\n")
    assert te_sched_command("run", deep).exit_code == 0
    assert sys.getrecursionlimit() == before


@pytest.mark.parametrize("command", ["lower", "schedules", "bench", "build", "tune", "graph"])
def test_a_second_program_is_refused(te_sched_command, program, command):
    """It would be an argument of the first one; after -- it is."""
    path = program("gemm")
    done = te_sched_command(command, path, "other.py")
    assert done.exit_code == 2
    assert f"te-sched {command} takes one program, and also got other.py" in done.stderr
    assert "run it for each program" in done.stderr


def test_a_program_may_be_an_argument(te_sched_command, program):
    path = program("gemm")
    assert te_sched_command("schedules", path, "--", "other.py").exit_code == 0
    assert te_sched_command("schedules", path, "other").exit_code == 0
