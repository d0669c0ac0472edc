"""Reduction of a failing case: fewer lines, stages and outputs, shorter axes.

Must not know judging.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz import models, shapes, tensorir
from tests.fuzz.case import Case
from tests.peer.differential.minimize import candidates, without_lines
from tests.peer.differential.program import Dim, Program, Value


def minimize(case: Case, fails: Callable[[Case], bool], seconds: float = 60.0) -> Case:
    """The smallest failing case found in that time."""
    end = time.monotonic() + seconds
    changed = True
    while changed and time.monotonic() < end:
        changed = False
        for smaller in _candidates(case):
            if time.monotonic() > end:
                break
            if fails(smaller):
                case, changed = smaller, True
                break
    return case


def _candidates(case: Case) -> Iterator[Case]:
    if case.kind in ("models", "special"):
        yield from models.smaller(case)
        return
    if case.kind == "shapes":
        yield from shapes.smaller(case)
        return
    if case.kind == "tensorir":
        yield from tensorir.smaller(case)
        return
    if case.target == "llvm" and case.kind != "sizes":
        for place in range(len(case.calls)):
            yield replace(case, calls=case.calls[:place] + case.calls[place + 1 :])
    for place in range(len(case.given)):
        yield replace(case, given=case.given[:place] + case.given[place + 1 :])
    steps = len(case.program.steps)
    if steps > 1:
        for places in (range(steps), range(steps // 2), range(steps // 2, steps)):
            yield replace(case, program=without_lines(case.program, set(places)))
    for program in candidates(case.program):
        yield replace(case, program=program)
    for program in _shorter(case.program):
        yield replace(case, program=program)


def _shorter(program: Program) -> Iterator[Program]:
    """Replacements of extents by smaller numbers in all lines."""
    numbers = {dim.value for value in program.values for dim in value.dims if dim.value > 2}
    for number in sorted(numbers, reverse=True):
        for smaller in (2, 4, number // 2):
            if 0 < smaller < number:
                yield _with_number(program, number, smaller)


def _with_number(program: Program, old: int, new: int) -> Program:
    word = re.compile(rf"(?<![\w.]){old}(?![\w.])")

    def changed(lines: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(word.sub(str(new), line) for line in lines)

    def dim(one: Dim) -> Dim:
        return Dim(word.sub(str(new), one.text), new if one.value == old else one.value)

    values: list[Value] = [
        replace(
            value,
            dims=tuple(dim(one) for one in value.dims),
            lines=changed(value.lines),
            numpy=changed(value.numpy),
            below=min(value.below, new) if value.below == old else value.below,
        )
        for value in program.values
    ]
    sizes = {name: new if size == old else size for name, size in program.sizes.items()}
    return replace(program, values=tuple(values), steps=changed(program.steps), sizes=sizes)
