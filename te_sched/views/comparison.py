"""Two schedules compared: the lines of their traces and of their loop trees. Must not know pages
beyond what highlights a text.
"""

from __future__ import annotations

from difflib import unified_diff

from te_sched.errors import DeclarationError, kind_of
from te_sched.schedule.schedule import Schedule
from te_sched.signatures import checked
from te_sched.tensorir.schedule import BlockSchedule
from te_sched.trace.comparison import Comparison
from te_sched.views.highlight import own_style, to_html
from te_sched.views.loop_tree import loop_tree, tree_text

_CONTEXT = 2


def compare(schedule: Schedule | BlockSchedule, other: Schedule | BlockSchedule) -> Comparison:
    """Compare two schedules; printed, the result is a diff of lines."""
    for side in (schedule, other):
        if not isinstance(side, Schedule | BlockSchedule):
            raise DeclarationError(
                f"cannot compare a schedule with {kind_of(side)}",
                "it is not a schedule",
                "pass what te.create_schedule or tir.Schedule returned",
            )
    return Comparison(
        _difference(str(schedule.trace), str(other.trace)),
        _difference(loops_text(schedule), loops_text(other)),
    )


def loops_text(schedule: Schedule | BlockSchedule) -> str:
    """The loop tree of a schedule as text."""
    return tree_text(loop_tree(schedule))


@checked
def comparison_html(comparison: Comparison) -> str:
    """A comparison in a notebook."""
    return f"<style>{own_style()}</style>{to_html(str(comparison), 'diff')}"


def _difference(text: str, other: str) -> tuple[str, ...]:
    lines = unified_diff(text.split("\n"), other.split("\n"), lineterm="", n=_CONTEXT)
    return tuple("  ..." if line.startswith("@@") else line for line in list(lines)[2:])[1:]
