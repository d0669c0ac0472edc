"""Every program of the corpus prints the known text at each step, in both dialects, byte for byte.

`known_differences.py` lists what TVM 0.9 lowered otherwise than later versions do;
`corpus.without_chance` says what no implementation can know.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.golden import corpus
from tests.golden.known_differences import KNOWN_DIFFERENCES
from tests.golden.steps import lowered

PROGRAMS = [pytest.param(one, id=f"{one.family}-{one.name}") for one in corpus.programs()]


@pytest.mark.parametrize("program", PROGRAMS)
def test_texts_are_the_goldens(program):
    """The primfn text too where lowering has not changed."""
    modules, goldens = lowered(program, simple_mode=True), program.golden("primfn")
    scripts = [corpus.text_of(module, "script") for module in modules]
    assert scripts == program.golden("script")
    for step, (module, golden) in enumerate(zip(modules, goldens, strict=True)):
        text = corpus.text_of(module, "primfn")
        same = corpus.without_chance(text) == corpus.without_chance(golden)
        assert same != ((program.name, step, "primfn") in KNOWN_DIFFERENCES), f"step {step}"


@pytest.mark.parametrize("program", PROGRAMS)
def test_primfn_of_the_older_lowering_is_the_golden(program):
    goldens = program.golden("primfn")
    modules = lowered(program, simple_mode=True, as_older=True)
    printed = [corpus.text_of(module, "primfn") for module in modules]
    assert [*map(corpus.without_chance, printed)] == [*map(corpus.without_chance, goldens)]


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
