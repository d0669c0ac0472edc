"""Reduction of a failing program: removes primitives, stages and outputs while it still fails."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.peer.differential.program import Program, Value

_WORD = re.compile(r"\b[A-Za-z]\w*\b")


def minimize(program: Program, fails: Callable[[Program], bool], seconds: float = 20.0) -> Program:
    """The smallest failing program found in that time."""
    end = time.monotonic() + seconds
    changed = True
    while changed:
        changed = False
        for smaller in candidates(program):
            if time.monotonic() > end:
                return program
            if _fails(fails, smaller):
                program, changed = smaller, True
                break
    return program


def _fails(fails: Callable[[Any], bool], program: Any) -> bool:
    try:
        return fails(program)
    except Exception:  # not a valid program
        return False


def candidates(program: Program) -> Iterator[Program]:
    """Smaller programs, the smallest first."""
    for value in reversed(program.values):
        if not value.is_placeholder:
            yield from _without_stage(program, value)
    if len(program.outputs) > 1:
        for name in program.outputs:
            rest = tuple(one for one in program.outputs if one != name)
            yield _consistent(replace(program, outputs=rest))
    count = len(program.steps)
    for size in (8, 4, 2):
        for start in range(0, count - size + 1, size) if count > size else ():
            yield without_lines(program, set(range(start, start + size)))
    for place in reversed(range(count)):
        yield without_lines(program, {place})


def minimize_text(text: str, fails: Callable[[str], bool], seconds: float = 20.0) -> str:
    """The text without as many lines as possible, each with the more deeply indented lines after
    it, so that it still fails.
    """
    end, lines, place = time.monotonic() + seconds, text.splitlines(), 0
    changed = True
    while changed:
        changed = False
        for place in reversed(range(len(lines))):
            if time.monotonic() > end:
                return "\n".join(lines) + "\n"
            if place >= len(lines):
                continue
            size = 1 + len(block_after(lines, place))
            for fewer in (
                lines[:place] + lines[place + size :],
                lines[:place]
                + [_shifted(one) for one in lines[place + 1 : place + size]]
                + lines[place + size :],
            ):
                if len(fewer) < len(lines) and _fails(fails, "\n".join(fewer) + "\n"):
                    lines, changed = fewer, True
                    break
    return "\n".join(lines) + "\n"


def block_after(lines: list[str], place: int) -> list[str]:
    """The more deeply indented lines after a line."""
    depth = len(lines[place]) - len(lines[place].lstrip())
    found = []
    for line in lines[place + 1 :]:
        if len(line) - len(line.lstrip()) <= depth:
            break
        found.append(line)
    return found


def _shifted(line: str) -> str:
    return line.removeprefix("    ")


def _without_stage(program: Program, value: Value) -> Iterator[Program]:
    """The program with the stage as an input; for an output, with its inputs as outputs."""
    computed = {name for one in program.values if not one.is_placeholder for name in one.names}
    if set(value.names) & set(program.outputs):
        rest = [name for name in program.outputs if name not in value.names]
        more = [name for name in value.reads if name in computed and name not in rest]
        if rest or more:
            yield _consistent(replace(program, outputs=(*rest, *more)))
        return
    values = tuple(
        new for old in program.values for new in (old.placeholders() if old is value else (old,))
    )
    scheduled = {
        place
        for place, line in enumerate(program.steps)
        if any(f"s[{name}]" in line for name in value.names)
    }
    yield _consistent(without_lines(replace(program, values=values), scheduled))


def without_lines(program: Program, places: set[int]) -> Program:
    """The program without some lines of its schedule and those that depend on them."""
    gone: set[str] = set()
    kept = []
    for place, line in enumerate(program.steps):
        defined, _, rest = line.rpartition(" = ") if _defines(line) else ("", "", line)
        names = set(_WORD.findall(defined))
        if place in places or gone & set(_WORD.findall(rest)):
            gone |= names
        else:
            kept.append(line)
    return replace(program, steps=tuple(kept))


def _defines(line: str) -> bool:
    """Whether a line of a schedule defines names."""
    return re.match(r"[\w, ]+ = ", line) is not None


def _consistent(program: Program) -> Program:
    """The program without unused declarations and the lines that schedule them."""
    pruned = program.pruned()
    left = {name for value in pruned.values for name in _words_of(value)}
    gone = {name for value in program.values for name in _words_of(value)} - left
    lines = {
        place
        for place, line in enumerate(program.steps)
        if gone & set(_WORD.findall(line)) - {"s", "te"}
    }
    used = " ".join(dim.text for value in pruned.values for dim in value.dims)
    words = set(_WORD.findall(used + " ".join(line for v in pruned.values for line in v.lines)))
    sizes = {name: size for name, size in pruned.sizes.items() if name in words}
    return without_lines(replace(pruned, sizes=sizes), lines)


def _words_of(value: Value) -> set[str]:
    """The tensors a declaration defines, with those inside a scan."""
    return {name for base in value.names for name in (base, f"{base}_u", f"{base}_i")}
