"""Names of processors and their features, checked before LLVM sees them: it aborts on some.

LLVM lists the names it knows on its standard error only, so another process asks it. Nothing is
asked for a target without -mcpu and -mattr. Must not generate code.
"""

from __future__ import annotations

import difflib
import re
import subprocess
import sys
from functools import cache

from te_sched.codegen.target import Target
from te_sched.errors import BuildError

_ASK = """
import sys, llvmlite.binding as llvm
llvm.initialize_native_target()
llvm.Target.from_triple(sys.argv[1]).create_target_machine(cpu="help")
"""
_NAME = re.compile(r"^  (\S+) +- ", re.MULTILINE)


def check_names(target: Target, triple: str) -> None:
    """Refuse a processor or a feature that LLVM does not know."""
    features = [part for part in (target.mattr or "").split(",") if part]
    for part in features:
        if part[0] not in "+-":
            raise BuildError(
                f"build for target {target.text!r}",
                f"{part!r} in -mattr does not say whether the feature is there",
                f"write +{part} or -{part}",
            )
    cpu = target.mcpu
    if cpu in (None, "native", "generic") and not features:
        return
    processors, known = _names(triple)
    if processors and cpu not in (None, "native", "generic", *processors):
        raise _unknown(target, f"-mcpu={cpu}", str(cpu), processors)
    for part in features:
        if known and part[1:] not in known:
            raise _unknown(target, f"the feature {part[1:]}", part[1:], known)


@cache
def _names(triple: str) -> tuple[frozenset[str], frozenset[str]]:
    """Processors and features that LLVM knows; none when it cannot be asked."""
    try:
        text = subprocess.run(
            [sys.executable, "-c", _ASK, triple], capture_output=True, text=True, timeout=60
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return frozenset(), frozenset()
    processors, _, features = text.partition("Available features")
    return frozenset(_NAME.findall(processors)), frozenset(_NAME.findall(features))


def _unknown(target: Target, what: str, name: str, known: frozenset[str]) -> BuildError:
    close = difflib.get_close_matches(name, sorted(known), 5, 0.5)
    return BuildError(
        f"build for target {target.text!r}",
        f"LLVM knows no such name for this kind of machine: {what}",
        f"use one like {', '.join(close)}" if close else "leave it out for this computer",
    )
