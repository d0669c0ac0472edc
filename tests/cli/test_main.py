"""What te-sched says of itself and of mistyped words."""

import re
from pathlib import Path

import click

import te_sched
from te_sched.cli.main import main


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


def test_page_lists_the_commands():
    page = (Path(__file__).parent.parent.parent / "docs" / "cli.md").read_text()
    named = re.findall(r"^\| `(\w+)[ `]", page, re.MULTILINE)
    assert named == list(main.list_commands(click.Context(main)))
