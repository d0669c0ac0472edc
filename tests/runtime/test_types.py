"""Data types and values."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.errors import DeclarationError
from te_sched.runtime.types import DataType, convert, enabled


@pytest.mark.parametrize(
    ("text", "parts", "size"),
    [
        ("int8", (0, 8, 1), 1),
        ("uint16x2", (1, 16, 2), 4),
        ("float32x3", (2, 32, 3), 12),
        ("bfloat16", (4, 16, 1), 2),
        ("bool", (1, 1, 1), 1),
        ("int4x3", (0, 4, 3), 2),
    ],
)
def test_parts_of_data_types(text: str, parts: tuple[int, int, int], size: int) -> None:
    dtype = DataType(text)
    assert (dtype.type_code, dtype.bits, dtype.lanes) == parts
    assert dtype.itemsize() == size
    assert dtype == text


def test_values_are_held_as_programs_hold_them() -> None:
    values = convert([1, 2.5, True, "text", None, {"a": (3,)}])
    assert [one.dtype for one in values[:3]] == ["int32", "float32", "bool"]
    assert values[3:5] == ("text", None)
    assert isinstance(values[5]["a"][0], tir.IntImm)
    assert convert(len) is len


def test_a_list_in_itself_is_refused() -> None:
    values: list[object] = []
    values.append(values)
    with pytest.raises(DeclarationError, match="convert a value"):
        convert(values)


@pytest.mark.parametrize(
    ("target", "expected"), [("llvm", True), ("cuda", True), ("vulkan", False)]
)
def test_targets_that_are_enabled(target: str, expected: bool) -> None:
    assert enabled(target) == expected
