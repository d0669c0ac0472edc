"""te_sched.contrib.cc: linking with the machine's C compiler."""

from __future__ import annotations

import os
from collections.abc import Sequence

from te_sched import files
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import BuildError
from te_sched.runtime.csource import compiler_command, find_compiler, read_part, run_compiler
from te_sched.runtime.libraries import seal_linked
from te_sched.signatures import checked

__all__ = ["create_executable", "create_shared", "get_cc", "run_compiler"]


def get_cc() -> str | None:
    """The C compiler: $CC, cc, gcc or clang; None when there is none."""
    return find_compiler()


@checked
def create_shared(
    output: str | os.PathLike[str],
    objects: str | Sequence[str],
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> None:
    """Link object files (or compile C sources) to a shared library."""
    parts = [objects] if isinstance(objects, str) else list(objects)
    command = [*_compiler(cc, output), "-shared", "-fPIC", *parts, *(options or [])]
    files.write(output, seal_linked(_linked(command, output), parts), "write", executable=True)


@checked
def create_executable(
    output: str | os.PathLike[str],
    objects: str | Sequence[str],
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> None:
    """Link object files (or compile C sources) to a program."""
    parts = [objects] if isinstance(objects, str) else list(objects)
    whole = _linked([*_compiler(cc, output), *parts, *(options or [])], output)
    files.write(output, whole, "write", executable=True)


def _linked(command: Sequence[str], output: str | os.PathLike[str]) -> bytes:
    """The output of a linker command, to be written to `output`."""
    what = f"write {files.check_path(output, 'write', BuildError)}"
    with files.temporary_folder(what, BuildError) as folder:
        run_compiler([*command, "-o", str(folder / "whole")], what)
        return read_part(folder / "whole")


create_shared.output_format = "so"  # type: ignore[attr-defined]  # as TVM's callers ask


def _compiler(cc: str | None, output: str | os.PathLike[str]) -> list[str]:
    command = [cc] if cc else compiler_command()
    if not command:
        raise BuildError(
            f"cannot write {output}: no C compiler is installed",
            "",
            "install gcc or clang, or set CC",
        )
    return command


_tell_of_absent_names(__name__)
