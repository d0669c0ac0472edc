"""LLVM in another process, for what it may end a process on instead of raising an error.

That is so for targets, intrinsics and LLVM IR that users write: fatal errors, invalid assembly,
and assertions, which the LLVM that llvmlite brings checks. Must not know what is compiled.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from functools import lru_cache

_LIMIT = 60  # seconds
_COMPILE = """
import json, sys, llvmlite.binding as llvm
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
llvm.initialize_native_asmparser()
triple, cpu, features, level, text, linked = json.load(sys.stdin)
try:
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(
        cpu=cpu, features=features, opt=level, reloc="pic", codemodel="default"
    )
    header = f'target datalayout = "{machine.target_data}"\\ntarget triple = "{triple}"\\n'
    module = llvm.parse_assembly(header + text)
    for part in map(llvm.parse_assembly, linked):
        part.verify()
        module.link_in(part)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    machine.emit_object(module)
except RuntimeError:
    pass  # raised in this process, too
"""
_PROCESSORS = """
import sys, llvmlite.binding as llvm
llvm.initialize_native_target()
llvm.Target.from_triple(sys.argv[1]).create_target_machine(cpu="help")
"""
_NAME = re.compile(r"^  (\S+) +- ", re.MULTILINE)
_REASON = re.compile(r"^.*(?:LLVM ERROR: |error: |Assertion )(.*)$", re.MULTILINE)


@lru_cache(maxsize=256)
def compile_apart(
    triple: str, cpu: str, features: str, level: int, text: str, linked: tuple[str, ...] = ()
) -> tuple[str, str]:
    """Compile LLVM IR without a header in another process, with other modules linked to it.

    Returns why LLVM ended that process, and what it printed: "" where it did not, also where it
    raised an error, or where there can be no other process.
    """
    job = json.dumps([triple, cpu, features, level, text, linked])
    done = _run(_COMPILE, job)
    if done is None or "Traceback (most recent call last)" in done.stderr:
        return "", ""
    if done.returncode == 0:
        return "", done.stderr
    reason = _REASON.search(done.stderr)
    return reason[1] if reason else _end(done.returncode), done.stderr


@lru_cache(maxsize=64)
def processors_and_features(triple: str) -> tuple[frozenset[str], frozenset[str]]:
    """The processors and features that LLVM knows, which it lists on its standard error alone;
    none where it cannot be asked.
    """
    done = _run(_PROCESSORS, "", triple)
    processors, _, features = ("" if done is None else done.stderr).partition("Available features")
    return frozenset(_NAME.findall(processors)), frozenset(_NAME.findall(features))


def _run(program: str, text: str, *words: str) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            [sys.executable, "-c", program, *words],
            input=text,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_LIMIT,
        )
    except (OSError, subprocess.SubprocessError):
        return None


def _end(code: int) -> str:
    try:
        return f"the process ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"the process ended with exit code {code}"
