"""The rule for products of a matrix and several vectors: its schedules compute what numpy does."""

import pytest

from te_sched.dlight import gpu
from te_sched.errors import ScheduleError
from te_sched.script import from_source
from te_sched.target import Target
from tests.dlight.gpu.running import CUDA, check
from tests.dlight.products import PACKED, Product, name_of

UNPACKED = {**PACKED, "unpacking": "dequantize"}


SEVERAL = [
    (4, CUDA, Product("m", 20, 64), {"m": 3}),
    (4, CUDA, Product("m", 70, 64, end="y + 1.0"), {"m": 5}),
    (2, CUDA, Product("m", 9, 100), {"m": 4}),
    (1, CUDA, Product("m", 20, 64, end="y + 1.0"), {"m": 2}),
    (4, CUDA, Product("m", 40, 256, **PACKED), {"m": 6}),
    (4, CUDA, Product("m", 40, 256, **UNPACKED), {"m": 6}),
    (4, "metal", Product("m", 40, 256, **UNPACKED), {"m": 6}),
    (4, CUDA, Product("m", 40, 256, is_outer=True, **UNPACKED), {"m": 6}),
    (4, "metal", Product("m", 70, 256, is_outer=True, **UNPACKED), {"m": 6}),
    (1, CUDA, Product("m", 40, 256, is_outer=True, **UNPACKED), {"m": 2}),
]


@pytest.mark.parametrize(
    ("bucket", "target", "product", "sizes"), SEVERAL, ids=map(name_of, SEVERAL)
)
def test_a_product_with_several_vectors_is_numpys(bucket, target, product, sizes):
    check(gpu.LowBatchGEMV(bucket), product.text(), target, product.arrays(**sizes))


@pytest.mark.parametrize(
    "product",
    [
        Product(4, 20, 64),
        Product("m", "n", 64),
        Product("m", 40, 256, is_outer=True),  # no block unpacks the matrix
        Product("m", 20, 256, is_outer=True, **UNPACKED),
    ],
)
def test_other_functions_are_not_of_the_rule_for_several_vectors(product):
    func = from_source(product.text())
    assert gpu.LowBatchGEMV(4).apply(func, Target(CUDA), False) is None


def test_many_vectors_are_not_treated_together_in_the_other_order():
    func = from_source(Product("m", 40, 256, is_outer=True, **UNPACKED).text())
    assert gpu.LowBatchGEMV(8).apply(func, Target(CUDA), False) is None
    with pytest.raises(ScheduleError, match="bucket must be at least 1, got 0"):
        gpu.LowBatchGEMV(0)
