"""The rule for transposed copies on GPUs."""

import pytest

from te_sched import te, topi
from te_sched.dlight import gpu
from te_sched.target import Target
from tests.dlight.functions import applied
from tests.dlight.gpu.running import CUDA, check_rule


def test_a_transposed_copy_computes_what_it_did():
    check_rule(gpu.Transpose(), applied(topi.transpose, 17, 9))


@pytest.mark.parametrize(
    "declared",
    [
        applied(topi.exp, 4, 8),
        applied(lambda a: topi.transpose(a, (0, 2, 1)), 2, 4, 8),
        applied(lambda a: topi.exp(topi.transpose(a)), 4, 8),
    ],
)
def test_other_functions_are_not_of_the_rule(declared):
    assert gpu.Transpose().apply(te.create_prim_func(declared), Target(CUDA), False) is None


def test_both_sides_are_accessed_by_neighboring_threads():
    sch = check_rule(gpu.Transpose(), applied(topi.transpose, 32, 16))
    copy, last = sch.get_child_blocks(sch.get_block("root"))
    for block in (copy, last):
        tags = [sch.get(one).thread_binding for one in sch.get_loops(block)]
        assert "threadIdx.x" in [one.thread_tag for one in tags if one is not None]
