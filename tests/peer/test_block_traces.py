"""Traces of block schedules that te_sched saves replay in TVM 0.19, and the reverse."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import tvm

import te_sched
from tests.sampling import sampled
from tests.tensorir.test_golden_schedules import PROGRAMS, apply

_FLOAT = re.compile(r"T\.(b?float\d+)\(([-+.\dEe]+)\)")


def _plain(text: str) -> str:
    """A text without the spelling of floats."""
    return _FLOAT.sub(lambda found: f"T.{found[1]}({float(found[2])!r})", text)


def _new(lib: Any, program: dict[str, Any]) -> Any:
    return lib.tir.Schedule(lib.script.from_source(program["source"]))


def _data(value: Any) -> Any:
    """The JSON that TVM's objects stand for."""
    if isinstance(value, list | tuple | tvm.ir.Array):
        return [_data(one) for one in value]
    if isinstance(value, tvm.tir.IntImm | tvm.tir.FloatImm | tvm.tir.StringImm):
        return value.value
    return str(value) if isinstance(value, str) else value


@pytest.mark.parametrize("name", sampled(list(PROGRAMS), 12))
@pytest.mark.parametrize("saver", [te_sched, tvm], ids=["te_sched", "tvm"])
def test_saved_traces_replay_in_the_other(name: str, saver: Any) -> None:
    reader = tvm if saver is te_sched else te_sched
    sch = _new(saver, PROGRAMS[name])
    for step in PROGRAMS[name]["steps"]:
        apply(sch, step)
    saved = json.loads(json.dumps(_data(sch.trace.as_json())))
    again = _new(reader, PROGRAMS[name])
    reader.tir.schedule.Trace.apply_json_to_schedule(saved, again)
    assert _plain(again.mod.script()) == _plain(sch.mod.script())
    assert str(again.trace).strip() == str(sch.trace).strip()
