"""Cases of kind "hostile": calls of any public function with two or three hostile arguments, and
with results of earlier calls.

A case only has lines; `tests/hostile` has the functions and the arguments.
"""

from __future__ import annotations

import os
import random
import tempfile
from functools import cache

from tests.fuzz.case import Case
from tests.hostile import calls, judge, surface, values
from tests.peer.differential.program import Program

USED_AGAIN = 0.35  # probability that an argument is the result of an earlier line


@cache
def _callees() -> tuple[surface.Callee, ...]:
    return tuple(surface.callees())


def generate(rng: random.Random, number: int) -> Case:
    """A case of one to six calls."""
    lines: list[str] = []
    for place in range(rng.choice((1, 1, 2, 3, 4, 6))):
        lines.append(f"r{place} = None")
        lines.append(_call(rng, place))
        lines.append(f"str(r{place})")
    return Case("hostile", Program(number, (), (), tuple(lines)))


def _call(rng: random.Random, place: int) -> str:
    callee = rng.choice(_callees())
    names = [one.name for one in callee.parameters]
    chosen = rng.sample(names, min(len(names), rng.choice((0, 1, 2, 2, 3))))
    given = {name: _value(rng, place) for name in chosen}
    *before, text = calls.call(callee, given).split("; ")
    if place and rng.random() < USED_AGAIN and "." in callee.text:
        text = f"r{rng.randrange(place)}.{callee.name}{text.removeprefix(callee.text)}"
    return "; ".join([*before, f"r{place} = {text}"])


def _value(rng: random.Random, place: int) -> str:
    if place and rng.random() < USED_AGAIN:
        return f"r{rng.randrange(place)}"
    return rng.choice(values.ALL)


def problem(case: Case) -> tuple[str, str]:
    """The first line with a finding and its description, or ("", "")."""
    known = judge.names()
    with tempfile.TemporaryDirectory() as folder:
        home = os.getcwd()
        os.chdir(folder)  # files that lines write are deleted with it
        try:
            for line in case.program.steps:
                found = judge.judge(line, known)
                if found:
                    return line, found
        finally:
            os.chdir(home)
    return "", ""


def script(case: Case) -> list[str]:
    """The lines of a script that reproduces a case."""
    return [
        "import contextlib, decimal, fractions, importlib",
        "import numpy as np, sympy",
        "import te_sched",
        "from te_sched import nd, te, tir, topi",
        "from tests.hostile import words  # run it in the repository",
        f"for name in {surface.MODULES!r}:",
        "    with contextlib.suppress(ImportError):",
        "        importlib.import_module(name)",
        *[
            text
            for line in case.program.steps
            for text in ("with contextlib.suppress(te_sched.TeSchedError):", f"    {line}")
        ],
    ]
