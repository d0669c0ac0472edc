"""Sampled integers in the index maps of traces."""

from __future__ import annotations

import json
import re
from typing import Any

from te_sched import tir
from te_sched.ir import structural_equal
from te_sched.script import from_source
from tests.tensorir.programs import GIVEN, MATMUL


def test_sampled_integers_in_maps() -> None:
    sch: Any = tir.Schedule(from_source(GIVEN + MATMUL))
    loop = sch.get_loops(sch.get_block("C"))[1]
    _, inner = sch.sample_perfect_tile(loop, 2, decision=[2, 4])
    sch.transform_layout("C", "C", lambda i, j: [i, j // inner, j % inner])
    assert sch.get(sch.get_block("C")).writes[0].buffer.shape == (8, 2, 4)
    assert re.search(r"index_map=lambda i, j: \(i, j // (v\d+), j % \1,\)", str(sch.trace))
    assert "sample_perfect_tile" in str(sch.trace.simplified(False))
    for decision, shape in ([2, 4], (8, 2, 4)), ([4, 2], (8, 4, 2)):
        again: Any = tir.Schedule(from_source(GIVEN + MATMUL))
        data = json.loads(json.dumps(sch.trace.as_json()))
        data[1][0][1] = decision
        again.trace.apply_json_to_schedule(data, again)
        assert again.get(again.get_block("C")).writes[0].buffer.shape == shape
    twin = sch.trace.replay(tir.Schedule(from_source(GIVEN + MATMUL)))
    assert structural_equal(twin.mod, sch.mod)
    assert str(twin.trace) == str(sch.trace)
