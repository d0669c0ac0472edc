"""Names of data types."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched.errors import DeclarationError
from te_sched.ir import dtypes


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("float32", ("float", 32, 1)),
        ("int8x16", ("int", 8, 16)),
        ("bfloat16x2", ("bfloat", 16, 2)),
        ("bool", ("bool", 1, 1)),
        ("uint1x4", ("bool", 1, 4)),
        ("handle64", ("handle", 64, 1)),
        ("void", ("void", 0, 1)),
    ],
)
def test_parse(name: str, parts: tuple[str, int, int]) -> None:
    assert dtypes.parse(name) == parts


@pytest.mark.parametrize("name", ["float8", "int", "float32x0", "bool8", "handle32", "int32 ", ""])
def test_parse_rejects(name: str) -> None:
    with pytest.raises(DeclarationError, match="unknown data type"):
        dtypes.parse(name)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("float", "float32"),
        ("uint1", "bool"),
        (bool, "bool"),
        (np.int16, "int16"),
        (np.dtype("float64"), "float64"),
        (np.bool_, "bool"),
    ],
)
def test_spelled(given: object, name: str) -> None:
    assert dtypes.spelled(given) == name


def test_lanes_are_added_and_taken_away() -> None:
    assert dtypes.with_lanes("int8x4", 2) == "int8x2"
    assert dtypes.with_lanes("int8x4", 1) == dtypes.element("int8x8") == "int8"
    assert (dtypes.lanes("int8x4"), dtypes.bits("int8x4")) == (4, 8)


def test_families_are_disjoint() -> None:
    families = [dtypes.is_int, dtypes.is_uint, dtypes.is_float, dtypes.is_bool]
    for name in ("int8", "uint64", "bfloat16", "float16x2", "bool", "uint1x4"):
        assert [is_one(name) for is_one in families].count(True) == 1, name
    assert not any(is_one("handle") for is_one in families)
    assert dtypes.is_integral("uint8")
    assert not dtypes.is_integral("bool")


def test_indices_are_counted_in_two_types() -> None:
    counting = [n for n in ("int16", "int32", "uint32", "int64x4", "float32") if dtypes.counts(n)]
    assert counting == ["int32", "int64x4"]


def test_storage_of_vectors_and_bools() -> None:
    sizes = [dtypes.storage_bytes(n) for n in ("bool", "uint1x4", "int8x3", "float64x2", "handle")]
    assert sizes == [1, 4, 3, 16, 8]


def test_types_without_code() -> None:
    assert [dtypes.is_supported(n) for n in ("int8", "int4", "e4m3_float8x4")] == [
        True,
        False,
        False,
    ]
    assert dtypes.is_float("e5m2_float8")
    assert dtypes.storage_bytes("e4m3_float8") == 1
    with pytest.raises(DeclarationError, match="unknown data type 'int5'"):
        dtypes.parse("int5")


def test_vectors_of_bools_are_named_as_in_tvm() -> None:
    assert dtypes.with_lanes("bool", 4) == dtypes.spelled("boolx4") == "uint1x4"
    assert dtypes.element("uint1x4") == "bool"
