"""Random programs compute the same after passes that use known values, dead stores, and hoist."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import IRModule, tir, transform
from tests.sampling import sampled
from tests.tir.passes.dataflow.random_programs import (
    TooLarge,
    arguments,
    compiled,
    outcome,
    parsed,
    source,
)

OPTIONS: dict[str, dict[str, Any]] = {
    "tir.Simplify": {
        "transitively_prove_inequalities": True,
        "convert_boolean_to_and_of_ors": True,
        "apply_constraints_to_boolean_branches": True,
        "propagate_knowns_to_prove_conditional": True,
        "propagate_knowns_to_simplify_expressions": True,
    },
    "tir.HoistExpression": {"hoisted_conditionals": 15, "hoisted_let_bindings": 7},
    "tir.RemoveNoOp": {"use_dataflow_analysis": True},
}


def rewritten(module: IRModule) -> IRModule:
    """The module after the passes."""
    with transform.PassContext(config=OPTIONS):
        passes = ("HoistExpression", "Simplify", "RemoveNoOp")
        return transform.Sequential([getattr(tir.transform, one)() for one in passes])(module)


@pytest.mark.parametrize("seed", sampled(range(2000), 16))
def test_random_program_computes_the_same(seed: int) -> None:
    text = source(seed)
    module = rewritten(parsed(text))
    for number in range(2):
        buffers, n = arguments(text, seed + number)
        try:
            expected = outcome(text, buffers, n)
        except TooLarge:
            continue
        assert compiled(module, buffers, n) == expected


def test_the_sample_is_rewritten() -> None:
    modules = [parsed(source(seed)) for seed in range(0, 60, 6)]
    changed = [str(rewritten(one)) != str(tir.transform.Simplify()(one)) for one in modules]
    assert sum(changed) > 3
