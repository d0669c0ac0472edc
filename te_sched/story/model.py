"""The data model of explain reports: frozen dataclasses, from which pages and texts are made.

Owns their JSON form (`to_json`). A figure that cannot be computed is None, and a note has the
reason. Must not know schedules, programs or HTML.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

PAGE_MARK = '<meta name="generator" content="te_sched'  # by which our pages are known

NOISE = 0.03  # the noise of measured times


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a text, and the names of the stages that it computes.

    A loop has all stages computed in it, a store the one it computes and those it reads;
    `stages[0]` is the one that the line computes, if any. `numbers` are the lines of the compiled
    program, from 1, with the same statement or from which the line was generated.
    """

    text: str
    stages: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A line of the difference from the previous step: `mark` is "+", "-", " ", or "@" for a gap,
    whose text has the number of omitted lines. `numbers` are those of a `Line`.
    """

    mark: str
    text: str
    stages: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Traffic:
    """The accesses of a loop to one buffer. Sizes are bytes of distinct elements.

    `iteration` is touched by one iteration of the loop, `whole` by one execution of the loop;
    `accesses` counts loads and stores of the whole loop, and `reuse` is accesses per distinct
    element.
    """

    buffer: str
    stage: str
    iteration: int | None
    whole: int | None
    accesses: int | None
    reuse: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    """The working set and operations of a loop: of one iteration, and of one execution of the loop.
    The loops around it are at their middle iterations, threads at the first.

    `operations` counts arithmetic on values, not on indices, of the whole loop; `intensity` is
    operations per byte of `whole`. `note` is the reason why figures are missing.
    """

    iteration: int | None
    whole: int | None
    reuse: float | None
    operations: int | None
    intensity: float | None
    buffers: tuple[Traffic, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class LoopRow:
    """A line of the loop nest. `kind` is "function", "stage", "block", "loop", "thread", "memory",
    "guard", "compute", "note" (the reason why a loop is serial) or "other"; of a loop there are
    `extent` and `annotation` ("parallel", "vectorized", "unrolled", "threadIdx.x", ... or ""), of
    memory `scope` and `nbytes`. `numbers` are those of a `Line`, `lines` the lines of the step's
    program, from 1, that show the same statement.
    """

    depth: int
    kind: str
    text: str
    stages: tuple[str, ...] = ()
    extent: int | None = None
    annotation: str = ""
    scope: str = ""
    nbytes: int | None = None
    figures: Figures | None = None
    numbers: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """Generated text: `kind` is "compiled" (the program of loops for which code is generated),
    "llvm", "assembly", "cuda", or "check".

    `left_out` is the number of omitted lines at the end.
    """

    kind: str
    title: str
    lines: tuple[Line, ...]
    left_out: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """An error or a finding in te_sched's four parts, and a drawing of loops if there is one.

    `phase` is "schedule", "lower", "build", "run", or "program" for an exception of the user's
    program.
    """

    phase: str
    kind: str
    fault: str
    where: str = ""
    why: str = ""
    help: str = ""
    loops: str = ""


@dataclass(frozen=True, slots=True)
class Timing:
    """The run time of the function, or in `note` the reason why there is none.

    `milliseconds` is the shortest of `runs` measurements, which other programs disturb least, as is
    `lowest`; `median` and `highest` are the median and the longest one.
    `against_first` is the speedup over the first measured step, of number `first`;
    `against_previous` that over the measured step before, of number `previous`. `gigaflops` are
    operations on values per nanosecond, `of_peak` their share of the processor's peak.
    """

    milliseconds: float | None = None
    lowest: float | None = None
    highest: float | None = None
    runs: int = 0
    against_first: float | None = None
    note: str = ""
    gigaflops: float | None = None
    of_peak: float | None = None
    first: int | None = None
    against_previous: float | None = None
    previous: int | None = None
    median: float | None = None

    @property
    def is_timed(self) -> bool:
        """Whether there is a time."""
        return self.milliseconds is not None

    @property
    def shortest(self) -> float:
        """The milliseconds of a time."""
        assert self.milliseconds is not None
        return self.milliseconds

    @property
    def is_repeated(self) -> bool:
        """Whether the time was measured several times."""
        return self.runs > 1


@dataclass(frozen=True, slots=True)
class StoryStep:
    """The schedule after one more primitive; step 0 is the schedule as declared.

    `title` is the call, `heading` its effect ("" if a step has several primitives).
    `code` is the lines of the trace that belong to the step, `where` file:line of the primitive in
    the user's program and `source_line` the text of that line. `problems` are the reasons why the
    step cannot be scheduled, lowered or built; results of earlier phases are present.
    `memory` is the peak of temporaries, in bytes, `program_title` what `program` is: "As lowered",
    or "As scheduled" of blocks.
    """

    number: int
    title: str
    heading: str = ""
    method: str = ""
    stage: str = ""
    code: str = ""
    where: str = ""
    source_line: str = ""
    summary: str = ""
    nest: tuple[LoopRow, ...] = ()
    program: tuple[Line, ...] = ()
    changes: tuple[Change, ...] = ()
    dataflow: str = ""
    outputs: tuple[Output, ...] = ()
    problems: tuple[Problem, ...] = ()
    timing: Timing = Timing()
    memory: int | None = None
    notes: tuple[str, ...] = ()
    program_title: str = "As lowered"

    @property
    def function(self) -> Figures | None:
        """The figures of the whole function."""
        return next((row.figures for row in self.nest if row.kind == "function"), None)

    @property
    def operations(self) -> int | None:
        """The operations on values of the whole function."""
        return self.function.operations if self.function is not None else None


@dataclass(frozen=True, slots=True)
class StoryStage:
    """A stage of the story, or a buffer of a program of blocks: its name, its computation, and the
    user's line that declared it.

    `kind` is "placeholder", "compute", "scan" or "extern", of a buffer "parameter" or its memory;
    `born` is the number of the step that
    created it, 0 for declared stages.
    """

    name: str
    kind: str
    shape: tuple[str, ...]
    dtype: str
    nbytes: int | None
    formula: str
    where: str
    born: int = 0


@dataclass(frozen=True, slots=True)
class StoryData:
    """A whole story. `program` is the text of the user's file, `program_path` its name;
    `highlights` are line numbers (from 1) of the primitives in it, by number of the step. `caches`
    are those of a core of this machine, with their bytes. `part` is what `stages` are: "stage", or
    "buffer" of a program of blocks.
    """

    title: str
    target: str
    arguments: tuple[str, ...]
    stages: tuple[StoryStage, ...]
    steps: tuple[StoryStep, ...]
    program: str = ""
    program_path: str = ""
    highlights: tuple[tuple[int, int], ...] = ()
    trace: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    caches: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    part: str = "stage"


def to_json(value: Any) -> Any:
    """The story as dicts, lists, texts and numbers, for `json.dumps`."""
    if is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, (tuple, list)):
        return [to_json(element) for element in value]
    return value
