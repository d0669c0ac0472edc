"""Errors of the command line, and its exit codes.

Owns the exit codes. Must not know any command.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from enum import IntEnum
from io import TextIOWrapper
from typing import Any

import click

from te_sched.errors import TeSchedError, did_you_mean


class ExitCode(IntEnum):
    """Exit codes of te-sched, except for `run`, which exits as its program."""

    FINE = 0
    FOUND = 1  # the program failed, cannot be built, or has findings
    MISUSED = 2  # no such file, command, option, schedule, ...
    STOPPED = 130  # by Ctrl-C
    CLOSED = 141  # the reader of the output has closed it, as in `te-sched ... | head`


class CommandError(TeSchedError):
    """A request that cannot be fulfilled; `code` is the exit code."""

    def __init__(self, fault: str, why: str, help: str, code: ExitCode = ExitCode.MISUSED) -> None:
        super().__init__(fault, why, help)
        self.code = code


class UsageError(CommandError):
    """A command line is invalid; the fault begins with the command."""


def exit_code_of(run: Callable[[], Any]) -> int:
    """The exit code of a command, 0 for None; errors are printed on stderr."""
    try:
        result = run()
        flush_output()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return ExitCode.MISUSED
    except click.UsageError as error:
        say(as_usage_error(error))
        return ExitCode.MISUSED
    except CommandError as error:
        say(error)
        return error.code
    except TeSchedError as error:
        say(error)
        return ExitCode.FOUND
    except (KeyboardInterrupt, click.Abort):
        click.echo("te-sched: stopped", err=True)
        return ExitCode.STOPPED
    except BrokenPipeError:
        forget_output()
        return ExitCode.CLOSED
    except OSError as error:
        what = f"cannot use {error.filename}" if error.filename else "cannot write the output"
        why = error.strerror or str(error)
        say(CommandError(f"{what}: {why}", "", "make room, or work elsewhere"))
        return ExitCode.MISUSED
    return int(result or 0)


def say(error: TeSchedError) -> None:
    """An error, on stderr."""
    click.echo(f"{'' if isinstance(error, UsageError) else 'te-sched: '}{error}", err=True)


def escape_output() -> None:
    """Let the output escape characters that its encoding does not have, such as those of names."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def flush_output() -> None:
    """Flush the output, if the program has not closed it."""
    if not getattr(sys.stdout, "closed", True):
        sys.stdout.flush()


def forget_output() -> None:
    """Discard output for a closed pipe, so that Python's exit prints nothing."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # stdout is not a file
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (to the end of the process)


def as_usage_error(error: click.UsageError) -> UsageError:
    """An error of click in the form of te_sched's errors."""
    context = error.ctx
    path = context.command_path if context is not None else "te-sched"
    if isinstance(error, click.NoSuchOption):
        params = context.command.get_params(context) if context is not None else []
        every = [name for param in params for name in (*param.opts, *param.secondary_opts)]
        names = [name for name in every if name.startswith("--")]
        return UsageError(
            f"{path}: no such option: {error.option_name}",
            "",
            f"use one of {', '.join(names)}{did_you_mean(error.option_name, names)}",
        )
    said = re.sub(r"\s+", " ", error.format_message()).rstrip(".")
    said = said.replace("a valid integer range", "an integer").replace("a valid", "a")
    return UsageError(f"{path}: {said[:1].lower() + said[1:]}", "", f"see {path} --help")


def unknown_command(name: str, commands: list[str]) -> UsageError:
    """A first word that is not a command."""
    if name.endswith(".py") or os.path.isfile(name):
        help = f"say what to do with the file: te-sched run {name}, te-sched lower {name}, ..."
    else:
        help = f"use one of {', '.join(commands)}{did_you_mean(name, commands)}"
    return UsageError(f"te-sched: no such command: {name}", "", help)
