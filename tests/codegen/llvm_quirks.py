"""A program for each quirk of LLVM that shows it without the workaround.

    python -m tests.codegen.llvm_quirks QUOTIENTS         prints whether the installed LLVM has it

To test other versions, set PYTHONPATH to their llvmlite.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm

import te_sched
from te_sched import te
from te_sched.codegen.llvm import machine, quirks
from te_sched.codegen.target import Target
from tests.codegen.llvm import test_machine as options
from tests.codegen.llvm import test_outline as outlines

ROOT = Path(__file__).resolve().parents[2]
X86 = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512"
_PARAMETERS = "ptr noalias %a, ptr noalias %b, i64 %n"


def function(*lines: str) -> str:
    """A function of two arrays and a size, as LLVM text."""
    body = "\n".join(lines)
    return f"define void @f({_PARAMETERS}) {{\nentry:\n{body}\n  ret void\n}}\n"


def maxima(count: int) -> str:
    """The maximum of many floats, in a sequential loop."""
    lines = ["br label %loop", "loop:", "%i = phi i64 [ 0, %entry ], [ %next, %loop ]"]
    lines += [f"%m0 = phi float [ 0.0, %entry ], [ %m{count}, %loop ]"]
    for k in range(count):
        lines += [
            f"%p{k} = getelementptr [{count} x float], ptr %a, i64 %i, i64 {k}",
            f"%x{k} = load float, ptr %p{k}",
            f"%c{k} = fcmp ogt float %m{k}, %x{k}",
            f"%m{k + 1} = select i1 %c{k}, float %m{k}, float %x{k}",
        ]
    lines += ["%next = add nsw i64 %i, 1", "%t = icmp slt i64 %next, 8"]
    lines += ["br i1 %t, label %loop, label %exit", "exit:", f"store float %m{count}, ptr %b"]
    return function(*lines)


def scattered_squares(count: int) -> str:
    """Squares of elements, stored in another order, without a loop."""
    lines = []
    for k in range(count):
        lines += [
            f"%p{k} = getelementptr float, ptr %a, i64 {k * 7 % count}",
            f"%x{k} = load float, ptr %p{k}",
            f"%y{k} = fmul float %x{k}, %x{k}",
            f"%q{k} = getelementptr float, ptr %b, i64 {k * 3 % count}",
            f"store float %y{k}, ptr %q{k}",
        ]
    return function(*lines)


def sums(loops: int, trips: str, terms: int) -> str:
    """A sequence of loops, each of which adds `terms` squares in `trips` steps."""
    lines, before = ["br label %h0"], "entry"
    for k in range(loops):
        lines += [
            f"h{k}:",
            f"%i{k} = phi i64 [ 0, %{before} ], [ %n{k}, %l{k} ]",
            f"%s{k}.0 = phi float [ 0.0, %{before} ], [ %s{k}.{terms}, %l{k} ]",
            f"%t{k} = icmp slt i64 %i{k}, {trips}",
            f"br i1 %t{k}, label %l{k}, label %e{k}",
            f"l{k}:",
        ]
        for term in range(terms):
            lines += [
                f"%p{k}.{term} = getelementptr [9 x float], ptr %a, i64 %i{k}, i64 {2 * term}",
                f"%x{k}.{term} = load float, ptr %p{k}.{term}",
                f"%y{k}.{term} = fmul float %x{k}.{term}, %x{k}.{term}",
                f"%s{k}.{term + 1} = fadd float %y{k}.{term}, %s{k}.{term}",
            ]
        lines += [f"%n{k} = add nsw i64 %i{k}, 1", f"br label %h{k}, !llvm.loop !0", f"e{k}:"]
        lines += [f"%q{k} = getelementptr float, ptr %b, i64 {k}"]
        lines += [f"store float %s{k}.0, ptr %q{k}", f"br label %h{k + 1}"]
        before = f"e{k}"
    mark = '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.mustprogress"}\n'
    return function(*lines, f"h{loops}:") + mark


def fails(test: Callable[[], None]) -> bool:
    """Whether a test of te_sched fails."""
    try:
        test()
    except AssertionError:
        return True
    return False


def shuffles() -> bool:
    """Whether the passes return an invalid module."""
    is_valid, found = machine._is_valid, []
    machine._is_valid = lambda module: found.append(is_valid(module)) or found[-1]
    te_sched.build(*options.early_shuffles())
    return not all(found)


def words_of_two_lanes() -> bool:
    """Whether LLVM prints messages while it compiles masked vectors of two lanes."""
    A = te.placeholder((30,), name="A")
    B = te.compute((30,), lambda i: te.if_then_else(A[i] > 0.0, te.sqrt(A[i]), A[i]), name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(s[B].split(B.op.axis[0], 2)[1])
    errors = os.dup(2)
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 2)
        te_sched.build(s, [A, B], X86)
        os.dup2(errors, 2)
        return printed.tell() > 0


def spilled_lanes() -> bool:
    """Whether a sum of 48 lanes is spilled to the stack."""
    A, k = te.placeholder((64, 48), name="A"), te.reduce_axis((0, 64), "k")
    B = te.compute((48,), lambda i: te.sum(A[k, i], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].reorder(k, B.op.axis[0])
    s[B].vectorize(B.op.axis[0])
    text = te_sched.build(s, [A, B], X86).get_source("asm")
    loops = text.partition("te_sched_main:")[2].partition("func_end")[0]
    return bool(re.search(r"mm\d+, .*\(%rsp\)", loops))


_REMAINDERS = """
  %x = load <2 x i8>, ptr %a, align 1
  %y = urem <2 x i8> %x, splat (i8 3)
  %z = shufflevector <2 x i8> %y, <2 x i8> poison,
    <8 x i32> <i32 0, i32 1, i32 0, i32 1, i32 0, i32 1, i32 0, i32 1>
  %u = load <8 x i8>, ptr %b, align 1
  %v = mul <8 x i8> %z, %u
  store <8 x i8> %v, ptr %b, align 1
"""


def zero_products() -> bool:
    """Whether the code of products with remainders, of which two make eight lanes, has none."""
    host()
    target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
    text = function(_REMAINDERS).replace("ptr noalias", "ptr")
    code = target.create_target_machine(cpu="skylake-avx512").emit_assembly(
        llvm.parse_assembly(text)
    )
    return "pmull" not in code and "maddub" not in code


def hidden_dispose() -> bool:
    """Whether the method that frees a pass manager is hidden."""
    handle = host().handle
    builder = llvm.create_pass_builder(handle, llvm.create_pipeline_tuning_options())
    return type(builder.getModulePassManager())._dispose is llvm.ffi.ObjectRef._dispose


@cache
def host() -> machine.TargetMachine:
    return machine.machine_of(Target("llvm"))


def optimized(text: str) -> Callable[[], None]:
    """Run LLVM's passes on a text."""

    def run() -> None:
        machine.show_source(f"{host().header}\n{text}", (), host(), "ll")

    return run


_PLAIN = """
import sys, llvmlite.binding as llvm
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
machine = llvm.Target.from_default_triple().create_target_machine()
options = llvm.create_pipeline_tuning_options(speed_level=2)
builder = llvm.create_pass_builder(machine, options)
builder.getModulePassManager().run(llvm.parse_assembly(sys.stdin.read()), builder)
"""


def endless_search() -> bool:
    """Whether LLVM searches 32 maxima for longer than five seconds, in a process without te_sched,
    whose workaround is an option of the process.
    """
    text = f"{host().header}\n{maxima(32)}"
    try:
        command = [sys.executable, "-c", _PLAIN]
        subprocess.run(command, input=text, text=True, check=True, timeout=5)
    except subprocess.TimeoutExpired:
        return True
    return False


# The test of each quirk: it is true, or it takes this multiple of the time with the workaround.
REPRODUCERS: dict[str, tuple[Callable[[], bool | None], float]] = {
    "HASH_SEARCH": (endless_search, 0.0),
    "LONG_BLOCKS": (optimized(scattered_squares(4000)), 2.0),
    "LANES_ONE_BY_ONE": (options.test_long_vectors_of_elements_from_anywhere_take_no_time, 2.0),
    "COPIED_BODIES": (optimized(sums(200, "%n", 4)), 1.4),
    "MANY_LOOPS": (optimized(sums(1000, "%n", 1)), 2.0),
    "LOOPS_OF_FUNCTION": (outlines.test_programs_of_hundreds_of_nests_take_no_time, 2.0),
    "MANY_CONDITIONS": (options.test_conditions_of_unrolled_steps_of_threads_take_no_time, 2.0),
    "QUOTIENTS": (lambda: fails(options.test_quotients_of_an_index_are_those_of_each_vector), 0.0),
    "EARLY_SHUFFLES": (shuffles, 0.0),
    "TWO_MASKED_LANES": (words_of_two_lanes, 0.0),
    "ODD_LANES": (spilled_lanes, 0.0),
    "REPEATED_REMAINDERS": (zero_products, 0.0),
    "ONE_AT_A_TIME": (lambda: hasattr(llvm.ffi.lib.LLVMPY_ParseAssembly, "_lock"), 0.0),
    "HIDDEN_DISPOSE": (hidden_dispose, 0.0),
}
_MARGIN = 0.1  # seconds


def leave_out(name: str) -> None:
    """Disable the workaround for a quirk in te_sched."""
    setattr(quirks, name, replace(getattr(quirks, name), versions=()))


def main(name: str) -> None:
    """Print whether LLVM has a quirk; it has it if the process exceeds the time limit."""
    reproduce, times = REPRODUCERS[name]
    with te_sched.config.scoped(cache=False):
        seconds = 0.0
        if times:
            host()
            start = time.process_time()
            reproduce()
            seconds = time.process_time() - start
        if name != "EARLY_SHUFFLES":
            leave_out(name)
        host()
        if times:
            signal.setitimer(signal.ITIMER_PROF, times * seconds + _MARGIN)
        print(bool(reproduce()))


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        main(sys.argv[1])
