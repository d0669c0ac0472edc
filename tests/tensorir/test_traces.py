"""Traces of schedules of blocks: instructions, decisions, and sampled integers in index maps."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from te_sched import tir
from te_sched.errors import TeSchedError
from te_sched.ir import structural_equal
from te_sched.script import from_source
from tests.tensorir.programs import GIVEN, MATMUL, OTHERS


def test_traces_of_instructions() -> None:
    Trace, Kind, Instruction = (
        tir.schedule.Trace,
        tir.schedule.InstructionKind,
        tir.schedule.Instruction,
    )
    block, *loops = tir.BlockRV(), tir.LoopRV(), tir.LoopRV(), tir.LoopRV()
    trace = Trace(
        [
            Instruction(Kind.get("GetBlock"), [], ["B", "main"], [block]),
            Instruction(Kind.get("GetLoops"), [block], [], loops[:1]),
            Instruction(Kind.get("Split"), [loops[0], None, 4], [True, False], loops[1:]),
            Instruction(Kind.get("Annotate"), [block, {"a": [1, "x"], "b": 2}], ["note"], []),
            Instruction(Kind.get("EnterPostproc"), [], [], []),
            Instruction(Kind.get("GetChildBlocks"), [block], [], []),
        ]
    )
    assert trace.as_python(remove_postproc=True) == [
        'b0 = sch.get_block(name="B", func_name="main")',
        "l1, = sch.get_loops(block=b0)",
        "l2, l3 = sch.split(loop=l1, factors=[None, 4], preserve_unit_iters=True, "
        "disable_predication=False)",
        'sch.annotate(block_or_loop=b0, ann_key="note", ann_val={"a": [1, "x"], "b": 2})',
    ]
    assert len(trace.simplified(remove_postproc=False)) == 5
    source = from_source(GIVEN + OTHERS["accumulated"])
    sch, other = tir.Schedule(source), tir.Schedule(source)
    trace.apply_to_schedule(sch, remove_postproc=True)
    Trace.apply_json_to_schedule(json.loads(json.dumps(trace.as_json(True))), other)
    assert sch.mod.script() == other.mod.script()
    assert sch.get(sch.get_block("B")).annotations == {"note": {"a": [1, "x"], "b": 2}}
    last = trace.insts[-1]
    assert trace.pop().same_as(last)
    assert [one.kind.name for one in trace.insts if not one.kind.is_pure] == [
        "Split",
        "Annotate",
        "EnterPostproc",
    ]
    with pytest.raises(TeSchedError, match="there is no kind of instruction 'Spit'"):
        Kind.get("Spit")
    with pytest.raises(TeSchedError, match="the kind of an instruction cannot be a str"):
        Instruction("Split", [], [], [])


def test_other_decisions() -> None:
    sch = tir.Schedule(from_source(GIVEN + MATMUL), seed=1)
    loops = sch.get_loops(sch.get_block("C"))
    factors = sch.sample_perfect_tile(loops[0], n=2, decision=[2, 4])
    sch.split(loops[0], factors)
    inst = sch.trace.insts[2]
    assert sch.trace.decisions == {inst: [2, 4]}
    other = tir.Schedule(from_source(GIVEN + MATMUL))
    sch.trace.with_decision(inst, [4, 2], remove_postproc=False).apply_to_schedule(other, False)
    assert [other.get(one).extent for one in other.get_loops("C")][:2] == [4, 2]
    again = tir.Schedule(from_source(GIVEN + MATMUL))
    sch.trace.apply_to_schedule(again, False, lambda entry, arguments, decision: [8, 1])
    assert [again.get(one).extent for one in again.get_loops("C")][:2] == [8, 1]


def test_decisions_that_a_trace_does_not_have_are_sampled_again() -> None:
    sch = tir.Schedule(from_source(GIVEN + MATMUL), seed=1)
    loop = sch.get_loops(sch.get_block("C"))[0]
    sch.split(loop, sch.sample_perfect_tile(loop, n=2, decision=[2, 4]))
    open_trace = tir.schedule.Trace(sch.trace.insts, {})
    assert open_trace.decisions == {}
    extents = set()
    for seed in range(1, 1 << 30, 1 << 27):
        other = tir.Schedule(from_source(GIVEN + MATMUL), seed=seed)
        open_trace.apply_to_schedule(other, False)
        extents.add(other.get(other.get_loops("C")[0]).extent.value)
    assert len(extents) > 1
    assert list(sch.trace.decisions.values()) == [[2, 4]]


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
