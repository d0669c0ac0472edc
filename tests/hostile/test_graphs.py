"""Public functions of graphs and of tuning take hostile arguments, or refuse them."""

from __future__ import annotations

import re

import pytest

from tests.hostile import calls, graphs, judge, surface, values

CALLEES = tuple(surface.callees(graphs.MODULES, graphs.RECEIVERS))
# Each line of a sample, which is another one with another step.
STEP = 13


@pytest.mark.parametrize(
    "pattern",
    [r"^te_sched\.relax\.", r"^te_sched\.(meta_schedule|dlight)|^graph_words"],
)
def test_hostile_arguments_of_graphs_give_a_result_or_a_refusal(pattern: str) -> None:
    chosen = [one for one in CALLEES if re.search(pattern, one.text)]
    hostile = (*values.FEW, *graphs.FEW)
    lines = [line for one in chosen for line in calls.hostile_calls(one, hostile)][::STEP]
    found = judge.findings(lines)
    assert not found, "\n".join(f"{line}\n    {what}" for line, what in found[:20])


def test_surface_has_what_users_of_graphs_call() -> None:
    names = {one.text for one in CALLEES}
    assert len(names) > 600
    assert {
        "te_sched.relax.op.nn.conv2d",
        "te_sched.relax.transform.FuseOps",
        "te_sched.meta_schedule.database.SQLiteDatabase",
        "graph_words.opened().emit",
    } <= names
