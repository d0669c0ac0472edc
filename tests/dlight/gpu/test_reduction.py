"""The rule for sums on GPUs."""

import pytest

from te_sched import topi
from te_sched.dlight import gpu
from tests.dlight.functions import applied
from tests.dlight.gpu.running import check_rule, product


def mean(a):
    return topi.divide(topi.sum(a, axis=-1), 3.0)


def centered(a):
    return topi.subtract(a, topi.sum(a, axis=-1, keepdims=True))


@pytest.mark.parametrize(
    "declared",
    [
        applied(lambda a: topi.sum(a, axis=1), 3, 37),
        applied(lambda a: topi.sum(a, axis=0), 40, 6),
        applied(topi.sum, 6, 7),
        applied(lambda a: topi.exp(topi.sum(a)), 6, 7),
        applied(mean, 3, 20),
        applied(centered, 3, 20),
        product(1, 12, 17),
        product(1, 10, 33, transposed=True),
    ],
)
def test_sums_compute_what_they_did(declared):
    check_rule(gpu.Reduction(), declared)
