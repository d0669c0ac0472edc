"""Write docs/passes.md: one program on its whole way, with what each pass changes.

    python scripts/passes.py           write the page
    python scripts/passes.py --check   say whether it is up to date

The programs are below; everything else comes from the passes and their docstrings. Must not know
what a pass does.
"""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import te_sched
from te_sched import config, transform
from te_sched.analysis import check
from te_sched.config import AS_TVM
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.lower.bounds import infer_bound
from te_sched.lower.device.kernel import is_kernel
from te_sched.lower.device.pipeline import FUNCTION_PASSES, KERNEL_PASSES
from te_sched.lower.device.split_kernels import split_kernels
from te_sched.lower.passes import Pass
from te_sched.lower.pipeline import PASSES, schedule_ops

PAGE = Path(__file__).resolve().parent.parent / "docs/passes.md"

PROGRAM = """from te_sched import te

A = te.placeholder((100, 64), name="A")
B = te.compute((100, 64), lambda i, j: A[i, j] * 2, name="B")
k = te.reduce_axis((0, 64), name="k")
C = te.compute((100,), lambda i: te.sum(B[i, k], axis=k), name="C")

s = te.create_schedule(C.op)
i_out, i_in = s[C].split(C.op.axis[0], factor=8)
k_out, k_in = s[C].split(k, factor=16)
s[C].reorder(i_out, k_out, i_in, k_in)
s[B].compute_at(s[C], k_out)
s[B].vectorize(s[B].op.axis[1])
s[B].prefetch(A, s[B].op.axis[0], 1)
k_four, k_one = s[C].split(k_in, factor=4)
s[C].unroll(k_one)
"""

KERNEL = """s = te.create_schedule(C.op)
s[B].compute_inline()
block, i_in = s[C].split(C.op.axis[0], factor=4)
_, lane = s[C].split(k, factor=16)
s[C].bind(block, te.thread_axis("blockIdx.x"))
s[C].bind(i_in, te.thread_axis("threadIdx.y"))
s[C].bind(lane, te.thread_axis("threadIdx.x"))
"""

HEAD = """# One program through every pass

Written by `python scripts/passes.py`; a test checks that it is up to date.

The [architecture tour](architecture.md) says which folder does what. Here a small program takes the
road. After each pass stands what it changed, as a difference of the printed program; passes that
change nothing here are named, too.

## Declare and schedule

Rows are doubled and summed. Eight rows at a time, and 100 is not a multiple of 8; B is computed for
a piece of these rows when C needs it:

```python
"""

VERDICTS = """`build` judges the loops that `schedule_ops` made before anything is compiled, and
then what the passes made of them. `te_sched.analysis.check(s, [A, C])` gives all that was judged:
"""

MACHINE_CODE = """## Machine code

`codegen/llvm` writes LLVM IR, which LLVM optimises for the processor; what comes of it depends on
both, and `module.get_source()` and `module.get_source("asm")` show it. `runtime` checks the
arguments of each call, remembers what was good, and calls.
"""

CUDA = """`codegen/cuda` prints the kernel. Without a GPU `codegen/emulator` makes loops of it,
for a processor.
"""


def page() -> str:
    """The text of the page."""
    names: dict[str, Any] = {}
    exec(PROGRAM, names)
    parts = [HEAD + PROGRAM + "```\n", *_schedule(names), *_loops(names), *_verdicts(names)]
    parts += [MACHINE_CODE, *_kernels(names)]
    return "\n".join(parts)


def _schedule(names: dict[str, Any]) -> Iterator[str]:
    schedule = names["s"]
    yield "`s.trace` has what was done, and `print(s)` shows the loops:\n"
    yield _block(str(schedule))
    yield "## Bounds\n"
    yield f"`lower.bounds.infer_bound`: {_summary(infer_bound)}\n"
    normal = schedule.normalize()
    ranges = infer_bound(normal)
    rows = [
        f"{stage.op.name}.{axis.var.name}: {ranges[axis].min} .. + {ranges[axis].extent}"
        for stage in normal.stages
        for axis in stage.leaf_iter_vars
        if axis in ranges
    ]
    yield _block("\n".join(rows))


def _loops(names: dict[str, Any]) -> Iterator[str]:
    """The loops, and each pass of lowering."""
    schedule, args = names["s"].normalize(), [names["A"], names["C"]]
    func = schedule_ops(schedule, infer_bound(schedule), args, "main")
    yield "## Loops\n"
    yield f"`lower.assemble.schedule_ops`: {_summary(schedule_ops)}\n"
    yield _block(_text(func), "python")
    yield "From here on each pass takes a function and gives one. They are the tuple `PASSES` of"
    yield "`te_sched/lower/pipeline.py`; guards of constant loops are cut here, as `build` does.\n"
    with transform.PassContext(config={"tir.LoopPartition": {"partition_const_loop": True}}):
        yield from _passes(func, PASSES)


def _passes(func: PrimFunc, passes: Sequence[Pass]) -> Iterator[str]:
    settings = config.current().lowering
    for one in passes:
        before, func = _text(func), one.run(func, settings)
        yield f"### {one.name}\n"
        yield _summary(one.run) + "\n"
        yield _changes(before, _text(func))


def _verdicts(names: dict[str, Any]) -> Iterator[str]:
    yield "## Verdicts\n"
    yield VERDICTS
    findings = check(names["s"], [names["A"], names["C"]])
    yield _block("\n".join([str(findings), *map(str, findings)]))


def _kernels(names: dict[str, Any]) -> Iterator[str]:
    """The same computation bound to threads, through the passes for devices."""
    exec(KERNEL, names)
    yield "## Kernels\n"
    yield "The same computation for a GPU, sums over 16 lanes:\n"
    yield _block(KERNEL, "python")
    lowered = te_sched.lower(names["s"], [names["A"], names["C"]], simple_mode=True)
    func = lowered["main"]
    yield "The passes above leave this:\n"
    yield _block(_text(func), "python")
    yield "Then it takes the passes of `te_sched/lower/device/pipeline.py`.\n"
    for one in FUNCTION_PASSES:
        yield from _passes(func, [one])
        func = one.run(func, AS_TVM)
    yield f"### split_kernels\n\n{_summary(split_kernels)}\n"
    functions = split_kernels(func).functions.values()
    for function in functions:
        yield _block(_text(function), "python")
    for kernel in filter(is_kernel, functions):
        yield from _passes(kernel, KERNEL_PASSES)
    yield "### CUDA\n"
    yield CUDA
    module = te_sched.build(names["s"], [names["A"], names["C"]], target="cuda")
    yield _block(module.imported_modules[0].get_source(), "cuda")


def _text(func: PrimFunc) -> str:
    """The function alone, without what surrounds it in a module."""
    lines = str(IRModule({"main": func})).split("\n")
    start = next(number for number, line in enumerate(lines) if "def main" in line)
    return "\n".join(line.removeprefix("    ") for line in lines[start:]).rstrip()


def _changes(before: str, after: str) -> str:
    if before == after:
        return "*Nothing to do here.*\n"
    lines = difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="", n=2)
    return _block("\n".join(line for line in list(lines)[2:] if not line.startswith("@@")), "diff")


def _summary(what: Any) -> str:
    """The first sentence of a docstring, or its first paragraph."""
    return " ".join((inspect.getdoc(what) or "").split("\n\n")[0].split())


def _block(text: str, language: str = "text") -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"


def main(arguments: Sequence[str]) -> int:
    """Write the page, or compare it."""
    text = page().rstrip() + "\n"
    if "--check" in arguments:
        return 0 if PAGE.read_text() == text else 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
