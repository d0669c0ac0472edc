"""The details of one step: its loops, program, picture, code, figures and time.

A failure of lowering or building is recorded as a problem of the step, with the details made before
it. Must not know the order of steps, nor pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import TeSchedError, repeating
from te_sched.ir.stmt import IRModule, PrimFunc, Stmt
from te_sched.lower.pipeline import lower
from te_sched.story.compiling import Builder, from_error
from te_sched.story.figures import figures_of_loops, temporary_bytes
from te_sched.story.headings import heading
from te_sched.story.model import Figures, Line, LoopRow, StoryStep
from te_sched.story.outputs import changes, lines_of_rows, numbered, numbers_at, program_lines
from te_sched.story.stages import Stages
from te_sched.story.steps import Snapshot, shown_place, source_line
from te_sched.story.timing import Run
from te_sched.views.dataflow import dataflow_svg
from te_sched.views.lines import TreeLine
from te_sched.views.loop_tree import loop_tree

_COUNTED = ("function", "loop", "thread")  # lines that have figures
_STATEMENTS = ("loop", "thread", "memory", "compute")  # lines that one statement makes


class StepBuilder:
    """Makes the steps of one schedule in their order: each has the changes since the one before."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._before: tuple[Line, ...] = ()
        self._nest: tuple[LoopRow, ...] = ()  # of the step before
        self.runs: dict[int, Run] = {}  # programs to time, by the numbers of their steps

    def step(self, snapshot: Snapshot, args: Sequence[Any]) -> StoryStep:
        """The step of a snapshot, without its time; `args` are the function's arguments."""
        with repeating(snapshot.place):
            details = self._details(snapshot, args)
        nest, self._nest = self._nest, details.nest
        return replace(
            details,
            heading="" if snapshot.entry is None else heading(snapshot.entry, nest, details.nest),
            method=snapshot.method,
            stage=snapshot.stage,
            code="\n".join(snapshot.code),
            where=shown_place(snapshot.place),
            source_line=source_line(snapshot.place),
            summary=snapshot.summary,
        )

    @walks_deeply("explain a schedule")
    def _details(self, snapshot: Snapshot, args: Sequence[Any]) -> StoryStep:
        schedule = snapshot.schedule
        name = self._builder.name
        tree = loop_tree(schedule, args, name)
        step = StoryStep(snapshot.number, snapshot.title, dataflow=dataflow_svg(schedule))
        if snapshot.error is not None:
            problem = from_error("schedule", snapshot.error)
            return replace(step, nest=_rows(tree, Stages(schedule), {}), problems=(problem,))
        stages, func = Stages(schedule), tree[0].node
        try:
            start = func if isinstance(func, PrimFunc) else schedule  # a schedule without a tree
            module = lower(start, args, name, simple_mode=True)
        except TeSchedError as error:
            problem = from_error("lower", error)
            return replace(step, nest=_rows(tree, stages, {}), problems=(problem,))
        figures = figures_of_loops(func, stages.of_memory)
        work = _work(figures[id(func)])
        built = self._builder.build(schedule, args, module[name], work)
        if built.run is not None:
            self.runs[snapshot.number] = built.run
        compiled = next((one.lines for one in built.outputs if one.kind == "compiled"), ())
        program = numbered(program_lines(module, stages), compiled)
        before, self._before = self._before, program
        return replace(
            step,
            nest=_rows(tree, stages, figures, module, program),
            program=program,
            changes=changes(before, program),
            outputs=built.outputs,
            problems=built.problems,
            timing=built.timing,
            notes=built.notes,
            memory=temporary_bytes(module[name]),
        )


def _rows(
    tree: Sequence[TreeLine],
    stages: Stages,
    figures: Mapping[int, Figures],
    module: IRModule | None = None,
    program: Sequence[Line] = (),
) -> tuple[LoopRow, ...]:
    """The lines of a loop tree with the stages, figures and numbers of what they show; `program`
    is the text of the module that the tree is lowered to.
    """
    nodes = [line.node if line.kind in _STATEMENTS else None for line in tree]
    shown = [[]] * len(nodes) if module is None else lines_of_rows(nodes, module, stages)
    return tuple(
        LoopRow(
            line.depth,
            line.kind,
            line.text,
            (isinstance(line.node, Stmt) and stages.of(line.node)) or line.stages,
            line.extent,
            line.annotation,
            line.scope,
            line.nbytes,
            figures.get(id(line.node)) if line.kind in _COUNTED else None,
            numbers_at(program, places),
            tuple(place + 1 for place in places),
        )
        for line, places in zip(tree, shown, strict=True)
    )


def _work(figures: Figures) -> float | None:
    """An estimate of the number of operations and accesses."""
    counts = [one.accesses for one in figures.buffers]
    known = [count for count in (figures.operations, *counts) if count is not None]
    return sum(known) if known else None
