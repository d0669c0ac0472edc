"""Errors of the command line and its exit codes."""

import click

from te_sched.cli.problems import UsageError, as_usage_error, exit_code_of


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
