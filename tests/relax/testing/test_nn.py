"""The modules of courses."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax, tir, topi
from te_sched.errors import GraphError
from te_sched.relax.testing import nn


def test_perceptron_runs() -> None:
    builder = relax.BlockBuilder()
    with builder.function("main"):
        model = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 3), nn.LogSoftmax())
        data = nn.Placeholder((2, 8), name="data")
        builder.emit_func_output(model(data), [data, *model.parameters()])
    mod = builder.get()
    assert [str(name) for name, _ in mod.functions_items()] == [
        *("add", "add1", "log_softmax", "main", "matmul", "matmul1", "relu"),
    ]
    x, w0, b0, w1, b1 = args = nn.init_params(mod)
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), te_sched.cpu())
    y = np.maximum(x @ w0 + b0, 0) @ w1 + b1
    expected = y - np.log(np.exp(y).sum(-1, keepdims=True))
    found = machine["main"](*map(nd.array, args)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_parameters_of_dynamic_sizes_have_no_values() -> None:
    builder = relax.BlockBuilder()
    with builder.function("main", [nn.Placeholder((tir.Var("n", "int64"),), name="x")]):
        builder.emit_func_output(relax.const(1))
    with pytest.raises(GraphError, match="parameter x has no constant shape"):
        nn.init_params(builder.get())


def test_parameters_are_those_of_modules_in_lists_each_once() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            self.first = nn.Linear(4, 3, bias=False)
            self.rest = {"list": [nn.Linear(3, 2), self.first]}
            self.scale = nn.Parameter((2,), name="scale")

    model = Model()
    second = model.rest["list"][0]
    assert model.first.bias is None
    expected = [model.first.weight, second.weight, second.bias, model.scale]
    assert model.parameters() == expected
    slots = [(type(owner).__name__, name) for owner, name in model.variable_slots()]
    assert slots[0] == slots[3] == ("BuilderLinear", "weight")


def test_names_are_new_in_the_open_builder() -> None:
    builder = relax.BlockBuilder()
    with builder.function("main"):
        names = [nn.Placeholder((2,), name="x").name_hint for _ in range(2)]
        value = nn.emit_te(topi.exp, relax.op.negative(nn.Parameter((2,))), name_hint="value")
        builder.emit_func_output(nn.emit(relax.op.exp(value)), [])
    assert names[0] == "x"
    assert names[1] != "x"
    assert value.name_hint == "value"
