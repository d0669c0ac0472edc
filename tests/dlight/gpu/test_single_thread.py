"""The rule for functions whose iterations depend on each other."""

import pytest

from te_sched import te, tir, topi
from te_sched.dlight import gpu
from te_sched.script import tir as T
from te_sched.target import Target
from tests.dlight.functions import applied
from tests.dlight.gpu.running import CUDA, check_rule


@pytest.mark.parametrize(
    "declared",
    [
        applied(topi.cumsum, 9),
        applied(lambda a: topi.cumsum(a, axis=1), 3, 5),
        applied(lambda a: topi.exp(topi.cumsum(a)), 6),
    ],
)
def test_scans_compute_what_they_did(declared):
    sch = check_rule(gpu.SingleThread(), declared)
    assert "T.parallel" not in str(sch.mod)


def test_functions_with_threads_are_of_another_kind():
    func = te.create_prim_func(applied(topi.exp, 4, 8))
    bound = gpu.Fallback().apply(func, Target(CUDA), False).mod["main"]
    assert gpu.SingleThread().apply(bound, Target(CUDA), False) is None


def test_functions_that_call_the_host_are_of_another_kind():
    @T.prim_func
    def calls(A: T.Buffer((4,), "float32")):
        T.evaluate(T.call_packed("host", A[0]))

    assert gpu.SingleThread().apply(calls, Target(CUDA), False) is None


def test_loops_without_a_block_get_one():
    @T.prim_func
    def loops(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + T.float32(1)

    sch = gpu.SingleThread().apply(loops, Target(CUDA), False)
    assert isinstance(sch, tir.Schedule)
    assert sch.get(sch.get_block("root")).name_hint == "root"
