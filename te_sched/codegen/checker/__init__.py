"""The checked mode of the emulated GPU: kernels executed with numpy, all threads at once, and each
access is checked.

`check_program` runs a host's function and its kernels with numpy and reports data races, divergent
barriers, accesses out of bounds, uninitialized reads, and how memory is used.

    check.py        arguments, the host's function, launches, batches of blocks
    machine.py      the state of a running kernel: variables, mask, memories, findings
    statements.py   statements as closures      expressions.py, intrinsics.py, warps.py   values
    accesses.py     loads, stores, atomics      memory.py, shadow.py   the elements of memory, and
    the accesses since the last barrier
    checks.py       the checks in the program itself
    counters.py     banks and sectors           occupancy.py   blocks that fit a multiprocessor
    report.py       findings as data and as text
"""

from te_sched.codegen.checker.check import check_program
from te_sched.codegen.checker.report import (
    AccessCounter,
    Report,
    ThreadId,
    Violation,
    ViolationKind,
)

__all__ = ["AccessCounter", "Report", "ThreadId", "Violation", "ViolationKind", "check_program"]
