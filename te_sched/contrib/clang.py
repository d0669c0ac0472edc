"""te_sched.contrib.clang: C source to LLVM IR, for the pragma import_llvm."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from te_sched.contrib.cc import run_compiler
from te_sched.contrib.utils import tempdir
from te_sched.errors import BuildError

__all__ = ["create_llvm", "find_clang"]

_NEWEST, _OLDEST = 30, 10


def find_clang(required: bool = True) -> list[str]:
    """The clang compilers of this machine, the plain name first."""
    names = ["clang", *(f"clang-{version}" for version in range(_NEWEST, _OLDEST - 1, -1))]
    asked = os.environ.get("CC", "")
    if "clang" in Path(asked).name:
        names.insert(0, asked)
    found = [path for name in names if (path := shutil.which(name)) is not None]
    if required and not found:
        raise BuildError(
            "find clang",
            "it is not installed here",
            'install it, or use the pragma "import_c" with the C source, for which gcc will do',
        )
    return found


def create_llvm(
    inputs: str | Sequence[str],
    output: str | None = None,
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> str:
    """Compile C or C++ source text, or files, to LLVM IR; gives its text.

    It is also written to `output`. Source text with `extern "C"` is taken as C++.
    """
    sources = [inputs] if isinstance(inputs, str) else list(inputs)
    compiler = cc if cc is not None else find_clang()[0]
    with tempdir() as folder:
        files = [_as_file(source, folder.path / f"source{k}") for k, source in enumerate(sources)]
        if len(files) != 1:
            raise BuildError(
                f"compile {len(files)} sources to one LLVM IR",
                "clang makes one of each",
                "join them to one source",
            )
        place = output if output is not None else folder.relpath("code.ll")
        command = [compiler, "-O3", "-emit-llvm", "-S", "-x", _language(files[0]), *files]
        run_compiler([*command, "-o", place, *(options or [])], "compile C source to LLVM IR")
        return Path(place).read_text()


def _as_file(source: str, place: Path) -> str:
    """A path as it is; text in a file of its own."""
    if "\n" not in source and Path(source).is_file():
        return source
    path = place.with_suffix(".cc" if 'extern "C"' in source else ".c")
    path.write_text(source)
    return str(path)


def _language(path: str) -> str:
    return "c" if path.endswith(".c") and 'extern "C"' not in Path(path).read_text() else "c++"
