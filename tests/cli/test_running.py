"""te-sched run: a program as Python would run it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from te_sched.cli.main import main

ENTRY = Path(sys.executable).with_name("te-sched")


def run(*words, module=True, **options):
    """te-sched in a process of its own."""
    start = [sys.executable, "-m", "te_sched"] if module or not ENTRY.exists() else [str(ENTRY)]
    return subprocess.run([*start, *words], capture_output=True, text=True, check=False, **options)


def test_run_gives_a_program_its_own_options(te_sched_command, program):
    path = program("import sys, tvm\nprint(tvm.__name__, sys.argv[1:])\n")
    done = te_sched_command("run", path, "--help", "-q", "--size=3")
    assert done.stdout == "tvm ['--help', '-q', '--size=3']\n"
    assert done.exit_code == 0


def test_run_exits_as_the_program_does(te_sched_command, program):
    assert te_sched_command("run", program("import sys\nsys.exit(7)\n")).exit_code == 7
    assert te_sched_command("run", program("broken")).exit_code == 1
    done = te_sched_command("run", program("raise SystemExit('no')\n"))
    assert done.exit_code == 1


def test_run_rejects_a_missing_program(te_sched_command):
    done = te_sched_command("run", "nothing.py")
    assert done.exit_code == 2
    assert "te-sched: no such file: nothing.py" in done.stderr


def test_run_leaves_the_process_as_it_was(te_sched_command, program):
    before = (sys.path[:], sys.argv, sys.modules["__main__"])
    te_sched_command("run", program("import sys\nsys.path.append('x')\n"))
    assert sys.path.pop() == "x"
    assert (sys.path, sys.argv, sys.modules["__main__"]) == before


def test_both_ways_to_call_it(program):
    path = program("print('ran', __name__, __file__[-10:])\n")
    for module in (True, False):
        done = run("run", path, module=module)
        assert done.stdout == "ran __main__ program.py\n", done.stderr


def test_programs_use_processes(program):
    path = program(
        "import multiprocessing\n"
        "def double(x):\n"
        "    return 2 * x\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(double, [1, 2]))\n"
    )
    done = run("run", path, timeout=120)
    assert done.stdout == "[2, 4]\n", done.stderr


def test_closed_pipe_is_no_failure(program):
    path = program("gemm")
    shell = f"{sys.executable} -m te_sched lower --step {path} | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[0].startswith("# schedule 1: C")
    assert "BrokenPipe" not in done.stderr
    assert "Traceback" not in done.stderr
    long = program("print('x' * 10_000_000)\n", "long.py")
    shell = f"{sys.executable} -m te_sched run {long} | head -c 1; echo ' ' ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["x", "141"], "")


def test_ctrl_c(program):
    path = program("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    for command in ("run", "lower"):
        done = run(command, path)
        assert done.returncode == 130
        assert done.stderr.strip() == "te-sched: stopped"


def test_full_disk(program):
    full = Path("/dev/full")
    if not full.exists():
        return
    with full.open("w") as nowhere:
        command = [sys.executable, "-m", "te_sched", "lower", "-q", program("gemm")]
        done = subprocess.run(
            command, stdout=nowhere, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert "write the output" in done.stderr
    assert "No space left" in done.stderr


def test_main_is_the_entry_point():
    import tomllib

    root = Path(__file__).parent.parent.parent
    scripts = tomllib.loads((root / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, name = scripts["te-sched"].partition(":")
    assert getattr(sys.modules[module], name) is main


ODD = """
from te_sched import te
A = te.placeholder((8,), name="A")
s = te.create_schedule(te.compute((8,), lambda i: A[i], name="B").op)
def work():
    raise {}
work()
"""


@pytest.mark.parametrize("command", [("run",), ("explain", "--text", "--no-measure"), ("check",)])
@pytest.mark.parametrize(
    "error",
    ["BaseException('mine')", "GeneratorExit()", "type('K', (KeyboardInterrupt,), {})"],
)
def test_any_exception_shows_the_frames_of_the_program_alone(
    te_sched_command, program, command, error
):
    done = te_sched_command(*command, program(ODD.format(error)))
    assert done.exit_code == 1
    frames = [line for line in done.stderr.splitlines() if line.startswith("  File ")]
    assert [line.rpartition(", in ")[2] for line in frames] == ["<module>", "work"]


def test_groups_show_the_frames_of_the_program_alone(te_sched_command, program):
    done = te_sched_command(
        "run", program("raise BaseExceptionGroup('g', [KeyboardInterrupt()])\n")
    )
    assert done.exit_code == 1
    assert done.stderr.count("File ") == 1


@pytest.mark.parametrize("ending", ["sys.stdout.close()", "sys.stdout = None"])
def test_run_of_a_program_that_leaves_no_output(program, ending):
    done = run("run", program(f"import sys\n{ending}\n"))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_program_whose_exit_code_has_no_text(te_sched_command, program):
    text = "class Odd:\n    def __str__(self): raise ValueError\nraise SystemExit(Odd())\n"
    done = te_sched_command("lower", program(text))
    assert done.exit_code == 1
    assert "ended itself: <Odd without a text>" in done.stderr


def test_a_program_from_a_pipe(program, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = run("run", str(pipe), timeout=60)
    assert (done.returncode, "it is a pipe without a writer" in done.stderr) == (2, True)
    shell = f"{sys.executable} -m te_sched run <(cat {program('broken')})"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert "s[C].split(i, 4)\n" in done.stderr


def test_names_that_the_terminal_has_not(program):
    path = program("gemm")
    Path(path).write_text(Path(path).read_text().replace('name="A"', 'name="Ä€"'), "utf-8")
    done = run("check", "--no-run", path, env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 0, done.stderr
    done = run("build", "-q", path, env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 0, done.stderr


def test_run_keeps_the_suggestions_of_python(te_sched_command, program):
    done = te_sched_command("run", program("from tvm import te\nprnt(1)\n"))
    assert "NameError: name 'prnt' is not defined. Did you mean: 'print'?" in done.stderr
    done = te_sched_command("run", program("from tvm import te\nte.placeholdr\n"))
    assert "did you mean 'placeholder'?" in done.stderr
    assert "aliases.py" not in done.stderr


def test_run_leaves_out_frames_between_those_of_the_user(te_sched_command, program):
    text = "from tvm import te\nA = te.placeholder((4,))\nte.compute((4,), lambda i: A[i, i])\n"
    done = te_sched_command("run", program(text))
    assert "in <lambda>" in done.stderr
    assert "declare.py" not in done.stderr


_REFUSED = """
from tvm import tir
from tvm.script import tir as T

@T.prim_func
def f(A: T.Buffer((9,), "float32"), B: T.Buffer((9,), "float32")):
    for i in range(9):
        with T.block("B"):
            v = T.axis.spatial(9, i)
            B[v] = A[v] * 2.0

sch = tir.Schedule(f)
try:
    sch.split(sch.get_loops("B")[0], [3, 2])
except Exception as error:
    print(error)
sch.split(sch.get_loops("B")[0], [3, 2])
"""


def test_run_prints_no_listing_below_the_excerpt_of_an_error(program):
    done = run("run", program(_REFUSED))
    assert "# tir.For#0" in done.stdout  # a program may look for it
    assert "    for i in range(9):\n    ^^^^^" in done.stderr
    assert "in TVM" not in done.stderr
    assert "# tir.For#0" not in done.stderr
