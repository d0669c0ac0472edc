"""The rule for all functions that no other knows."""

import pytest

from te_sched import topi
from te_sched.dlight import gpu
from tests.dlight.functions import applied
from tests.dlight.gpu.running import check_rule


@pytest.mark.parametrize(
    "declared",
    [
        applied(lambda a: topi.nn.relu(a + 1.0), 3, 400),
        applied(lambda a: topi.max(a, axis=1), 5, 9),
        applied(topi.nn.softmax, 3, 9),
        applied(topi.exp),
    ],
)
def test_functions_compute_what_they_did(declared):
    check_rule(gpu.Fallback(), declared)
