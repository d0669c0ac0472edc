"""The story object of users: to show, print and save. Must not know how a story is made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from html import escape
from typing import Any

from te_sched import files
from te_sched.errors import CallError, did_you_mean, repr_of
from te_sched.story.model import PAGE_MARK, LoopRow, StoryData, StoryStep, to_json
from te_sched.story.page import page_html
from te_sched.story.text import story_text

_HEIGHT = "720px"  # of the page in a notebook


class Story:
    """The story of a schedule, as `te_sched.explain` returns it.

    `steps` has each step, `data` all data. A notebook shows the page; `save` writes it.
    """

    def __init__(self, data: StoryData) -> None:
        self.data = data

    @property
    def steps(self) -> tuple[StoryStep, ...]:
        """The schedule as declared, then the effect of each primitive."""
        return self.data.steps

    @property
    def title(self) -> str:
        """The title of the page."""
        return self.data.title

    def text(self) -> str:
        """The story for a terminal: loops with figures, changes of the program, times, problems."""
        return story_text(self.data)

    def html(self) -> str:
        """The page: one self-contained HTML file."""
        return page_html(self.data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file.

        Raises
        ------
        CallError if it cannot be written.
        """
        files.write(path, self.html(), "save a story as", mark=PAGE_MARK)

    def to_json(self) -> Any:
        """The story as dicts, lists, texts and numbers."""
        return to_json(self.data)

    def records(self, of: str = "steps") -> list[dict[str, Any]]:
        """One dict for each step, or for each of the "loops" of each step: `pandas.DataFrame` takes
        them. Bytes, operations and accesses are numbers; unknown values are None.
        """
        makers = {"steps": _record_of_step, "loops": _records_of_loops}
        if of not in makers:
            raise CallError(
                f"a story has no records of {repr_of(of)}",
                "",
                f'use "steps" or "loops"{did_you_mean(of, makers)}',
            )
        return [record for step in self.steps for record in makers[of](step)]

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        count = len(self.steps)
        return f"<story of {count} step{'s' if count != 1 else ''}: {self.title}>"

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{escape(self.title)}" srcdoc="{escape(self.html())}" '
            f'style="width:100%;height:{_HEIGHT};border:1px solid #8888"></iframe>'
        )


def _record_of_step(step: StoryStep) -> Iterator[dict[str, Any]]:
    function = step.function
    yield {
        "step": step.number,
        "title": step.title,
        "heading": step.heading,
        "primitive": step.method,
        "stage": step.stage,
        "where": step.where,
        "milliseconds": step.timing.milliseconds,
        "lowest": step.timing.lowest,
        "median": step.timing.median,
        "highest": step.timing.highest,
        "against_first": step.timing.against_first,
        "against_previous": step.timing.against_previous,
        "runs": step.timing.runs,
        "time_note": step.timing.note,
        "gigaflops": step.timing.gigaflops,
        "of_peak": step.timing.of_peak,
        "operations": step.operations,
        "bytes": function.whole if function is not None else None,
        "temporary_bytes": step.memory,
        "lines": len(step.program),
        "problems": "; ".join(problem.fault for problem in step.problems),
    }


def _records_of_loops(step: StoryStep) -> Iterator[dict[str, Any]]:
    for row in step.nest:
        if row.kind in ("loop", "thread"):
            yield {"step": step.number, **_of_loop(row)}


def _of_loop(row: LoopRow) -> dict[str, Any]:
    figures = row.figures
    return {
        "loop": row.text,
        "depth": row.depth,
        "stage": row.stages[0] if row.stages else "",
        "extent": row.extent,
        "annotation": row.annotation,
        "iteration_bytes": figures.iteration if figures is not None else None,
        "bytes": figures.whole if figures is not None else None,
        "reuse": figures.reuse if figures is not None else None,
        "operations": figures.operations if figures is not None else None,
        "intensity": figures.intensity if figures is not None else None,
        "note": figures.note if figures is not None else "",
    }
