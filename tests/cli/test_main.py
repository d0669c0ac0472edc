"""What te-sched says of itself, of mistyped words, and how shells complete it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import te_sched
from te_sched.cli.main import main
from te_sched.cli.problems import UsageError, as_usage_error, exit_code_of


def test_help_lists_the_commands(te_sched_command):
    done = te_sched_command("-h")
    assert done.exit_code == 0
    for name in ("run", "lower", "build", "bench", "check", "explain", "tune", "doctor"):
        assert f"  {name} " in done.stdout
        assert te_sched_command(name, "--help").exit_code == 0


def test_version(te_sched_command):
    assert te_sched_command("--version").stdout == f"te-sched {te_sched.__version__}\n"


def test_no_words(te_sched_command):
    done = te_sched_command()
    assert done.exit_code == 2
    assert "Usage: te-sched" in done.stderr


def test_mistyped_command(te_sched_command):
    done = te_sched_command("lwoer", "x.py")
    assert done.exit_code == 2
    assert done.stderr.startswith("te-sched: no such command: lwoer\n")
    assert "did you mean 'lower'?" in done.stderr


def test_program_without_a_command(te_sched_command):
    done = te_sched_command("gemm.py")
    assert done.exit_code == 2
    assert "te-sched run gemm.py, te-sched lower gemm.py" in done.stderr


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


def test_usage_error_without_a_command():
    error = as_usage_error(click.NoSuchOption("--x"))
    assert isinstance(error, UsageError)
    assert error.fault == "te-sched: no such option: --x"


def test_usage_error_of_the_program_itself_names_it_once(te_sched_command):
    done = te_sched_command("--version=3")
    assert done.stderr.startswith("te-sched: option '--version' does not take a value\n")


def test_files_that_cannot_be_written(capsys):
    def write():
        raise OSError(28, "No space left on device")

    assert exit_code_of(write) == 2
    assert "No space left on device" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(te_sched_command, shell):
    done = te_sched_command("completion", shell)
    assert done.exit_code == 0
    assert "_TE_SCHED_COMPLETE" in done.stdout
    if shutil.which(shell):
        checked = subprocess.run([shell, "-n"], input=done.stdout, text=True, check=False)
        assert checked.returncode == 0


def test_completion_of_an_unknown_shell(te_sched_command):
    assert te_sched_command("completion", "tcsh").exit_code == 2


def test_completion_of_commands_and_options():
    def complete(words, position):
        variables = {"COMP_WORDS": words, "COMP_CWORD": str(position)}
        done = CliRunner().invoke(
            main, env={"_TE_SCHED_COMPLETE": "bash_complete", **variables}, prog_name="te-sched"
        )
        return done.stdout.split()

    assert complete("te-sched lo", 1) == ["plain,lower"]
    assert "plain,--passes" in complete("te-sched lower --p", 2)
    assert complete("te-sched lower --after flat", 3) == ["plain,flatten_storage"]


def test_page_lists_the_commands():
    page = (Path(__file__).parent.parent.parent / "docs" / "cli.md").read_text()
    named = re.findall(r"^\| `(\w+)[ `]", page, re.MULTILINE)
    assert named == list(main.list_commands(click.Context(main)))


def test_no_colors_where_no_person_reads(te_sched_command, program):
    done = te_sched_command("lower", "--diff", program("gemm"))
    assert "\x1b[" not in done.stdout + done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="needs a terminal")
@pytest.mark.parametrize("wanted", [True, False])
def test_colors_on_a_terminal(program, wanted):
    import pty

    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "te_sched", "lower", "-q", program("old")],
        stdout=theirs,
        env=environment if wanted else {**environment, "NO_COLOR": "1"},
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the terminal is gone
            break
        text += part
    assert process.wait() == 0
    assert (b"\x1b[" in text) is wanted
