"""python -m te_sched run PROGRAM.py [ARGS...]: run a program written for TVM, unchanged."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Sequence

from te_sched import compat

# TVM walks programs in C++, where hundreds of stages inside each other are nothing special.
_NESTING = 20_000


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="te_sched", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a program; its `import tvm` gives te_sched")
    run.add_argument("program", help="a Python file")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    given = parser.parse_args(argv)
    if not os.path.isfile(given.program):
        parser.error(f"there is no file {given.program!r}")
    run_program(given.program, given.arguments)


def run_program(program: str, arguments: Sequence[str]) -> None:
    """Run a Python file as Python would, where `import tvm` gives te_sched."""
    compat.install()
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _NESTING))
    sys.argv = [program, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(program))
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
