"""Programs as JSON."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax, te, tir, topi
from te_sched.errors import DeclarationError
from te_sched.ir import (
    GlobalVar,
    assert_structural_equal,
    load_json,
    make_node,
    save_json,
    structural_equal,
)
from te_sched.script import tir as T
from tests.script.graph_program import Module


@T.prim_func
def mm_relu(a: T.handle, b: T.handle, C: T.Buffer((16, 16), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (16, n), strides=(n, 1))
    B = T.match_buffer(b, (n, 16))
    Y = T.alloc_buffer((16, 16))
    for i, j, k in T.grid(16, 16, n):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.block_attr({"tiles": [4, 4], "kind": "inner"})
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(16, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(Y[vi, vj], T.infinity("float32"))


def test_functions_of_blocks() -> None:
    again = load_json(save_json(mm_relu))
    assert structural_equal(again, mm_relu)
    assert str(again) == str(mm_relu)
    module = te_sched.IRModule({"mm_relu": mm_relu}, {"version": 1})
    loaded = load_json(save_json(module))
    assert str(loaded) == str(module)
    assert loaded.attrs == {"version": 1}


def test_lowered_schedules() -> None:
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] * 2.0, name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(s[B].split(B.op.axis[0], 8)[1])
    for module in (te_sched.lower(s, [A, B], stop_after="schedule_ops"), te_sched.lower(s, [A, B])):
        assert str(load_json(save_json(module))) == str(module)


def test_shared_nodes_stay_shared() -> None:
    x = tir.Var("x")
    first, second = load_json(save_json((x + 1, [x, {"key": x}])))
    assert first.a is second[0] is second[1]["key"]
    assert save_json((x, x)).count('"Var"') == 1
    deep = x
    for _ in range(3000):
        deep = deep + x
    assert structural_equal(load_json(save_json(deep)), deep, map_free_vars=True)


def test_numbers() -> None:
    for value in (math.inf, -math.inf, 0.1, 1e300, 3, True, None, "text"):
        assert load_json(save_json([value])) == [value]
    assert math.isnan(load_json(save_json(tir.const(math.nan, "float32"))).value)


def _text(*nodes: object, root: object = 0) -> str:
    return json.dumps({"te_sched": 1, "root": root, "nodes": nodes})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 100_000,
        "{}",
        '{"te_sched": 2, "root": 0, "nodes": []}',
        '{"te_sched": 1, "root": 0}',
        _text(3),
        _text(["Nothing", {}]),
        _text(["Var", {"size": 3}]),
        _text(["Var", {"name": 3, "dtype": "int32"}]),
        _text(["Add", {"a": 1, "b": 2}]),
        _text(["Add", {"a": {"node": 0}, "b": {"node": 0}}]),
        _text(root={"node": 0}),
        _text(root={"dict": [[1]]}),
        _text(root={"float": "1e5"}),
        _text(root={"dict": [[{"list": []}, 1]]}),
        3,
    ],
)
def test_damaged_texts_are_refused(text: str) -> None:
    with pytest.raises(DeclarationError, match="cannot load a program from this JSON"):
        load_json(text)


def test_what_is_not_data_is_refused() -> None:
    with pytest.raises(DeclarationError, match="cannot save <function"):
        save_json(mm_relu.with_attr("f", test_numbers))


def test_integers_have_64_bits_at_most() -> None:
    assert load_json(save_json(2**64 - 1)) == 2**64 - 1
    with pytest.raises(DeclarationError, match=r"cannot save .* as JSON"):
        save_json(2**64)


def test_nodes_are_made_by_the_names_of_their_classes() -> None:
    x = te.var("x")
    made = make_node("tir.Add", a=x, b=make_node("IntImm", value=2, dtype="int32"), span=None)
    assert str(made) == "x + 2"
    attrs = make_node("DictAttrs", key="value")
    assert tir.PrimFunc([], tir.Evaluate(0), attrs=attrs).attrs["key"] == "value"
    with pytest.raises(DeclarationError, match=r"no nodes of class 'tir\.Ad'"):
        make_node("tir.Ad", a=x, b=x)
    with pytest.raises(DeclarationError, match="cannot make a Add of a"):
        make_node("tir.Add", a=x)
    with pytest.raises(DeclarationError, match="value"):
        make_node("tir.IntImm", value="2", dtype="int32")


def test_graphs_and_arrays_load_again():
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        total = builder.emit_te(topi.add, x, relax.const(np.arange(4).astype("float32")))
        builder.emit_func_output(builder.emit(relax.op.add(total, relax.const(1.5, "float32"))))
    module = builder.get()
    loaded = load_json(save_json(module))
    assert_structural_equal(module, loaded)
    call = loaded["main"].body.blocks[0].bindings[0].value
    assert isinstance(call.args[0], GlobalVar)
    assert call.args[1].fields[1].data.numpy().tolist() == [0, 1, 2, 3]


def test_names_of_functions_are_values_of_graphs():
    assert_structural_equal(load_json(save_json(Module)), Module)


def test_constants_of_bfloat16_load_again():
    constant = relax.Constant(nd.array([1.5, -2.0], dtype="bfloat16"))
    loaded = load_json(save_json(constant))
    assert loaded.data.dtype == "bfloat16"
    assert loaded.data.numpy().tobytes() == constant.data.numpy().tobytes()


def test_damaged_arrays_are_rejected():
    for row in (["<f4", [3], "AAAA"], ["<f4", [1], "?"], ["what", [1], "AAAAAA=="], 3):
        text = json.dumps({"te_sched": 1, "root": {"array": row}, "nodes": []})
        with pytest.raises(DeclarationError, match="cannot load a program"):
            load_json(text)
