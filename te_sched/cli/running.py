"""te-sched run: a program as Python would run it, where `import tvm` gives te_sched."""

from __future__ import annotations

import click

from te_sched.cli.programs import run_as_main


@click.command(
    "run",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("program", metavar="PROGRAM.py", type=click.Path())
@click.argument("arguments", metavar="[ARGS...]", nargs=-1, type=click.UNPROCESSED)
def command(program: str, arguments: tuple[str, ...]) -> int:
    """Run PROGRAM.py with ARGS, unchanged: its `import tvm` imports te_sched, with the names of
    all versions of TVM. The exit code is that of the program.
    """
    return run_as_main(program, arguments)
