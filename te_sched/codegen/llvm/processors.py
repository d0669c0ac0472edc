"""Targets and intrinsics, checked before LLVM sees them, which ends the process on some.

Another process tries them (`trial`). Nothing is tried for a target without options, nor for
intrinsics whose features this computer's processor is known to have. Must not generate code.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from te_sched.codegen.llvm.trial import compile_apart, processors_and_features
from te_sched.codegen.llvm.types import quote
from te_sched.codegen.target import Target
from te_sched.errors import BuildError

# What any program may need: numbers as arguments and results, vectors, functions of C.
_SAMPLE = """
declare float @expf(float)
define float @single(float %x, ptr %p) {
  %y = call float @expf(float %x)
  store float %y, ptr %p
  ret float %y
}
define double @double(double %x, i64 %n) {
  %m = sitofp i64 %n to double
  %y = fdiv double %x, %m
  ret double %y
}
define half @half(half %x) {
  %y = fadd half %x, %x
  ret half %y
}
define void @vector(ptr %p) {
  %x = load <8 x float>, ptr %p
  %y = fmul <8 x float> %x, %x
  store <8 x float> %y, ptr %p
  ret void
}
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
# Intrinsics whose operands and result have one type, of all processors.
_OF_ALL_PROCESSORS = (
    *("exp", "exp2", "log", "log2", "log10", "sqrt", "pow", "sin", "cos", "fma", "fmuladd"),
    *("floor", "ceil", "trunc", "round", "roundeven", "rint", "nearbyint", "fabs", "copysign"),
    *("maximum", "maxnum", "minimum", "minnum", "ctpop"),
)
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


def check_target(target: Target, triple: str, cpu: str, features: str) -> None:
    """Refuse a target with a processor, a feature or a triple that LLVM does not compile for.

    Nothing is asked for a target without -mcpu, -mattr and -mtriple.
    """
    signed = [part for part in (target.mattr or "").split(",") if part]
    for part in signed:
        if part[0] not in "+-":
            raise BuildError(
                f"feature {part!r} in -mattr of target {target.text!r} must begin with + or -",
                help=f"write +{part} or -{part}",
            )
    if target.mcpu in (None, "native", "generic") and not signed and target.mtriple is None:
        return
    reason, printed = compile_apart(triple, cpu, features, target.opt_level, _SAMPLE)
    if printed or not cpu:  # a fatal error, a warning of unknown names, or the answer to -mcpu=help
        _check_names(target, triple, [part[1:] for part in signed])
    if reason:
        raise BuildError(
            f"LLVM cannot compile for target {target.text!r}",
            f"LLVM says: {reason}",
            "leave out the option that the message names, or use the target llvm",
        )


def _check_names(target: Target, triple: str, features: list[str]) -> None:
    """Refuse a processor or a feature that LLVM does not know."""
    cpu = target.mcpu
    processors, feature_names = processors_and_features(triple)
    if processors and cpu not in (None, "native", "generic", *processors):
        raise _unknown(target, f"processor -mcpu={cpu}", str(cpu), processors)
    for name in features:
        if feature_names and name not in feature_names:
            raise _unknown(target, f"feature {name}", name, feature_names)


def needs_trial(name: str, result: str, operands: tuple[str, ...]) -> bool:
    """Whether LLVM may end the process on a call of an intrinsic with these types.

    >>> needs_trial("llvm.exp", "float", ("float",))
    False
    >>> needs_trial("llvm.exp", "i32", ("float",)), needs_trial("llvm.vscale", "i32", ())
    (True, True)
    """
    base = name.removeprefix("llvm.").partition(".")[0]
    return base not in _OF_ALL_PROCESSORS or set(operands) != {result}


def check_intrinsics(
    target: Target,
    triple: str,
    cpu: str,
    features: str,
    calls: Iterable[tuple[str, tuple[Any, ...]]],
) -> None:
    """Refuse intrinsics, by name with the types of a call, that LLVM cannot compile there."""
    last = {part[1:]: part[0] for part in features.split(",") if part}  # the last word counts
    present = {name for name, sign in last.items() if sign == "+"}
    for name, call in calls:
        needed = next((names for start, names in _FEATURES if name.startswith(start)), ())
        if needed and present.issuperset(needed):
            continue
        kind = name.removeprefix("llvm.").partition(".")[0]
        is_elsewhere = not triple.startswith(_PROCESSORS.get(kind, ""))
        reason = "" if is_elsewhere else _failure(triple, cpu, features, name, call)
        if kind in _PROCESSORS and (is_elsewhere or reason):
            what = f" ({', '.join(needed)})" if needed else ""
            raise BuildError(
                f"target {target.text!r} has no instruction for the intrinsic {name}{what}",
                "the processor does not support it",
                "tensorize with another intrinsic, or name a processor that has it by -mcpu=",
            )
        if reason:
            result, *operands = call
            types = ", ".join(kind for kind, _ in operands)
            raise BuildError(
                f"LLVM cannot compile the intrinsic {name} with the result {result} and the "
                f"arguments ({types})",
                f"LLVM says: {reason}",
                "see LLVM's language reference for the types of the intrinsic",
            )


def _failure(triple: str, cpu: str, features: str, name: str, call: tuple[Any, ...]) -> str:
    """Why LLVM ends the process on a call; "" where it does not, or where it cannot be asked."""
    result, *operands = call
    values = ", ".join(f"{kind} {value or f'%x{k}'}" for k, (kind, value) in enumerate(operands))
    parameters = ", ".join(f"{kind} %x{k}" for k, (kind, _) in enumerate(operands))
    keep, value = ("", "") if result == "void" else ("%r = ", "%r")
    text = f"""define {result} @f({parameters}) {{
      {keep}call {result} @{quote(name)}({values})
      ret {result} {value}
    }}
    declare {result} @{quote(name)}({", ".join(kind for kind, _ in operands)})"""
    return compile_apart(triple, cpu, features, 0, text)[0]


def _unknown(target: Target, what: str, name: str, names: frozenset[str]) -> BuildError:
    close = difflib.get_close_matches(name, sorted(names), 5, 0.5)
    return BuildError(
        f"unknown {what} in target {target.text!r}",
        "LLVM does not know it for this kind of machine",
        f"use one like {', '.join(close)}" if close else "leave it out for this computer",
    )
