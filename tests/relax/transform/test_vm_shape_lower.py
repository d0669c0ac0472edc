"""Sizes of calls: computed, checked, and those without a value."""

import pytest

import te_sched
from te_sched import relax, tir
from te_sched.errors import GraphError
from te_sched.relax import transform
from tests.relax.transform.lowered import after, names


def test_sizes_are_computed_when_functions_run():
    n = tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo([n, 4], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))
    module = after(builder.get(), "AttachGlobalSymbol")
    assert sorted(module.functions) == ["main", "shape_func", "tir_exp"]
    assert names(module["main"])[:4] == ["shape_heap", "_", "_1", "_2"]
    assert module["shape_func"].attrs["global_symbol"] == "shape_func"


def test_sizes_without_values_are_refused():
    n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    s = relax.Var("s", relax.ShapeStructInfo([n + 1]))
    function = relax.Function([s], s)
    with pytest.raises(GraphError, match=r"the variables in .* have no value"):
        transform.VMShapeLower()(te_sched.IRModule({"main": function}))
    function = relax.Function([], relax.ShapeExpr([m]), relax.ShapeStructInfo(ndim=1))
    with pytest.raises(GraphError, match="size m is used before its variables have values"):
        transform.VMShapeLower()(te_sched.IRModule({"main": function}))


def test_a_size_that_is_given_twice_is_compared():
    n = tir.Var("n", "int64")
    x, y = (relax.Var(name, relax.TensorStructInfo([n], "float32")) for name in "xy")
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        builder.emit_func_output(builder.emit(relax.op.add(x, y)))
    func = after(builder.get(), "AttachGlobalSymbol")["main"]
    calls = [one.value for block in func.body.blocks for one in block.bindings]
    matches = [
        one.args
        for one in calls
        if getattr(one.op, "global_symbol", "") == "vm.builtin.match_shape"
    ]
    codes = [args[3].value.value for args in matches]
    assert codes[0] not in codes[1:]  # the first stores the size, the others compare it
