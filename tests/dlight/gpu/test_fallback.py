"""The rule for all functions that no other knows."""

import pytest

from te_sched import te, topi
from te_sched.dlight import gpu
from te_sched.target import Target
from tests.dlight.functions import applied
from tests.dlight.gpu.running import check_rule


def chain(a):
    """A value that is read twice, twelve times."""
    for _ in range(12):
        a = topi.tanh(a) * a
    return a


@pytest.mark.parametrize(
    "declared",
    [
        applied(lambda a: topi.nn.relu(a + 1.0), 3, 400),
        applied(lambda a: topi.max(a, axis=1), 5, 9),
        applied(topi.nn.softmax, 3, 9),
        applied(topi.exp),
        applied(chain, 3, 40),
    ],
)
def test_functions_compute_what_they_did(declared):
    check_rule(gpu.Fallback(), declared)


def test_a_chain_that_doubles_does_not_become_one_expression():
    sch = gpu.Fallback().apply(te.create_prim_func(applied(chain, 3, 40)), Target("cuda"), False)
    assert len(sch.mod.script()) < 40_000
