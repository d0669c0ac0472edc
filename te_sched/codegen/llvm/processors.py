"""Names of processors, their features and their intrinsics, checked before LLVM sees them.

LLVM aborts the process on some names, and on an instruction that a processor lacks; and it lists
the known names on its standard error only. So another process queries
it. Nothing is asked for a target
without -mcpu and -mattr, nor for intrinsics whose features this computer's processor is known to
have. Must not generate code.
"""

from __future__ import annotations

import difflib
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

from te_sched.codegen.target import Target
from te_sched.errors import BuildError

_ASK = """
import sys, llvmlite.binding as llvm
llvm.initialize_native_target()
llvm.Target.from_triple(sys.argv[1]).create_target_machine(cpu="help")
"""
_TRY = """
import sys, llvmlite.binding as llvm
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
triple, cpu, features, text = sys.argv[1:]
target = llvm.Target.from_triple(triple)
machine = target.create_target_machine(cpu=cpu, features=features, opt=0, reloc="pic")
machine.emit_object(llvm.parse_assembly(text))
"""
# The kinds of processors that have intrinsics of their own, as triples begin.
_PROCESSORS = {
    "x86": ("x86_64", "i386", "i486", "i586", "i686"),
    "aarch64": ("aarch64", "arm64"),
    "arm": ("arm", "thumb"),
    "riscv": ("riscv",),
    "ppc": ("powerpc",),
    "wasm": ("wasm",),
    **{name: (name,) for name in ("amdgcn", "r600", "hexagon", "mips", "bpf", "ve", "xcore")},
    **{"loongarch": ("loongarch",), "nvvm": ("nvptx",), "s390": ("s390x",), "spv": ("spirv",)},
}
# What intrinsics need, for messages and to save asking; the first that fits.
_FEATURES = (
    ("llvm.x86.avx512.vpdp", ("avx512vnni", "avx512vl")),
    ("llvm.x86.avx512bf16.", ("avx512bf16", "avx512vl")),
    ("llvm.x86.avx512.", ("avx512f", "avx512bw", "avx512dq", "avx512vl")),
    ("llvm.x86.avx2.", ("avx2",)),
    ("llvm.x86.avx.", ("avx",)),
    ("llvm.x86.sse.", ("sse",)),
    ("llvm.x86.sse2.", ("sse2",)),
    ("llvm.aarch64.neon.", ("neon",)),
)
_NAME = re.compile(r"^  (\S+) +- ", re.MULTILINE)


def check_names(target: Target, triple: str) -> None:
    """Refuse a processor or a feature that LLVM does not know."""
    features = [part for part in (target.mattr or "").split(",") if part]
    for part in features:
        if part[0] not in "+-":
            raise BuildError(
                f"feature {part!r} in -mattr of target {target.text!r} must begin with + or -",
                help=f"write +{part} or -{part}",
            )
    cpu = target.mcpu
    if cpu in (None, "native", "generic") and not features:
        return
    processors, known = _names(triple)
    if processors and cpu not in (None, "native", "generic", *processors):
        raise _unknown(target, f"processor -mcpu={cpu}", str(cpu), processors)
    for part in features:
        if known and part[1:] not in known:
            raise _unknown(target, f"feature {part[1:]}", part[1:], known)


@cache
def _names(triple: str) -> tuple[frozenset[str], frozenset[str]]:
    """Processors and features that LLVM knows; none when it cannot be asked."""
    answer = _ask_llvm(_ASK, triple)
    text = "" if answer is None else answer.stderr
    processors, _, features = text.partition("Available features")
    return frozenset(_NAME.findall(processors)), frozenset(_NAME.findall(features))


def _ask_llvm(program: str, *words: str) -> subprocess.CompletedProcess[str] | None:
    """What another process says; None where there can be none."""
    try:
        return subprocess.run(
            [sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return None


def processor_of(intrinsic: str) -> str | None:
    """The kind of processor that an LLVM intrinsic belongs to ("x86"), if it is not everyone's."""
    kind = intrinsic.removeprefix("llvm.").partition(".")[0]
    return kind if kind in _PROCESSORS else None


def check_intrinsics(
    target: Target, triple: str, cpu: str, features: str, calls: Mapping[str, tuple[Any, ...]]
) -> None:
    """Refuse intrinsics, by name with the types of a call, that are not instructions there."""
    last = {part[1:]: part[0] for part in features.split(",") if part}  # the last word counts
    present = {name for name, sign in last.items() if sign == "+"}
    for name, call in calls.items():
        needed = next((names for start, names in _FEATURES if name.startswith(start)), ())
        if needed and present.issuperset(needed):
            continue
        if not _is_of(name, triple) or not _compiles(triple, cpu, features, name, call):
            what = f" ({', '.join(needed)})" if needed else ""
            raise BuildError(
                f"target {target.text!r} has no instruction for the intrinsic {name}{what}",
                "the processor does not support it",
                "tensorize with another intrinsic, or name a processor that has it by -mcpu=",
            )


def _is_of(name: str, triple: str) -> bool:
    return triple.startswith(_PROCESSORS[processor_of(name) or ""])


@cache
def _compiles(triple: str, cpu: str, features: str, name: str, call: tuple[Any, ...]) -> bool:
    """Whether LLVM makes an instruction of a call; also where it cannot be asked."""
    result, *operands = call
    given = ", ".join(f"{kind} {value or f'%x{k}'}" for k, (kind, value) in enumerate(operands))
    parameters = ", ".join(f"{kind} %x{k}" for k, (kind, _) in enumerate(operands))
    keep, value = ("", "") if result == "void" else ("%r = ", "%r")
    text = f"""define {result} @f({parameters}) {{
      {keep}call {result} @{name}({given})
      ret {result} {value}
    }}
    declare {result} @{name}({", ".join(kind for kind, _ in operands)})"""
    tried = _ask_llvm(_TRY, triple, cpu, features, text)
    return tried is None or tried.returncode == 0 or "RuntimeError" in tried.stderr


def _unknown(target: Target, what: str, name: str, known: frozenset[str]) -> BuildError:
    close = difflib.get_close_matches(name, sorted(known), 5, 0.5)
    return BuildError(
        f"unknown {what} in target {target.text!r}",
        "LLVM does not know it for this kind of machine",
        f"use one like {', '.join(close)}" if close else "leave it out for this computer",
    )
