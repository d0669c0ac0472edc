"""The details of one step: its loops, program, picture, code, figures and time.

A failure of lowering or building is recorded as a problem of the step, with the details made before
it. Must not know the order of steps, nor pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import TeSchedError, repeating
from te_sched.ir.stmt import IRModule, Stmt
from te_sched.story.compiling import StepCompiler, from_error
from te_sched.story.figures import temporary_bytes
from te_sched.story.headings import heading
from te_sched.story.model import Figures, Line, LoopRow, StoryStep
from te_sched.story.outputs import LONGEST_LINE, changes, numbers_at, program_lines
from te_sched.story.states import State
from te_sched.story.steps import Snapshot, shown_place, source_line
from te_sched.story.timing import Run
from te_sched.views.dataflow import dataflow_svg
from te_sched.views.notation import shortened

_COUNTED = ("function", "loop", "thread")  # lines that have figures
_STATEMENTS = ("block", "loop", "thread", "memory", "compute")  # lines that one statement makes


class StepBuilder:
    """Makes the steps of one schedule in their order: each has the changes since the one before."""

    def __init__(self, builder: StepCompiler) -> None:
        self._builder = builder
        self._before: tuple[Line, ...] = ()
        self._nest: tuple[LoopRow, ...] = ()  # of the step before
        self.runs: dict[int, Run] = {}  # programs to time, by the numbers of their steps

    def step(self, snapshot: Snapshot, state: State) -> StoryStep:
        """The step of a snapshot, without its time."""
        with repeating(snapshot.place):
            details = self._details(snapshot, state)
        nest, self._nest = self._nest, details.nest
        old_notes = {row.text for row in nest if row.kind == "note"}
        news = [
            row.text for row in details.nest if row.kind == "note" and row.text not in old_notes
        ]
        return replace(
            details,
            notes=(*details.notes, *(f"Loop {text}." for text in dict.fromkeys(news))),
            heading="" if snapshot.entry is None else heading(snapshot.entry, nest, details.nest),
            method=snapshot.method,
            stage=snapshot.stage,
            code="\n".join([shortened(line, LONGEST_LINE) for line in snapshot.code]),
            where=shown_place(snapshot.place),
            source_line=source_line(snapshot.place),
            summary=snapshot.summary,
        )

    @walks_deeply("explain a schedule")
    def _details(self, snapshot: Snapshot, state: State) -> StoryStep:
        flow = dataflow_svg(state.inputs)
        step = StoryStep(snapshot.number, snapshot.title, dataflow=flow, program_title=state.title)
        if snapshot.error is not None:
            problem = from_error("schedule", snapshot.error)
            return replace(step, nest=_rows(state), problems=(problem,))
        try:
            module = state.lowered()
            figures = state.figures()
        except TeSchedError as error:
            problem = from_error("lower", error)
            return self._with_program(replace(step, problems=(problem,)), state, None)
        built = self._builder.build(state, module[state.name])
        if built.run is not None:
            self.runs[snapshot.number] = built.run
        step = replace(
            step,
            outputs=built.outputs,
            problems=built.problems,
            timing=built.timing,
            notes=built.notes,
            memory=temporary_bytes(module[state.name]),
        )
        return self._with_program(step, state, module, figures)

    def _with_program(
        self,
        step: StoryStep,
        state: State,
        lowered: IRModule | None,
        figures: Mapping[int, Figures] | None = None,
    ) -> StoryStep:
        """A step with its program, if there is one, and its loop nest."""
        shown = state.shown(lowered)
        if shown is None:
            return replace(step, nest=_rows(state))
        compiled = next((output.lines for output in step.outputs if output.kind == "compiled"), ())
        program = state.numbered(program_lines(shown, state.stages), compiled)
        before, self._before = self._before, program
        return replace(
            step,
            nest=_rows(state, figures, shown, program),
            program=program,
            changes=changes(before, program),
        )


def _rows(
    state: State,
    figures: Mapping[int, Figures] | None = None,
    shown: IRModule | None = None,
    program: Sequence[Line] = (),
) -> tuple[LoopRow, ...]:
    """The lines of a loop tree with the stages, figures and numbers of what they show; `program`
    is the text of the module that is shown.
    """
    tree, stages, figures_of = state.tree, state.stages, figures or {}
    nodes = [line.node if line.kind in _STATEMENTS else None for line in tree]
    line_indices = [[]] * len(nodes) if shown is None else state.places(nodes, shown)
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
            figures_of.get(id(line.node)) if line.kind in _COUNTED else None,
            numbers_at(program, places),
            tuple(index + 1 for index in places),
        )
        for line, places in zip(tree, line_indices, strict=True)
    )
