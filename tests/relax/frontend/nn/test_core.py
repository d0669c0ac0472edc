"""Tensors, parameters and modules of models."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import relax, tir
from te_sched.errors import GraphError
from te_sched.relax.frontend import nn
from te_sched.relax.frontend.nn.core import current_builder, sizes_of

X = {"x": nn.spec.Tensor([2, 4], "float32")}


class Two(nn.Module):
    def __init__(self) -> None:
        self.first = nn.Linear(4, 8)
        self.rest = nn.ModuleList([nn.ReLU(), nn.Linear(8, 3, bias=False)])

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return self.rest(self.first(x))


def test_export_has_the_parameters_in_order() -> None:
    mod, params = Two().export_tvm({"forward": X})
    names = ["first.weight", "first.bias", "rest.1.weight"]
    assert [name for name, _ in params] == names
    assert [one.name_hint for one in mod["forward"].params[1:]] == [
        one.replace(".", "_") for one in names
    ]
    assert mod["forward"].attrs["num_input"] == 1


def test_parameters_share_sizes_by_name() -> None:
    linear = nn.Linear(4, "n")
    mod, _ = linear.export_tvm({"forward": X})
    weight, bias = [one.struct_info.shape.values for one in mod["forward"].params[1:]]
    assert weight[0] is bias[0]


def test_load_state_dict_and_to() -> None:
    model = Two()
    model.to("float16")
    assert {one.dtype for one in model.parameters()} == {"float16"}
    given = {}
    for name, one in model.named_parameters():
        given[name] = nn.Parameter(one.shape, "float16")
        given[name].data = np.ones(one.shape, "float16")
    assert model.load_state_dict(given) == ([], [])
    assert model.first.weight.data.numpy().sum() == 32
    assert model.load_state_dict({}, strict=False)[0] == list(given)


def test_modules_of_lists_can_be_exchanged() -> None:
    model = Two()
    model.rest[0] = nn.SiLU()
    model.rest.append(nn.Identity())
    assert len(model.rest) == 3
    assert isinstance(model.rest[0], nn.SiLU)


def _filled() -> nn.Parameter:
    found = nn.Parameter([2])
    found.data = np.zeros(2, "float32")
    return found


VAR = relax.Var("x", relax.TensorStructInfo([2], "float32"))
UNKNOWN = relax.Var("x", relax.TensorStructInfo(dtype="float32", ndim=1))
SHAPE = relax.Var("s", relax.ShapeStructInfo([2]))


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: nn.op.relu(nn.Tensor(_expr=VAR)), "stands outside of a function"),
        (lambda: nn.Tensor(_expr=SHAPE), "a Tensor of s"),
        (lambda: nn.Tensor(_expr=UNKNOWN).shape, "the shape of x is not known"),
        (lambda: nn.IOEffect().finalize(), "the state of IOEffect is used outside of a function"),
        (lambda: sizes_of([1.5], {}), "the size of a tensor is 1.5"),
        (lambda: setattr(nn.Parameter([2]), "data", 3), "the values of a parameter are 3"),
        (lambda: setattr(nn.Parameter([2]), "data", np.zeros(3)), "have shape \\(3,\\)"),
        (lambda: _filled().to("float16"), "is changed to float16"),
        (lambda: nn.Object(_expr=VAR, _name="o"), "an Object of x"),
        (lambda: Two().load_state_dict({}), "do not fit the module"),
        (
            lambda: nn.Linear(1, 1, False).load_state_dict({"weight": nn.Parameter([1])}),
            "no values",
        ),
        (lambda: nn.Module()(1), "module Module has no forward|NNModule has no forward"),
    ],
)
def test_core_rejects(act, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        act()


def test_values_that_are_not_tensors_are_rejected() -> None:
    builder = relax.BlockBuilder()
    with builder.function("main", [SHAPE]):
        assert current_builder() is builder
        assert nn.wrap_nested(SHAPE, "n").value == 2
        two = relax.ShapeExpr([1, 2])
        with pytest.raises(GraphError, match="the value two of a model"):
            nn.wrap_nested(two, "two")
        builder.emit_func_output(SHAPE)


def test_externs_need_allow_extern() -> None:
    class Linked(nn.Module):
        def forward(self, x: nn.Tensor) -> nn.Tensor:
            nn.add_extern("a module")
            return x

    with pytest.raises(GraphError, match="has modules of compiled code"):
        Linked().export_tvm({"forward": X})
    assert Linked().export_tvm({"forward": X}, allow_extern=True)[2] == ["a module"]
    with pytest.raises(GraphError, match="outside of an export"):
        nn.add_extern("a module")


def test_dynamic_sizes_are_variables() -> None:
    n = tir.Var("n", "int64")
    mod, _ = nn.ReLU().export_tvm({"forward": {"x": nn.spec.Tensor([n, "m"], "float32")}})
    sizes = mod["forward"].ret_struct_info.shape.values
    assert sizes[0] is n
    assert sizes[1].name == "m"
