"""te-sched: the command and the list of its commands, which are loaded when they are used."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

import te_sched
from te_sched.cli.problems import (
    ExitCode,
    escape_output,
    exit_code_of,
    flush_output,
    forget_output,
    unknown_command,
)

_NAME = "te-sched"

# Each with its module in te_sched.cli, which has it as `command`, and its description.
_COMMANDS = {
    "run": ("running", "Run a program; its `import tvm` imports te_sched."),
    "schedules": ("listing", "List the schedules that a program makes."),
    "lower": ("lowering", "Print the loops of its schedules."),
    "build": ("building", "Compile its schedules; print or save the code."),
    "bench": ("timing", "Time its schedules with random inputs."),
    "check": ("checking", "Find mistakes in its schedules."),
    "explain": ("explaining", "Explain a schedule step by step, as an HTML page."),
    "tune": ("tuning", "Search for a fast schedule; print it as Python."),
    "graph": ("graphing", "Build a graph and print where its time goes."),
    "doctor": ("doctor", "List what is installed and what each part is for."),
    "completion": ("completion", "Print the script that completes commands in a shell."),
}


class Commands(click.Group):
    """The commands, in the order of their use, with common exit handling."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by name."""
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"te_sched.cli.{_COMMANDS[cmd_name][0]}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands in the help, none of which is loaded for it."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, purpose) for name, (_, purpose) in _COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The completions of an incomplete word."""
        named = [
            CompletionItem(name, help=purpose)
            for name, (_, purpose) in _COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names."""
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            raise unknown_command(name, list(_COMMANDS))
        ctx.obj = tuple(args)  # for commands that ask for --, which click removes
        if name != "run":  # whose program prints as in Python
            escape_output()
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, **options: Any) -> Any:
        """Read the command line, run, and exit."""
        parse_and_run = super().main
        options.update(prog_name=_NAME, standalone_mode=False)
        sys.exit(exit_code_of(lambda: parse_and_run(*args, **options)))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; click would treat a closed pipe as a failure."""
        try:
            result = super().invoke(ctx)
            flush_output()
        except BrokenPipeError:
            forget_output()
            return ExitCode.CLOSED
        return result


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(te_sched.__version__, message="te-sched %(version)s")
def main() -> None:
    """Inspect the schedules of programs: their loops, code, speed and mistakes.

    PROGRAM.py is a Python file that makes schedules (te.create_schedule, tir.Schedule), functions
    (T.prim_func) or graphs (relax). It imports te_sched, or tvm with the names of any version. It
    is executed once, as Python would.

    Exit codes: 0 success, 1 findings or a failed program, 2 wrong usage.
    """


if __name__ == "__main__":
    main()
