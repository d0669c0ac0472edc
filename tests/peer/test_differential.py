"""A small campaign of random programs, and the programs that failed once.

`python -m tests.peer --count 2000 --seed 1` is the long campaign.
"""

from __future__ import annotations

import pathlib

import pytest

pytest.importorskip("tvm")

from tests.golden.corpus import executed, texts_in
from tests.peer.differential import campaign, tensorir
from tests.peer.differential.generate import generate
from tests.peer.differential.minimize import candidates, minimize, minimize_text
from tests.peer.differential.outcome import judge, without_store_guards
from tests.peer.differential.program import load_text
from tests.sampling import IS_CAMPAIGN

REGRESSIONS = pathlib.Path(__file__).with_name("regressions.txt")


@pytest.mark.parametrize("name", texts_in(REGRESSIONS))
def test_program_that_failed_once(name: str) -> None:
    outcome = judge(executed(name, texts_in(REGRESSIONS)[name], REGRESSIONS))
    assert not outcome.is_failure, outcome


def test_small_campaign() -> None:
    count = 120 if IS_CAMPAIGN else 16
    report = campaign.run(count, seed=1)
    texts = [outcome.text for outcome in report.outcomes.values()]
    assert len(texts) == count
    assert report.errors() == {}
    assert texts.count("differs") <= 4, report.text()


def test_small_campaign_of_tensorir() -> None:
    count = 120 if IS_CAMPAIGN else 12
    report = campaign.run(count, seed=8000, kind="tensorir")
    outcomes = list(report.outcomes.values())
    assert len(outcomes) == count
    assert not [one for one in outcomes if one.numbers not in ("equal", "not run", "refused")]
    assert sum(one.is_failure for one in outcomes) <= max(2, count // 15), report.text()


def test_same_number_gives_the_same_program() -> None:
    assert generate(7).text() == generate(7).text()


def test_same_number_gives_the_same_module() -> None:
    assert tensorir.generate(7) == tensorir.generate(7)


def test_modules_become_smaller() -> None:
    text = tensorir.generate(8003)
    smaller = minimize_text(text, lambda one: "T.prim_func" in one and "A1" in one, seconds=5)
    assert len(smaller.splitlines()) <= 3


def test_smaller_programs_are_still_programs() -> None:
    program = generate(4)
    for smaller in candidates(program):
        load_text(smaller.text())
    smallest = minimize(program, lambda one: "S6 = te.compute" in one.text())
    assert len(smallest.values) < len(program.values)
    assert not smallest.steps


def test_store_guards_are_left_out() -> None:
    text = "if x:\n    if T.likely(i < 3):\n        A[i] = reduce_temp0_1[0]"
    assert without_store_guards(text) == "if x:\n    A[i] = reduce_temp0_1[0]"
