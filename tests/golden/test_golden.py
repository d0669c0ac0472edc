"""Every program of the corpus prints the known text at each step, in both dialects, byte for byte.

`known_differences.py` lists the few texts that differ; `corpus.without_chance` says what no
implementation can know.
"""

from __future__ import annotations

from collections import Counter

import pytest

import te_sched
from tests.golden import corpus
from tests.golden.known_differences import KNOWN_DIFFERENCES

PROGRAMS = [pytest.param(one, id=f"{one.family}-{one.name}") for one in corpus.programs()]


def texts(program: corpus.Program) -> list[dict[str, str]]:
    """The texts of each step, by dialect; at once, since a schedule changes between steps."""
    return [
        {dialect: corpus.text_of(module, dialect) for dialect in corpus.DIALECTS}
        for module in (
            te_sched.lower(schedule, args, simple_mode=True)
            for schedule, args in program.steps(te_sched)
        )
    ]


@pytest.mark.parametrize("program", PROGRAMS)
def test_texts_are_the_goldens(program):
    printed = texts(program)
    for dialect in corpus.DIALECTS:
        goldens = program.golden(dialect)
        assert len(printed) == len(goldens)
        for step, (ours, golden) in enumerate(zip(printed, goldens, strict=True)):
            text = corpus.without_chance(ours[dialect])
            if (program.name, step, dialect) in KNOWN_DIFFERENCES:
                assert text != corpus.without_chance(golden), "take it off the known differences"
            else:
                assert text == corpus.without_chance(golden), f"step {step}, {dialect}"


def test_known_differences_are_of_programs_that_exist():
    steps = {(one.name, step) for one in corpus.programs() for step in range(one.step_count)}
    assert {(name, step) for name, step, _ in KNOWN_DIFFERENCES} <= steps


@pytest.mark.parametrize(("before", "after"), [("dcba", "dcba"), ("edcba", "abcde")])
def test_only_large_maps_are_sorted(before, after):
    def line(names):
        entries = ", ".join(f"{x}_1: {x}_3: Buffer({x}_2: Pointer(float32), [4])" for x in names)
        return f"  preflattened_buffer_map = {{{entries}}} {{"

    assert corpus.without_chance(line(before)) == line(after)


def test_how_much_there_is():
    steps = Counter()
    for program in corpus.programs():
        steps[program.family] += program.step_count
    assert steps == {"primitives": 42, "gemm_gpu": 4, "programs": 86, "random": 209}
