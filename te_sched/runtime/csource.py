"""C code with the machine's C compiler, and linking of shared libraries.

Must not know what is compiled.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from te_sched.errors import BuildError


def find_compiler() -> str | None:
    """The C compiler: $CC, cc, gcc or clang."""
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        found = shutil.which(name.split()[0]) if name.split() else None
        if found is not None:
            return found
    return None


@dataclass(frozen=True, slots=True)
class CObject:
    """Compiled C code and the functions and variables that it defines."""

    data: bytes
    symbols: frozenset[str]


def compile_c(source: str, options: tuple[str, ...] = ("-O3",)) -> CObject:
    """C source text (or the path of a .c file) compiled to an object file."""
    what = "compile C source"
    if "\n" not in source and source.endswith(".c") and Path(source).is_file():
        source = Path(source).read_text()
    with tempfile.TemporaryDirectory(prefix="te_sched") as folder:
        place = Path(folder)
        (place / "code.c").write_text(source)
        _run([*_compiler(what), *options, "-fPIC", "-S", "code.c", "-o", "code.s"], folder, what)
        _run([*_compiler(what), "-c", "code.s", "-o", "code.o"], folder, what)
        labels = re.findall(r"^_?([A-Za-z_]\w*):", (place / "code.s").read_text(), re.MULTILINE)
        return CObject((place / "code.o").read_bytes(), frozenset(labels))


def link_shared(objects: tuple[bytes, ...], path: Path) -> None:
    """Object files linked to a shared library, which appears at `path` complete or not at all."""
    _link(objects, path, ["-shared"], ["-lm"])


def link_relocatable(objects: tuple[bytes, ...], path: Path) -> None:
    """Object files joined into one."""
    _link(objects, path, ["-r", "-nostdlib"], [])


def _link(objects: tuple[bytes, ...], path: Path, options: list[str], libraries: list[str]) -> None:
    what = f"write {path}"
    command = _compiler(what)
    with tempfile.TemporaryDirectory(prefix="te_sched", dir=path.parent) as folder:
        names = [f"part{k}.o" for k in range(len(objects))]
        for name, data in zip(names, objects, strict=True):
            (Path(folder) / name).write_bytes(data)
        _run([*command, *options, *names, "-o", "whole", *libraries], folder, what)
        os.replace(Path(folder) / "whole", path)


def _compiler(what: str) -> list[str]:
    found = find_compiler()
    if found is None:
        raise BuildError(
            what,
            "no C compiler is installed",
            "install gcc or clang, or set CC; a .o file needs none",
        )
    return [found]


def _run(command: list[str], folder: str, what: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(
            what,
            f"{Path(command[0]).name} says: {done.stderr.strip()[:2000]}",
            "correct the source",
        )
