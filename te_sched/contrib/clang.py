"""te_sched.contrib.clang: C source to LLVM IR, for the pragma import_llvm."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from te_sched import files
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import BuildError
from te_sched.runtime.csource import compiler_command, read_part, run_compiler, write_part
from te_sched.signatures import checked

__all__ = ["create_llvm", "find_clang"]

_NEWEST, _OLDEST = 30, 10


@checked
def find_clang(required: bool = True) -> list[str]:
    """The clang compilers of this machine, the plain name first."""
    names = ["clang", *(f"clang-{version}" for version in range(_NEWEST, _OLDEST - 1, -1))]
    asked = os.environ.get("CC", "")
    if "clang" in Path(asked).name:
        names.insert(0, asked)
    paths = [path for name in names if (path := shutil.which(name)) is not None]
    if required and not paths:
        raise BuildError(
            "clang is not installed",
            "",
            'install it, or use the pragma "import_c" with C source, which gcc compiles too',
        )
    return paths


@checked
def create_llvm(
    inputs: str | Sequence[str],
    output: str | None = None,
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> str:
    """Compile C or C++ source text, or a file, to LLVM IR; return its text.

    The text is also written to `output`. Source text with `extern "C"` is compiled as C++. Without
    clang, another C compiler produces assembly, which is returned as `module asm`: it runs, but is
    neither inlined nor optimized any further.
    """
    sources = [inputs] if isinstance(inputs, str) else list(inputs)
    compiler = [cc] if cc else find_clang(required=False)[:1] or compiler_command()
    compiler = compiler or find_clang()[:1]  # which says what to install
    with files.temporary_folder("compile C source to LLVM IR", BuildError) as folder:
        paths = [_as_file(source, folder / f"source{k}") for k, source in enumerate(sources)]
        if len(paths) != 1:
            raise BuildError(
                f"cannot compile {len(paths)} sources to one LLVM IR module",
                "clang makes one of each",
                "join them to one source",
            )
        output_path = folder / "code.ll"
        is_clang = _is_clang(compiler)
        command = [*compiler, "-O3", *(_TO_LLVM if is_clang else _TO_ASSEMBLY)]
        command += ["-x", _language(paths[0]), *paths, "-o", str(output_path), *(options or [])]
        run_compiler(command, "compile C source to LLVM IR")
        text = read_part(output_path).decode(errors="replace")
    text = text if is_clang else _module_asm(text)
    if output is not None:
        files.write(output, text, "write", error=BuildError)
    return text


_TO_LLVM = ("-emit-llvm", "-S")
_TO_ASSEMBLY = ("-S", "-fPIC", "-fno-asynchronous-unwind-tables")


def _is_clang(compiler: list[str]) -> bool:
    """Whether a compiler is clang, by its name or by its version text."""
    if "clang" in Path(compiler[0]).name:
        return True
    version = run_compiler([*compiler, "--version"], "ask the C compiler for its version")
    return "clang" in version


def _module_asm(assembly: str) -> str:
    """LLVM IR that is one block of assembly, where labels of its own differ from other texts'."""
    exported = set(re.findall(r"\.(?:globl|weak)\s+([\w.$]+)", assembly))
    labels = set(re.findall(r"^([\w.$]+):", assembly, re.MULTILINE)) - exported
    mark = hashlib.sha256(assembly.encode()).hexdigest()[:8]

    def marked(match: re.Match[str]) -> str:
        return f"{match[0]}.{mark}" if match[0] in labels else match[0]

    lines = [
        line if _TEXT.match(line) else re.sub(r"(?<![\w.$%])[A-Za-z_.$][\w.$]*", marked, line)
        for line in assembly.splitlines()
        if line.strip()
    ]
    return "".join(f'module asm "{_escaped(line)}"\n' for line in lines)


_TEXT = re.compile(r"\s*\.(?:string|ascii|asciz|file|ident)\b")


def _escaped(line: str) -> str:
    def hexadecimal(match: re.Match[str]) -> str:
        return "".join(f"\\{byte:02X}" for byte in match[0].encode())

    return re.sub(r'[^ -~]|["\\]', hexadecimal, line)


def _as_file(source: str, stem: Path) -> str:
    """The path of the source; text is written to a file."""
    if "\n" not in source and os.path.isfile(source):
        return source
    path = stem.with_suffix(".cc" if 'extern "C"' in source else ".c")
    write_part(path, source)
    return str(path)


def _language(path: str) -> str:
    source = files.read(path, "compile", "check the path", BuildError)
    return "c" if path.endswith(".c") and b'extern "C"' not in source else "c++"


_tell_of_absent_names(__name__)
