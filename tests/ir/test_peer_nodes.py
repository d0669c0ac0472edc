"""Nodes of graphs in TVM's JSON: attributes of operators, constants, functions of libraries."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from te_sched import ir, nd, relax, tir
from te_sched.errors import DeclarationError
from te_sched.ir import VDevice, structural_equal
from te_sched.ir.expr import FloatImm
from te_sched.ir.peer_json import load_tvm_json, save_tvm_json
from te_sched.ir.peer_nodes import ATTRIBUTES, BY_CLASS, As, fields_of
from te_sched.ir.visitor import NODE_CLASSES
from te_sched.relax import op
from te_sched.target import Target
from tests.relax.operator_tables import inferred_calls
from tests.script.graph_program import Module

X = relax.Var("x", relax.TensorStructInfo([4, 3], "float32"))
INFO = relax.TensorStructInfo([4, 3], "float32")
F = relax.GlobalVar("f")
CALLS: list[Any] = [
    *[build() for build, _ in inferred_calls()],
    op.astype(X, "int8"),
    op.call_inplace_packed("f", X, inplace_indices=0, sinfo_args=INFO),
    op.call_packed("f", X, sinfo_args=INFO, name="a", count=2),
    op.call_tir_inplace(F, X, 0, INFO),
    op.call_tir_with_grad(F, X, INFO, "g", {"k": 1.5, "on": True, "of": [2, "a"]}),
    op.cumprod(X, 1, "float64"),
    op.hint_on_device(X, nd.cuda(1)),
    op.nn.attention(X, X, X, scale=0.5, causal_mask="TopLeft", window_size=2),
    op.nn.leakyrelu(X, 0.3),
    op.sort(X, descending=True),
    op.to_vdevice(X, VDevice("cuda -arch=sm_80", 1)),
]


def exchanged(value: Any) -> Any:
    """What is loaded of what is saved of a value."""
    return load_tvm_json(save_tvm_json(value))


def rows_of(value: Any, key: str) -> list[dict[str, Any]]:
    """The rows of a kind of nodes in the JSON of a value."""
    rows = json.loads(save_tvm_json(value))["nodes"]
    return [one for one in rows if one["type_key"] == key]


def test_fields_have_names_and_hows() -> None:
    first, second, third = fields_of("a b=c:text d", As.PLAIN)
    assert (first.name, first.theirs, first.how) == ("a", "a", As.PLAIN)
    assert (second.name, second.theirs, second.how) == ("b", "c", As.TEXT)
    assert third.how is As.PLAIN


def test_rows_name_fields_of_their_classes() -> None:
    for cls, kind in BY_CLASS.items():
        if cls in NODE_CLASSES:
            assert {one.name for one in kind.fields} <= {*cls.__dataclass_fields__}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: str(call)[:40])
def test_keeps_calls(call: Any) -> None:
    found = exchanged(call)
    assert str(found) == str(call)
    assert structural_equal(found, call, map_free_vars=True)
    assert [*(found.attrs or ())] == [*(call.attrs or ())]
    assert {type(one) for one in (found.attrs or {}).values()} == {
        tuple if type(one) is list else type(one) for one in (call.attrs or {}).values()
    }


def test_all_attributes_of_these_calls_are_listed() -> None:
    with_attributes = {str(one.op) for one in CALLS if one.attrs and type(one.op) is ir.Op}
    assert len(with_attributes) > 40
    assert with_attributes <= {*ATTRIBUTES}


def test_rejects_attributes_that_tvm_does_not_have() -> None:
    call = relax.Call(ir.Op.get("relax.astype"), [X], {"dtype": "int8", "mode": 1})
    with pytest.raises(DeclarationError, match=r"cannot save a call of relax.astype") as caught:
        save_tvm_json(call)
    assert caught.value.help == "give those that it has in TVM: dtype"
    with pytest.raises(DeclarationError, match="cannot save inf"):
        save_tvm_json(op.nn.leakyrelu(X, float("inf")))


@pytest.mark.parametrize("dtype", ["bool", "int64", "uint8", "float16", "float64", "bfloat16"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)])
def test_keeps_constants(shape: tuple[int, ...], dtype: str) -> None:
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape) + 0.5
    constant = relax.Constant(nd.array(values, dtype=dtype))
    found = exchanged(constant)
    assert (found.data.shape, found.data.dtype) == (shape, dtype)
    assert found.data.numpy().tobytes() == constant.data.numpy().tobytes()
    assert structural_equal(found.struct_info, constant.struct_info)


def test_rejects_constants_of_other_dtypes() -> None:
    rows = json.loads(save_tvm_json(relax.const([1], "uint8")))
    (saved,) = rows["b64ndarrays"]
    for old, new, why in (("EIAQ", "cIAQ", "of kind 7"), ("EIAQ", "EEAQ", "uint4")):
        assert saved.count(old) == 1
        rows["b64ndarrays"] = [saved.replace(old, new)]
        with pytest.raises(DeclarationError) as caught:
            load_tvm_json(json.dumps(rows))
        assert why in caught.value.why


def test_functions_of_libraries_derive_results_by_arguments() -> None:
    extern = relax.ExternFunc("f")
    var = relax.Var("g", extern.struct_info)
    binding = relax.VarBinding(var, extern)
    assert structural_equal(exchanged(binding), binding)
    (info,) = rows_of(binding, "relax.FuncStructInfo")
    assert info["attrs"]["derive_func"] != "0"
    (opaque,) = rows_of(relax.FuncStructInfo.opaque_func(), "relax.FuncStructInfo")
    assert opaque["attrs"]["derive_func"] == "0"
    assert str(extern.struct_info) == "R.Callable"
    own = relax.FuncStructInfo.opaque_func(derive_func="mine", purity=True)
    assert exchanged(own) == own


def test_names_of_functions_have_struct_infos() -> None:
    found = exchanged(Module)
    calls = [one.value for one in found["aaa"].body.blocks[0].bindings]
    names = [one for one in calls if type(one) is ir.GlobalVar]
    assert [str(one.struct_info) for one in names] == [str(Module["bbb"].struct_info)]
    assert structural_equal(found, Module)


def test_devices_of_modules_are_texts() -> None:
    described = {"kind": "cuda", "arch": "sm_80", "keys": ["cuda", "gpu"]}
    module = ir.IRModule({})
    devices = [
        VDevice("llvm"),
        VDevice(described),
        VDevice(Target("cuda -arch=sm_80"), 1),
        VDevice(),
    ]
    module.update_global_info("vdevice", devices)
    texts = [one.target for one in module.global_infos["vdevice"]]
    assert texts == ["llvm", "cuda -arch=sm_80", "cuda -arch=sm_80", None]
    assert structural_equal(exchanged(module), module)


def test_floats_of_attributes_are_those_of_python() -> None:
    exact = tir.const(1.5, "float32")
    func = relax.Function([X], X, INFO, attrs={"half": 0.5, "exact": exact, "all": [0.5, 1, "a"]})
    found = exchanged(ir.IRModule({"f": func}, {"half": 0.5, "exact": exact}))
    for attrs in (found.attrs, found["f"].attrs):
        assert (attrs["half"], type(attrs["exact"])) == (0.5, FloatImm)
    assert found["f"].attrs["all"] == [0.5, 1, "a"]
    assert 'I.module_attrs({"exact": T.float32(1.5), "half": 0.5})' in found.script()
