"""Handles of blocks and loops, and how traces write constants."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import tir
from te_sched.errors import ScheduleError
from te_sched.ir.expr import Var
from te_sched.ir.index_map import IndexMap
from te_sched.tensorir.handles import (
    PRIMITIVES,
    BlockHandles,
    BufferPlace,
    RangesMap,
    index_types,
    instruction_name,
    widest,
)
from te_sched.tir import decl_buffer
from tests.tensorir.programs import STAGES
from tests.tensorir.schedules import scheduled

X, Y = Var("i", "int32"), Var("j", "int32")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('a "name"', '"a \\"name\\""'),
        (0.1, "0.10000000000000001"),
        (True, "True"),
        (None, "None"),
        ([1, ("a", 2.0)], '[1, ["a", 2]]'),
        ({"a": [1], "b": {}}, '{"a": [1], "b": {}}'),
        (BufferPlace("read", 1), '("read", 1)'),
        (IndexMap((X, Y), (Y, X // 2)), "lambda i, j: (j, i // 2,)"),
        (RangesMap(IndexMap((X,), (X, X + 2))), "lambda i: [(i, i + 2)]"),
    ],
)
def test_constants(value: Any, text: str) -> None:
    assert BlockHandles().literal(value) == text


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("get_block", "GetBlock"),
        ("reindex", "ReIndex"),
        ("rfactor", "RFactor"),
        ("unsafe_set_dtype", "UnsafeSetDType"),
        ("sample_perfect_tile", "SamplePerfectTile"),
    ],
)
def test_names_of_instructions(method: str, name: str) -> None:
    assert instruction_name(method) == name
    assert PRIMITIVES[name].name == method
    assert PRIMITIVES[name].is_naming == method.startswith(("get_", "sample_"))


def test_handles_are_numbered_by_letters() -> None:
    handles = BlockHandles()
    values = (tir.BlockRV(), tir.LoopRV(), X, 3)
    assert [handles.name_of(value, 7) for value in values] == ["b7", "l7", "v7", None]
    assert handles.results_text(["l1"], is_several=True) == "l1,"
    assert handles.results_text(["l1", "l2"], is_several=True) == "l1, l2"
    assert handles.results_text(["b1"], is_several=False) == "b1"


@pytest.mark.parametrize("kind", [tir.BlockRV, tir.LoopRV])
def test_handles_are_not_made_of_other_values(kind: Any) -> None:
    with pytest.raises(ScheduleError, match="cannot be made of a str"):
        kind("B")
    handle = kind()
    assert handle.same_as(handle)
    assert not handle.same_as(kind())


def test_types_of_indices() -> None:
    buffer = decl_buffer((Var("n", "int64"), 4), "float32")
    assert index_types(buffer) == ["int64", "int32"]
    assert widest(index_types(buffer)) == "int64"
    assert widest(None) == widest([]) == "int32"


def test_buffers_of_places() -> None:
    sch = scheduled(STAGES)
    block = sch.get(sch.get_block("C"))
    assert [BufferPlace(kind, 0).buffer_in(block).name for kind in ("read", "write")] == ["B", "C"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "sch.annotate_buffer_access('C', 0, 'read', lambda i: [i])",
            "cannot take the 2 iterators",
        ),
        (
            "sch.annotate_buffer_access('C', 0, 'read', lambda i, j: [(i, j, 1), j])",
            "gives 3 numbers for a dimension",
        ),
        (
            "sch.transform_block_layout('C', lambda i, j: (i, tir.IndexMap.AXIS_SEPARATOR, j))",
            "index_map has AXIS_SEPARATOR",
        ),
    ],
)
def test_functions_of_arguments_are_checked(code: str, message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        eval(code, {"sch": scheduled(STAGES), "tir": tir})
