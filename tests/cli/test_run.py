"""te-sched run: a program as Python would run it."""

import subprocess
import sys
from pathlib import Path

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
    assert "te-sched: read the program nothing.py\n  why: there is no such file" in done.stderr


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
