"""C code with the machine's C compiler, and linking of shared libraries.

Must not know what is compiled.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from te_sched import files
from te_sched.errors import BuildError
from te_sched.signatures import checked


def compiler_command() -> list[str]:
    """The words that call the C compiler: $CC ("ccache gcc"), cc, gcc or clang; empty if none."""
    for text in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        words = text.split()
        executable = shutil.which(words[0]) if words else None
        if executable is not None:
            return [executable, *words[1:]]
    return []


def find_compiler() -> str | None:
    """The path of the C compiler, without further words of $CC."""
    return next(iter(compiler_command()), None)


@dataclass(frozen=True, slots=True)
class CObject:
    """Compiled C code and the functions and variables that it defines."""

    data: bytes
    symbols: frozenset[str]


def compile_c(source: str, options: tuple[str, ...] = ("-O3",)) -> CObject:
    """C source text (or the path of a .c file) compiled to an object file."""
    what = "compile C source"
    content: str | bytes = source
    if "\n" not in source and source.endswith(".c") and os.path.isfile(source):
        content = files.read(source, "compile", "check the path", BuildError)
    with files.temporary_folder(what, BuildError) as folder:
        write_part(folder / "code.c", content)
        compiler = _compiler(what)
        run_compiler([*compiler, *options, "-fPIC", "-S", "code.c", "-o", "code.s"], what, folder)
        run_compiler([*compiler, "-c", "code.s", "-o", "code.o"], what, folder)
        assembly = read_part(folder / "code.s").decode(errors="replace")
        labels = re.findall(r"^_?([A-Za-z_]\w*):", assembly, re.MULTILINE)
        return CObject(read_part(folder / "code.o"), frozenset(labels))


def link(objects: tuple[bytes, ...], what: str, is_shared: bool) -> bytes:
    """Object files linked to a shared library, or joined into one."""
    options, libraries = (["-shared"], ["-lm"]) if is_shared else (["-r", "-nostdlib"], [])
    command = _compiler(what)
    with files.temporary_folder(what, BuildError) as folder:
        names = [f"part{k}.o" for k in range(len(objects))]
        for name, data in zip(names, objects, strict=True):
            write_part(folder / name, data)
        run_compiler([*command, *options, *names, "-o", "whole", *libraries], what, folder)
        return read_part(folder / "whole")


def write_part(path: Path, content: str | bytes) -> None:
    """Write a temporary file for a compiler."""
    files.write(path, content, "write", "make room for temporary files", BuildError)


def read_part(path: Path) -> bytes:
    """What a compiler wrote to a temporary file."""
    return files.read(path, "read", "check what the compiler writes", BuildError)


def _compiler(what: str) -> list[str]:
    command = compiler_command()
    if not command:
        raise BuildError(
            f"cannot {what}: no C compiler is installed",
            "",
            "install gcc or clang, or set CC; a .o file needs none",
        )
    return command


@checked
def run_compiler(command: Sequence[str], what: str, folder: Path | None = None) -> str:
    """The output of a compiler; a BuildError with its messages if it fails."""
    if not command:
        raise BuildError(f"cannot {what}: no command is given", "", "name an installed compiler")
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except (OSError, ValueError) as error:  # ValueError: words that the system cannot encode
        raise BuildError(
            f"cannot {what}: {command[0]} cannot be run: {error}", "", "name an installed compiler"
        ) from None
    if done.returncode:
        said = done.stderr.strip()[:2000] or f"nothing, and ended with code {done.returncode}"
        raise BuildError(
            f"cannot {what}: {Path(command[0]).name} says: {said}",
            "",
            "correct the source or the options",
        )
    return done.stdout
