"""te_sched.contrib.cc: linking with the machine's C compiler."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from te_sched.errors import BuildError
from te_sched.runtime.csource import find_compiler
from te_sched.runtime.libraries import seal_linked

__all__ = ["create_executable", "create_shared", "get_cc", "run_compiler"]


def get_cc() -> str | None:
    """The C compiler: $CC, cc, gcc or clang; None when there is none."""
    return find_compiler()


def create_shared(
    output: str,
    objects: str | Sequence[str],
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> None:
    """Link object files (or compile C sources) to a shared library."""
    files = [objects] if isinstance(objects, str) else list(objects)
    command = [_compiler(cc, output), "-shared", "-fPIC", "-o", output, *files, *(options or [])]
    run_compiler(command, f"write {output}")
    seal_linked(Path(output), [Path(file) for file in files])


def create_executable(
    output: str,
    objects: str | Sequence[str],
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> None:
    """Link object files (or compile C sources) to a program."""
    files = [objects] if isinstance(objects, str) else list(objects)
    run_compiler([_compiler(cc, output), "-o", output, *files, *(options or [])], f"write {output}")


create_shared.output_format = "so"  # type: ignore[attr-defined]  # as TVM's callers ask


def _compiler(cc: str | None, output: str) -> str:
    found = cc or find_compiler()
    if found is None:
        raise BuildError(
            f"write {output}", "no C compiler is installed", "install gcc or clang, or set CC"
        )
    return found


def run_compiler(command: Sequence[str], what: str) -> str:
    """Run a compiler, give what it prints; raises BuildError with what it says when it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BuildError(
            what, f"{command[0]} cannot be run: {error}", "name an installed compiler"
        ) from None
    if done.returncode:
        name = Path(command[0]).name
        raise BuildError(
            what, f"{name} says: {done.stderr.strip()[:2000]}", "correct the source or the options"
        )
    return done.stdout
