"""Stages of builds are timed, and left as they were."""

from __future__ import annotations

import pytest

from benchmarks.builds import PROGRAMS, STAGES, main, measure, stages_timed
from te_sched import config


@pytest.mark.parametrize("name", ["add-relu", "product-64"])
def test_each_stage_takes_a_part_of_the_time(name: str) -> None:
    figures = measure(PROGRAMS[name](), 1)
    assert set(figures) == {"wall", "processor", *STAGES}
    assert all(seconds >= 0 for seconds in figures.values())
    assert 0 < sum(figures[stage] for stage in STAGES) < figures["processor"] * 1.5


def test_stages_are_timed_inside_alone() -> None:
    before = [getattr(owner, name) for owner, name in STAGES.values()]
    build = PROGRAMS["add-relu"]()
    with config.scoped(cache=False):
        with stages_timed() as spent:
            build()
        sums = dict(spent)
        build()
    assert (dict(spent), set(sums)) == (sums, set(STAGES))
    assert [getattr(owner, name) for owner, name in STAGES.values()] == before


def test_a_table_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["add-relu", "--rounds", "1"]) == 0
    header, _, line = capsys.readouterr().out.strip().splitlines()
    assert [word for word in header.split() if word not in ("ms", "|")][:2] == ["program", "wall"]
    assert "add-relu" in line
