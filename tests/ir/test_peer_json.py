"""Index maps in TVM's JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from te_sched import tir
from te_sched.arith.index_functions import map_of
from te_sched.errors import DeclarationError
from te_sched.ir import expr as E
from te_sched.ir import structural_equal
from te_sched.ir.index_map import IndexMap
from te_sched.ir.peer_json import load_index_map, save_index_map

# What TVM 0.19 saves of lambda i: (i // 2,), without blanks.
SAVED = (
    '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "tir.IndexMap", "attrs": '
    '{"final_indices": "6", "initial_indices": "2", "inverse_index_map": "0"}}, '
    '{"type_key": "Array", "data": [3]}, {"type_key": "tir.Var", "attrs": {"dtype": "int32", '
    '"name": "4", "span": "0", "type_annotation": "5"}}, {"type_key": "runtime.String", '
    '"repr_str": "i"}, {"type_key": "PrimType", "attrs": {"dtype": "int32"}}, '
    '{"type_key": "Array", "data": [7]}, {"type_key": "tir.FloorDiv", "attrs": {"a": "3", '
    '"b": "8", "dtype": "int32", "span": "0"}}, {"type_key": "IntImm", "attrs": '
    '{"dtype": "int32", "span": "0", "value": "2"}}], "b64ndarrays": [], '
    '"attrs": {"tvm_version": "0.19.0"}}'
)


def _map(function: Any, **options: Any) -> IndexMap:
    return map_of(function, **options)[0]


@pytest.mark.parametrize(
    "function",
    [
        lambda i, j: (j, i // 4, i % 4),
        lambda i, j: (i * 8 + j,),
        lambda i, j: (tir.max(i, j) - 1, tir.Select(i < 3, j, i)),
        lambda i, j: (tir.shift_right(i, 1), tir.Cast("int32", tir.Cast("int64", j))),
    ],
)
def test_loads_what_it_saved(function: Any) -> None:
    made = _map(function)
    assert structural_equal(load_index_map(save_index_map(made)), made)


def test_keeps_the_inverse() -> None:
    made = _map(lambda i: (i, i * 0), inverse=lambda i, j: (i,))
    assert structural_equal(load_index_map(save_index_map(made)), made)


def test_has_the_nodes_of_tvm() -> None:
    made = _map(lambda i: (i // 2,))
    assert structural_equal(load_index_map(SAVED), made)
    ours, saved = json.loads(save_index_map(made)), json.loads(SAVED)
    assert ours["nodes"] == saved["nodes"]


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        (SAVED, "{", "cannot load an index map from this JSON"),
        ('"root": 1', '"root": 3', "it is i"),
        ('"root": 1', '"root": 99', "there is no node 99"),
        ('"a": "3"', '"a": "7"', "there is no node 7"),
        ('"a": "3"', '"a": "4"', "'i' is not an expression"),
        ('"tir.FloorDiv"', '"tir.Unknown"', "KeyError"),
        ('"dtype": "int32", "name"', '"dtype": "int64", "name"', "tir.FloorDiv of int64"),
        ('"dtype": "int32", "span"', '"dtype": "nonsense", "span"', "unknown data type"),
        ('"initial_indices": "2"', '"initial_indices": "6"', "an initial index is not a variable"),
        ('"inverse_index_map": "0"', '"inverse_index_map": "3"', "the inverse is not an index map"),
    ],
)
def test_rejects_damaged_json(old: str, new: str, match: str) -> None:
    with pytest.raises(DeclarationError, match=match):
        load_index_map(SAVED.replace(old, new))


def test_rejects_other_expressions() -> None:
    i = tir.Var("i")
    load = E.BufferLoad(tir.decl_buffer((8,), "int32"), (i,))
    with pytest.raises(DeclarationError, match="it is a BufferLoad"):
        save_index_map(IndexMap((i,), (load,)))
