"""Postprocessors make of candidates what those of TVM 0.19 make of them: the same programs, with
the same traces.
"""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm.meta_schedule.testing import te_workload

from te_sched import meta_schedule as ms
from te_sched import script, tir
from tests.sampling import sampled

TARGET = "llvm -num-cores=4"
NAMES = [
    *("C1D", "C2D", "C3D", "DEP", "DIL", "GMM", "GRP"),
    *("T2D", "CBR", "TBG", "NRM", "SFM"),
]


def _plain(value: Any) -> Any:
    """Containers and numbers of TVM as those of Python."""
    if isinstance(value, list | tuple | tvm.ir.Array):
        return [_plain(one) for one in value]
    if isinstance(value, tvm.tir.IntImm | tvm.tir.FloatImm):
        return value.value
    return value if isinstance(value, int | float) or value is None else str(value)


@pytest.mark.parametrize("seed", sampled([1, 2, 3, 4, 5], 1))
@pytest.mark.parametrize("name", sampled(NAMES, 4))
def test_candidates_are_those_of_tvm(name: str, seed: int) -> None:
    program = te_workload.create_te_workload(name, 0)
    declared = script.from_source(program.script())
    context = tvm.meta_schedule.TuneContext(
        mod=program,
        target=tvm.target.Target(TARGET),
        space_generator="post-order-apply",
        rand_state=seed,
    )
    for theirs in context.generate_design_space():
        own = tir.Schedule(declared)
        tir.schedule.Trace.apply_json_to_schedule(_plain(theirs.trace.as_json()), own)
        before = str(theirs.trace)
        if str(own.trace) != before:
            continue  # a decision that the spaces clip differently: test_spaces
        theirs.enter_postproc()
        own.enter_postproc()
        accepted = all(one.apply(theirs) for one in context.space_generator.postprocs)
        assert all(one.apply(own) for one in ms.Postproc.create("llvm")) == accepted
        if accepted:
            assert str(own.trace) == str(theirs.trace)
            assert str(own.mod) == str(script.from_source(theirs.mod.script()))
