"""What cuBLAS, hipBLAS and CUTLASS partition is what TVM 0.19 partitions, but for transpositions of
other axes, which TVM takes for those of the last two.
"""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import relax
from te_sched.relax.backend.contrib.cublas import partition_for_cublas
from te_sched.relax.backend.contrib.cutlass import partition_for_cutlass
from te_sched.relax.backend.contrib.hipblas import partition_for_hipblas
from tests.relax.backend.partitioned import A, B, composites_of, product, with_relu

# A graph, and the functions of cuBLAS, hipBLAS and CUTLASS.
PRODUCTS = {
    "plain": (product((16, 32), (32, 15)), "matmul", "matmul", "matmul"),
    "float32": (product((16, 32), (32, 15), "float32"), "matmul", "", "matmul"),
    "float64": (product((16, 32), (32, 15), "float64"), "", "", ""),
    "layer": (
        product((16, 32), (15, 32), bias=(15,), after=with_relu, axes=None),
        *["matmul_transposed_bias_relu"] * 3,
    ),
    "other axes": (product((4, 4, 4), (4, 4, 4), axes=[1, 0, 2]), *["matmul"] * 3),
    "row of biases": (product((8, 16), (16, 16), bias=(1, 16)), *["matmul_bias"] * 3),
    "matrix of biases": (
        product((8, 16), (16, 16), bias=(8, 16)),
        *("matmul", "matmul", "matmul_bias"),
    ),
    "int8": (product((16, 32), (32, 8), "int8"), "matmul", "", "matmul"),
    "int8 of 33": (product((16, 33), (33, 8), "int8"), "", "", "matmul"),
    "int8 and biases": (product((16, 32), (32, 8), "int8", (8,)), "matmul", "", "matmul_bias"),
    "one right": (product((3, 16, 16), (1, 16, 16)), *["matmul"] * 3),
    "one left": (product((1, 16, 16), (3, 16, 16)), "", "", "matmul"),
    "fewer batches": (product((3, 2, 16, 16), (2, 16, 16)), "", "", ""),
    "batches by symbols": (product((A, 2, 16, 16), (A, 2, 16, 16)), *["matmul"] * 3),
    "other symbols": (product((A, 16, 16), (B, 16, 16)), "matmul", "matmul", ""),
    "symbolic sum": (product((16, A), (A, 16)), "", "", ""),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str) -> None:
    mod, *expected = PRODUCTS[name]
    partitions = (partition_for_cublas, partition_for_hipblas, partition_for_cutlass)
    for library, partition, found in zip(
        ("cublas", "hipblas", "cutlass"), partitions, expected, strict=True
    ):
        wanted = [f"{library}.{found}"] if found else []
        assert composites_of(partition(mod)) == wanted, library


def test_a_value_that_is_used_elsewhere_stays_outside() -> None:
    def power(builder: Any, value: Any) -> Any:
        return relax.op.add(value, builder.emit(relax.op.power(value, relax.const(2, "float16"))))

    mod = product((16, 32), (32, 16), after=power)
    for partition in (partition_for_cublas, partition_for_cutlass):
        (found,) = composites_of(partition(mod))
        assert found.endswith(".matmul")
