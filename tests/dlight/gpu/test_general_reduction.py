"""The rule for rows with several reductions on GPUs."""

import pytest

from te_sched import topi
from te_sched.dlight import gpu
from tests.dlight.functions import applied, tensor
from tests.dlight.gpu.running import check_rule


def layer_norm(m, n):
    a, g, b = tensor(m, n), tensor(n, name="g"), tensor(n, name="b")
    return [a, g, b, topi.nn.layer_norm(a, g, b, [1])]


def rms_norm(m, n):
    a, g = tensor(m, n), tensor(n, name="g")
    return [a, g, topi.nn.rms_norm(a, g, [1])]


@pytest.mark.parametrize(
    "declared",
    [
        applied(topi.nn.softmax, 3, 40),
        applied(lambda a: topi.nn.softmax(a, axis=1), 2, 3, 4),
        layer_norm(2, 20),
        rms_norm(2, 10),
        applied(lambda a: topi.argmax(a, axis=1), 3, 20),
    ],
)
def test_reductions_of_rows_compute_what_they_did(declared):
    check_rule(gpu.GeneralReduction(), declared)
