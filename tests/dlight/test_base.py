"""The pass that applies rules."""

import pytest

import te_sched
from te_sched import dlight, te
from te_sched.errors import ScheduleError
from te_sched.target import Target
from tests.dlight.functions import LLVM, product


def test_the_pass_leaves_scheduled_functions_alone():
    module = te_sched.IRModule({"main": te.create_prim_func(product(8, 8, 8))})
    with LLVM:
        once = dlight.ApplyDefaultSchedule(dlight.cpu.Default())(module)
        twice = dlight.ApplyDefaultSchedule(dlight.cpu.Default())(once)
    assert once["main"].attrs["tir.is_scheduled"] == 1
    assert once["main"].attrs["global_symbol"] == "main"
    assert twice is once
    assert "tir.is_scheduled" not in module["main"].attrs


def test_a_function_that_no_rule_knows_stays():
    class Nothing(dlight.ScheduleRule):
        def apply(self, func, target, tunable):
            return None

    module = te_sched.IRModule({"main": te.create_prim_func(product(8, 8, 8))})
    with LLVM:
        assert dlight.ApplyDefaultSchedule(Nothing())(module) is module
    with Target("cuda"):
        assert (
            dlight.ApplyDefaultSchedule(dlight.cpu.Default(), dlight.cpu.Fallback())(module)
            is module
        )


def test_pass_rejects():
    with pytest.raises(ScheduleError, match="3 is not a rule"):
        dlight.ApplyDefaultSchedule(3)
    with pytest.raises(ScheduleError, match="does not know the target"):
        dlight.ApplyDefaultSchedule()(te_sched.IRModule({}))
    with pytest.raises(ScheduleError, match="does not say what it applies"):
        dlight.ScheduleRule().apply(None, None, False)
