"""Programs of all generations run as they are, and compute what numpy computes."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = sorted(Path(__file__).with_name("programs").glob("[fst]*.py"))
NOT_READ_BACK = {
    "third_modules": "the text of an intrinsic that the program registers is without its dtype"
}


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(
            path,
            id=path.stem,
            marks=[pytest.mark.not_read_back(NOT_READ_BACK[path.stem])]
            if path.stem in NOT_READ_BACK
            else [],
        )
        for path in PROGRAMS
    ],
)
@pytest.mark.filterwarnings("ignore:.*has no effect in te_sched")
def test_program_runs(program, as_tvm):
    runpy.run_path(str(program), run_name="__main__")


def test_command_line_gives_a_program_its_arguments(tmp_path):
    program = tmp_path / "program.py"
    (tmp_path / "beside.py").write_text("from tvm import te\n")
    program.write_text(
        "import sys, tvm, beside\n"
        "from tvm import te\n"
        "assert beside.te is te and __name__ == '__main__'\n"
        "print(tvm.__name__, sys.argv[1:])\n"
    )
    done = _run("run", str(program), "--size", "3")
    assert done.stdout.strip() == "tvm ['--size', '3']", done.stderr


def test_command_line_runs_programs_of_many_stages(tmp_path):
    program = tmp_path / "chain.py"
    program.write_text(
        "import tvm\n"
        "from tvm import te\n"
        "first = last = te.placeholder((4,), name='A')\n"
        "for _ in range(200):\n"
        "    last = te.compute((4,), lambda i: last[i] + 1.0)\n"
        "text = str(tvm.lower(te.create_schedule(last.op), [first, last]))\n"
        "print(text.count('for i'))\n"
    )
    done = _run("run", str(program))
    assert done.stdout.strip() == "200", done.stderr


def _run(*arguments):
    command = [sys.executable, "-m", "te_sched", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)
