"""A small hand-written story, for tests of the page without a schedule."""

from __future__ import annotations

from dataclasses import replace

from te_sched.story.model import (
    Change,
    Figures,
    Line,
    LoopRow,
    Output,
    Problem,
    StoryData,
    StoryStage,
    StoryStep,
    Timing,
    Traffic,
)

PICTURE = (
    '<svg viewBox="0 0 160 40" role="img" aria-label="Dataflow"><style>.te-flow {}</style>'
    '<g data-stages="A"><rect width="60" height="40" fill="none" stroke="currentColor"/>'
    '<text x="20" y="25" fill="currentColor">A</text></g></svg>'
)
_STAGES = (
    StoryStage("A", "placeholder", ("64",), "float32", 256, "", "sum.py:3"),
    StoryStage("B", "compute", ("64",), "float32", 256, "B[i] = A[i] * 2", "sum.py:4"),
    StoryStage("B.local", "tensor", ("64",), "float32", 256, "B.local[i] = A[i] * 2", "", 2),
)
_PROGRAM = """\
from te_sched import te

A = te.placeholder((64,), name="A")
B = te.compute((64,), lambda i: A[i] * 2, name="B")
s = te.create_schedule(B.op)
io, ii = s[B].split(B.op.axis[0], 8)
BL = s.cache_write(B, "local")
s[B].vectorize(ii)
s[B].vectorize(io)
"""


def figures(whole: int) -> Figures:
    """The figures of a loop that accesses A and B once."""
    traffic = tuple(Traffic(name, "B", 4, whole, whole // 4, 1.0) for name in "AB")
    return Figures(8, 2 * whole, 1.0, whole // 4, 0.125, traffic)


def nest(*loops: str) -> tuple[LoopRow, ...]:
    """Nested loops around a store."""
    rows = [LoopRow(0, "function", "main(A: float32[64], B: float32[64])", ("B", "A"))]
    for depth, loop in enumerate(loops, 1):
        word = loop.split()[0]
        annotation = "" if word == "for" else word
        rows.append(
            LoopRow(
                depth, "loop", loop, ("B",), 8, annotation, figures=figures(256 >> 3 * (depth - 1))
            )
        )
    rows.append(LoopRow(len(loops) + 1, "compute", "B[i] = A[i] * 2", ("B", "A")))
    return tuple(rows)


def output(kind: str, title: str, factor: int) -> Output:
    """Generated code of 40 lines, of which one is of stage A and one of B."""
    lines = [Line(f"  %v{number} = add i32 %a, {factor}") for number in range(38)]
    lines += [Line("  %x = load float, ptr %A", ("A",)), Line("  store float %y, ptr %B", ("B",))]
    return Output(kind, title, tuple(lines))


_BEFORE = (
    Line("def main(A: T.handle, B: T.handle):"),
    Line("    for i in range(64):", ("B",)),
    Line("        B[i] = A[i] * T.float32(2)", ("B", "A")),
)
_AFTER = (
    Line("def main(A: T.handle, B: T.handle):"),
    Line("    for i_outer, i_inner in T.grid(8, 8):", ("B",)),
    Line("        B[i_outer * 8 + i_inner] = A[i_outer * 8 + i_inner] * T.float32(2)", ("B", "A")),
)
_CHANGES = (
    Change(" ", _BEFORE[0].text),
    *(Change("-", line.text, line.stages) for line in _BEFORE[1:]),
    *(Change("+", line.text, line.stages) for line in _AFTER[1:]),
)


def step(number: int, title: str, **parts: object) -> StoryStep:
    """A step with all panes."""
    whole = StoryStep(
        number,
        title,
        method="split" if number else "",
        stage="B" if number else "",
        code=title if number else "",
        where=f"sum.py:{number + 5}" if number else "",
        source_line=title if number else "",
        summary="Splits an axis into two." if number else "",
        nest=nest("for i.outer  0:8", "for i.inner  0:8"),
        program=_AFTER if number else _BEFORE,
        changes=_CHANGES if number == 1 else (),
        dataflow=PICTURE,
        outputs=(output("llvm", "LLVM", number), output("assembly", "Assembly", number)),
        timing=Timing(8.0 / (number + 1), 7.5 / (number + 1), 9.0 / (number + 1), 5, number + 1.0),
    )
    return replace(whole, **parts)


REFUSED = Problem(
    "schedule",
    "ScheduleError",
    "vectorize axis i.outer of stage B",
    "stage B, axis i.outer, sum.py:9",
    "another axis is vectorized",
    "vectorize one axis",
    "i.outer\n  i.inner vectorized",
)


def sample(**parts: object) -> StoryData:
    """Four steps: as declared, a change of the program, a new stage, and a refused one."""
    story = StoryData(
        title="Twice a vector",
        target="llvm",
        arguments=("A", "B"),
        stages=_STAGES,
        steps=(
            step(0, "As declared"),
            step(1, "io, ii = s[B].split(i, 8)"),
            step(2, 'BL = s.cache_write(B, "local")', timing=Timing(note="not measured")),
            step(3, "s[B].vectorize(io)", outputs=(), problems=(REFUSED,), timing=Timing()),
        ),
        program=_PROGRAM,
        program_path="sum.py",
        highlights=((1, 6), (2, 7), (3, 9)),
        trace="i, = s[B].op.axis\nio, ii = s[B].split(i, 8)",
        versions=(("te_sched", "0.1.0"), ("LLVM", "20.1")),
    )
    return replace(story, **parts)
