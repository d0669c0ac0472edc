"""The rule for products and convolutions on GPUs."""

import pytest

from te_sched import topi
from te_sched.dlight import gpu
from tests.dlight.functions import tensor
from tests.dlight.gpu.running import check_rule, product


def batch_product(b, m, n, k):
    x, y = tensor(b, m, k), tensor(b, k, n, name="B")
    return [x, y, topi.nn.batch_matmul(x, y, transpose_b=False)]


def with_residual(m, n, k):
    a, b, c = tensor(m, k), tensor(k, n, name="B"), tensor(m, n, name="C")
    return [a, b, c, topi.add(topi.nn.matmul(a, b), topi.exp(c))]


def convolution(c, h, f, k, stride=1):
    x, w, b = tensor(2, c, h, h), tensor(f, c, k, k, name="W"), tensor(f, 1, 1, name="b")
    return [x, w, b, topi.nn.relu(topi.add(topi.nn.conv2d_nchw(x, w, stride, k // 2, 1), b))]


@pytest.mark.parametrize(
    "declared",
    [
        product(5, 7, 9),
        batch_product(2, 3, 5, 4),
        with_residual(33, 10, 17),
        convolution(2, 5, 3, 3),
    ],
)
def test_products_compute_what_they_did(declared):
    check_rule(gpu.Matmul(), declared)
