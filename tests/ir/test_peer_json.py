"""Programs and index maps in TVM's JSON."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from te_sched import ir, script, te, tir
from te_sched.arith.index_functions import map_of
from te_sched.errors import DeclarationError
from te_sched.ir import expr as E
from te_sched.ir import structural_equal
from te_sched.ir.index_map import IndexMap
from te_sched.ir.peer_json import load_index_map, load_tvm_json, save_index_map, save_tvm_json
from te_sched.target import Target
from tests.golden import tvm_json

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
        ('"tir.FloorDiv"', '"tir.Unknown"', "te_sched reads no nodes of TVM's kind"),
        ('"dtype": "int32", "name"', '"dtype": "int64", "name"', "tir.FloorDiv of int64"),
        ('"dtype": "int32", "span"', '"dtype": "nonsense", "span"', "unknown data type"),
        ('"initial_indices": "2"', '"initial_indices": "6"', "an initial index is not a variable"),
        ('"data": [7]', '"data": [5]', "a final index is not an expression"),
        ('"inverse_index_map": "0"', '"inverse_index_map": "3"', "the inverse is not an index map"),
    ],
)
def test_rejects_damaged_json(old: str, new: str, match: str) -> None:
    with pytest.raises(DeclarationError, match=match):
        load_index_map(SAVED.replace(old, new))


def test_rejects_other_expressions() -> None:
    i = tir.Var("i")
    load = E.BufferLoad(tir.decl_buffer((8,), "int32"), (i,))
    with pytest.raises(DeclarationError, match="it reads a buffer"):
        save_index_map(IndexMap((i,), (load,)))


def _saved(name: str) -> str:
    return (tvm_json.FOLDER / f"{name}.json").read_text()


def _read(name: str) -> Any:
    return ir.load_json(_saved(name))


@pytest.mark.parametrize("name", tvm_json.PROGRAMS)
def test_reads_programs_of_tvm(name: str) -> None:
    text = (tvm_json.FOLDER / f"{name}.txt").read_text()
    found = _read(name)
    assert found.script() == re.sub(r"(T\.float\d+\(\d+)\.0\)", r"\1)", text)
    assert structural_equal(found, script.from_source(text))


@pytest.mark.parametrize("name", tvm_json.PROGRAMS)
def test_writes_the_kinds_of_rows_and_fields_of_tvm(name: str) -> None:
    def kinds(text: str) -> set[tuple[str, tuple[str, ...]]]:
        return {
            (row["type_key"], (*sorted(row.get("attrs", {})),)) for row in json.loads(text)["nodes"]
        }

    # What TVM derives from the functions, also in modules without graphs.
    typed = ("SourceMap",) if name == "graph" else ("FuncType", "relax.", "SourceMap")
    theirs = {one for one in kinds(_saved(name)) if not one[0].startswith(typed)}
    ours = {one for one in kinds(save_tvm_json(_read(name))) if not one[0].startswith(typed)}
    assert ours == theirs


@pytest.mark.parametrize("name", tvm_json.PROGRAMS)
def test_loads_programs_that_it_saved(name: str) -> None:
    made = _read(name)
    again = ir.load_json(save_tvm_json(made))
    assert again.script() == made.script()
    assert structural_equal(again, made)
    assert ir.structural_hash(again) == ir.structural_hash(made)


def test_values_of_attributes_are_those_of_python() -> None:
    func = _read("blocks")["main"]
    assert func.attrs["deep"] == {"k": [1, "x"]}
    assert func.attrs["half"] == 0.5
    assert isinstance(func.attrs["target"], Target)
    assert _read("blocks").attrs == {"version": 3, "names": ["a", "b"]}


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1, "b": True, "c": 0.5, "d": "x", "e": [2**20, []], "f": {}},
        Target("llvm -mcpu=znver4 -num-cores=4", "llvm"),
        Target("cuda -arch=sm_80 -max_num_threads=1024"),
    ],
)
def test_keeps_values_of_attributes(value: Any) -> None:
    func = tir.PrimFunc((), tir.Evaluate(0), {}, {"value": value})
    found = load_tvm_json(save_tvm_json(func)).attrs["value"]
    assert str(found) == str(value)
    assert found == value or structural_equal(func, load_tvm_json(save_tvm_json(func)))


def _sum() -> Any:
    k = te.reduce_axis((0, 4), "k")
    buffer = tir.decl_buffer((4,), "float32")
    return te.sum(buffer[k], axis=k)


@pytest.mark.parametrize(
    "made",
    [
        E.Broadcast(tir.const(1.0, "float32"), E.lanes_of(tir.vscale() * 4)),
        tir.Ramp(tir.Var("n", "int32"), 2, 8),
        _sum(),
        tir.Prefetch(tir.decl_buffer((4,)), (tir.Range(0, 4),)),
        tir.const(-(2**63), "int64"),
        tir.const(1 / 3, "float64"),
        tir.StringImm("a"),
    ],
)
def test_keeps_nodes(made: Any) -> None:
    found = load_tvm_json(save_tvm_json(made))
    assert str(found) == str(made)
    assert structural_equal(found, made, map_free_vars=True)


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_rejects_constants_that_tvm_does_not_load(value: float) -> None:
    with pytest.raises(DeclarationError, match="TVM saves constants that are infinite or NaN"):
        save_tvm_json(tir.const(value, "float32"))


def test_rejects_objects_that_are_no_programs() -> None:
    with pytest.raises(DeclarationError, match=r"cannot save .* as TVM's JSON"):
        save_tvm_json(object())


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ('"tir.While"', '"tir.Until"', "te_sched reads no nodes of TVM's kind 'tir.Until'"),
        ('"tir.While", "attrs": {"body"', '"tir.While", "attrs": {"boddy"', "KeyError: 'body'"),
        ("P6G0lvBA", "Q6G0lvBA", "an array is not valid"),
        ('"tir.LetStmt"', '"tir.SeqStmt"', "KeyError: 'seq'"),
    ],
)
def test_rejects_damaged_programs(old: str, new: str, match: str) -> None:
    text = _saved("loops")
    assert old in text
    with pytest.raises(DeclarationError, match="cannot load a program from this JSON") as caught:
        load_tvm_json(text.replace(old, new))
    assert match in caught.value.why


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ('"relax.expr.If"', '"relax.expr.Unless"', "no nodes of TVM's kind 'relax.expr.Unless'"),
        ('"cond": ', '"condition": ', "KeyError: 'cond'"),
        ('"repr_str": "relax.topk"', '"repr_str": "relax.top"', "there is no operator 'relax.top'"),
        ('"is_pure": "0"', '"is_pure": "no"', "invalid literal"),
        ('["P6G0lvBAXt0', '["P7G0lvBAXt0', "an array is not valid"),
        ('"b64ndarrays": ["', '"b64ndarrays": [], "x": ["', "list index out of range"),
    ],
)
def test_rejects_damaged_graphs(old: str, new: str, match: str) -> None:
    text = _saved("graph")
    assert old in text
    with pytest.raises(DeclarationError, match="cannot load a program from this JSON") as caught:
        load_tvm_json(text.replace(old, new))
    assert match in caught.value.why


def test_rejects_expressions_with_other_struct_infos() -> None:
    rows = json.loads(_saved("graph"))
    strings = [one["type_key"] for one in rows["nodes"]].index("runtime.String")
    for one in rows["nodes"]:
        if one["type_key"] == "relax.expr.Var":
            one["attrs"]["struct_info_"] = str(strings)
    with pytest.raises(DeclarationError) as caught:
        load_tvm_json(json.dumps(rows))
    assert "is not a struct info" in caught.value.why


@pytest.mark.parametrize("text", ["", 'a"b', "two\nlines", "größe", "\x00"])
def test_keeps_strings(text: str) -> None:
    saved = save_tvm_json([text])
    assert "\\u" not in saved  # which TVM does not read
    assert load_tvm_json(saved) == (text,)


def test_rejects_what_is_not_json() -> None:
    with pytest.raises(DeclarationError, match="cannot load a program from this JSON"):
        load_tvm_json("{")


def test_sequences_in_sequences_become_one() -> None:
    rows = json.loads(save_tvm_json(tir.SeqStmt([tir.Evaluate(1), tir.Evaluate(2)])))
    first = len(rows["nodes"])
    rows["nodes"] += [
        {"type_key": "Array", "data": [rows["root"], rows["root"]]},
        {"type_key": "tir.SeqStmt", "attrs": {"seq": str(first), "span": "0"}},
    ]
    found = load_tvm_json(json.dumps(rows | {"root": first + 1}))
    assert [int(one.value) for one in found.seq] == [1, 2, 1, 2]
