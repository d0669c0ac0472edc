"""What rules for GPUs share."""

import pytest

from te_sched import te, tir, topi
from te_sched.dlight import gpu
from te_sched.dlight.gpu.base import GPURule, is_gpu, power_of_two, unroll
from te_sched.target import Target
from tests.dlight.functions import applied
from tests.dlight.gpu.running import CUDA


@pytest.mark.parametrize(("limit", "expected"), [(0, 1), (1, 1), (3, 2), (64, 64), (1023, 512)])
def test_powers_of_two(limit, expected):
    assert power_of_two(limit) == expected


@pytest.mark.parametrize(("target", "expected"), [("cuda", True), ("metal", True), ("llvm", False)])
def test_functions_for_a_gpu_are_kernels(target, expected):
    assert is_gpu(Target(target)) == expected
    func = te.create_prim_func(applied(topi.exp, 4, 8))
    assert (gpu.Fallback().apply(func, Target(target), False) is not None) == expected


def test_a_rule_with_a_step_that_is_not_legal_passes_the_function_on():
    class Wrong(GPURule):
        def scheduled(self, sch, target):
            return sch.compute_inline(sch.get_child_blocks(sch.get_block("root"))[0])

    func = te.create_prim_func(applied(topi.exp, 4, 8))
    assert Wrong().apply(func, Target(CUDA), False) is None


def test_loops_that_are_to_be_unrolled():
    sch = tir.Schedule(te.create_prim_func(applied(topi.exp, 4, 8)))
    loop = sch.get_loops(sch.get_child_blocks(sch.get_block("root"))[0])[0]
    unroll(sch, loop, 16)
    assert sch.get(loop).annotations == {
        "pragma_auto_unroll_max_step": 16,
        "pragma_unroll_explicit": 1,
    }
