"""The spaces of programs are those of TVM 0.19: the same traces, with the same decisions."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm.meta_schedule.testing import te_workload

from te_sched import meta_schedule as ms
from te_sched import script
from tests.sampling import sampled

TARGETS = {"llvm": "llvm --num-cores=16", "cuda": "nvidia/geforce-rtx-3080"}
NAMES = [name for name in te_workload.CONFIGS if not name.startswith("C2D_WIN")]


def _traces(lib: Any, mod: Any, target: str) -> list[str]:
    context = lib.TuneContext(
        mod=mod, target=target, space_generator="post-order-apply", rand_state=42
    )
    return [str(sch.trace) for sch in context.generate_design_space()]


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("name", sampled(NAMES, 4))
def test_space_has_the_traces_of_tvm(name: str, kind: str) -> None:
    program = te_workload.create_te_workload(name, 0)
    theirs = _traces(tvm.meta_schedule, program, tvm.target.Target(TARGETS[kind]))
    assert _traces(ms, script.from_source(program.script()), TARGETS[kind]) == theirs
