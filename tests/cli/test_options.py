"""Options of several commands: paths, sizes and targets are checked first."""

from pathlib import Path

import pytest

from tests.cli.conftest import TEXTS


@pytest.mark.parametrize("command", ["explain", "build"])
def test_output_is_checked_before_the_program_runs(te_sched_command, program, tmp_path, command):
    ran = tmp_path / "ran"
    path = program(f"open({str(ran)!r}, 'w')\n{TEXTS['gemm']}")
    done = te_sched_command(command, "-o", tmp_path / "none" / "page.html", path)
    assert done.exit_code == 2
    assert "page.html: there is no folder" in done.stderr
    assert "-o FILE" in done.stderr
    assert not ran.exists()


@pytest.mark.parametrize(
    "command", [["explain", "--no-measure", "-o"], ["build", "-o"], ["tune", "-o"]]
)
def test_output_rejects_the_program(program, te_sched_command, command) -> None:
    path = program("gemm")
    before = Path(path).read_text()
    done = te_sched_command(*command, path, path)
    assert done.exit_code == 2
    assert "would replace a file that te_sched did not write" in done.stderr
    assert Path(path).read_text() == before


@pytest.mark.parametrize(
    ("words", "why", "help"),
    [
        (["lower", "x.py", "--afte", "simplify"], "no such option: --afte", "'--after'?"),
        (["--vershun"], "no such option: --vershun", "'--version'?"),
        (["lower"], "missing argument 'PROGRAM.py'", "see te-sched lower --help"),
        (["lower", "x.py", "--dialect", "c"], "'c' is not one of 'script', 'primfn'", "--help"),
        (["bench", "x.py", "--repeat", "0"], "0 is not in the range x>=1", "--help"),
        (["lower", "x.py", "--after", "simplfy"], "no pass named simplfy", "'simplify'?"),
        (["build", "x.py", "--target", "lvm"], "'lvm'", "'llvm'?"),
        (["bench", "x.py", "--size", "n"], "--size must be NAME=NUMBER, got n", "--size n=1024"),
    ],
)
def test_mistyped_option(te_sched_command, words, why, help):
    done = te_sched_command(*words)
    assert done.exit_code == 2
    assert why in done.stderr
    assert help in done.stderr
