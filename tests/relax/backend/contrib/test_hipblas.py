"""The table of hipBLAS."""

from __future__ import annotations

from te_sched.relax.backend import get_patterns_with_prefix
from te_sched.relax.backend.contrib.hipblas import partition_for_hipblas
from tests.relax.backend.partitioned import composites_of, product


def test_the_table_has_no_products_of_scaled_numbers() -> None:
    names = {one.name.removeprefix("hipblas.") for one in get_patterns_with_prefix("hipblas")}
    assert names == {
        f"matmul{kind}{rest}"
        for kind in ("", "_transposed")
        for rest in ("", "_bias", "_bias_relu", "_bias_gelu")
    }
    assert composites_of(partition_for_hipblas(product((8, 16), (16, 8), "int32"))) == []
