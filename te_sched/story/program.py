"""Programs as lines that know their stages, and what changed from one to the next.

Must not know schedules, nor how lines are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from te_sched.ir.printer.origins import origin_of, script_lines
from te_sched.ir.stmt import IRModule
from te_sched.story.model import Change, Line
from te_sched.story.stages import Stages

_CONTEXT = 2  # unchanged lines that are shown round a change


def program_lines(module: IRModule, stages: Stages) -> tuple[Line, ...]:
    """The text of a module, line by line."""
    return tuple(Line(str(line), stages.of(origin_of(line))) for line in script_lines(module))


def changes(before: Sequence[Line], after: Sequence[Line]) -> tuple[Change, ...]:
    """The lines that differ, with some round them; nothing where there is no program."""
    if not before or not after:
        return ()
    matcher = SequenceMatcher(
        None, [line.text for line in before], [line.text for line in after], autojunk=False
    )
    return tuple(_changes(matcher, before, after))


def _changes(
    matcher: SequenceMatcher[str], before: Sequence[Line], after: Sequence[Line]
) -> Iterator[Change]:
    shown = 0  # lines of `after` that are shown or told to be left out
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        yield from _gap(group[0][3] - shown)
        for tag, low, high, new_low, new_high in group:
            if tag == "equal":
                yield from (Change(" ", one.text, one.stages) for one in after[new_low:new_high])
                continue
            yield from (Change("-", one.text, one.stages) for one in before[low:high])
            yield from (Change("+", one.text, one.stages) for one in after[new_low:new_high])
        shown = group[-1][4]
    if shown:
        yield from _gap(len(after) - shown)


def _gap(count: int) -> Iterator[Change]:
    if count > 0:
        yield Change("@", f"{count} unchanged line{'s' if count > 1 else ''}")
