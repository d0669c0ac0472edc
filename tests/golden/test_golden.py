"""Every program of the corpus prints the known text, in both dialects, byte for byte."""

from __future__ import annotations

from functools import cache

import pytest

import te_sched
from tests.golden import corpus

FAMILIES = ("primitives", "gemm_gpu")
CASES = [
    pytest.param(program, step, dialect, id=f"{program.name}-{step}-{dialect}")
    for program in corpus.programs(*FAMILIES)
    for dialect in corpus.DIALECTS
    for step in range(len(program.golden(dialect)))
]


@cache
def texts(program: corpus.Program) -> list[dict[str, str]]:
    """The texts of each step, by dialect; at once, since a schedule changes between steps."""
    return [
        {dialect: corpus.text_of(module, dialect) for dialect in corpus.DIALECTS}
        for module in (
            te_sched.lower(schedule, args, simple_mode=True)
            for schedule, args in program.steps(te_sched)
        )
    ]


@pytest.mark.parametrize(("program", "step", "dialect"), CASES)
def test_text_is_the_golden(program, step, dialect):
    assert texts(program)[step][dialect] == program.golden(dialect)[step]


def test_there_are_46_steps():
    assert len(CASES) == 46 * len(corpus.DIALECTS)


@pytest.mark.parametrize("program", corpus.programs(*FAMILIES), ids=lambda program: program.name)
def test_every_step_has_a_golden(program):
    assert len(texts(program)) == len(program.golden("script")) == len(program.golden("primfn"))
