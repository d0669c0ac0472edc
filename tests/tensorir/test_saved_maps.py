"""Index maps in the JSON of traces."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from te_sched import tir
from te_sched.errors import DeclarationError
from te_sched.ir import structural_equal
from te_sched.ir.index_map import IndexMap
from te_sched.script import from_source
from te_sched.tensorir.saved_maps import loaded_map, saved_map
from tests.tensorir.programs import GIVEN, MATMUL

X, Y = tir.Var("i", "int32"), tir.Var("j", "int64")
# What TVM 0.19 saves of lambda i: (i // 4, i).
NODES = """[{"type_key": ""},
{"type_key": "tir.IndexMap",
 "attrs": {"final_indices": "6", "initial_indices": "2", "inverse_index_map": "0"}},
{"type_key": "Array", "data": [3]},
{"type_key": "tir.Var",
 "attrs": {"dtype": "int32", "name": "4", "span": "0", "type_annotation": "5"}},
{"type_key": "runtime.String", "repr_str": "i"},
{"type_key": "PrimType", "attrs": {"dtype": "int32"}},
{"type_key": "Array", "data": [7, 3]},
{"type_key": "tir.FloorDiv", "attrs": {"a": "3", "b": "8", "dtype": "int32", "span": "0"}},
{"type_key": "IntImm", "attrs": {"dtype": "int32", "span": "0", "value": "4"}}]"""


def test_is_what_tvm_saves() -> None:
    saved = json.loads(saved_map(IndexMap((X,), (X // 4, X))))
    assert saved["nodes"] == json.loads(NODES)
    assert saved["root"] == 1


@pytest.mark.parametrize(
    "finals",
    [
        (X // 4, X % 4, tir.min(X, 3) - tir.max(X * 2, 1)),
        (tir.Cast("int64", X) + Y,),
        (tir.Select(tir.And(X < 3, tir.Not(X == 1)), X, 2 * X),),
        (tir.const(0.1, "float32"), tir.const(2.0, "float16")),
        (tir.if_then_else(X < 3, X, 0),),  # in te_sched's own form
    ],
)
def test_maps_load_again(finals: Any) -> None:
    made = IndexMap((X, Y), finals, IndexMap((Y,), (Y + 1,)))
    assert structural_equal(loaded_map(saved_map(made)), made)


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("", "{", "JSONDecodeError"),
        ('"b": "8"', '"b": "7"', "node 7 contains itself"),
        ('"b": "8"', '"b": "9"', "there is no node 9"),
        ("tir.FloorDiv", "tir.Unknown", "unknown kind of node tir.Unknown"),
        ('"a": "3"', '"c": "3"', "KeyError"),
        ('"value": "4"', '"value": "x"', "ValueError"),
    ],
)
def test_damaged_maps_are_rejected(old: str, new: str, match: str) -> None:
    text = f'{{"root": 1, "nodes": {NODES}}}'
    assert str(loaded_map(text)) == "T.index_map(lambda i: (i // 4, i))"
    with pytest.raises(DeclarationError, match=f"invalid JSON of an index map(.|\n)*{match}"):
        loaded_map(text.replace(old, new, 1))


def test_other_objects_are_rejected() -> None:
    with pytest.raises(DeclarationError, match="it is of another object"):
        loaded_map(f'{{"root": 2, "nodes": {NODES}}}')


def test_sampled_integers_in_maps() -> None:
    sch: Any = tir.Schedule(from_source(GIVEN + MATMUL))
    loop = sch.get_loops(sch.get_block("C"))[1]
    _, inner = sch.sample_perfect_tile(loop, 2, decision=[2, 4])
    sch.transform_layout("C", "C", lambda i, j: [i, j // inner, j % inner])
    assert sch.get(sch.get_block("C")).writes[0].buffer.shape == (8, 2, 4)
    assert re.search(r"index_map=lambda i, j: \(i, j // (v\d+), j % \1,\)", str(sch.trace))
    assert "sample_perfect_tile" in str(sch.trace.simplified(False))
    for decision, shape in ([2, 4], (8, 2, 4)), ([4, 2], (8, 4, 2)):
        again: Any = tir.Schedule(from_source(GIVEN + MATMUL))
        data = json.loads(json.dumps(sch.trace.as_json()))
        data[1][0][1] = decision
        again.trace.apply_json_to_schedule(data, again)
        assert again.get(again.get_block("C")).writes[0].buffer.shape == shape
    twin = sch.trace.replay(tir.Schedule(from_source(GIVEN + MATMUL)))
    assert structural_equal(twin.mod, sch.mod)
    assert str(twin.trace) == str(sch.trace)
