"""What methods are called with."""

from __future__ import annotations

import pytest

from te_sched.errors import GraphError
from te_sched.relax.frontend import nn
from te_sched.relax.frontend.nn import spec


class Shaped:
    """What has a shape and dtype, as a tensor of torch."""

    shape = (2, 3)
    dtype = "torch.float16"


def test_specs_of_values() -> None:
    method = spec.MethodSpec.from_torch([Shaped(), [1, Shaped()]], lambda x, y: x)
    assert (
        str(method) == "<lambda>(x: Tensor([2, 3], 'float16'), y: [int, Tensor([2, 3], 'float16')])"
    )
    made = spec.ModuleSpec.from_raw({"forward": {"x": spec.Tensor([1], "int8")}}, nn.ReLU())
    assert str(made) == "ModuleSpec:\n  forward(x: Tensor([1], 'int8'))"
    assert spec.ModuleSpec.from_raw(made, nn.ReLU()) is made
    assert spec.MethodSpec.from_raw(method, len) is method


def test_arguments_are_in_the_order_of_the_method() -> None:
    class Sub(nn.Module):
        def forward(self, a: nn.Tensor, b: nn.Tensor) -> nn.Tensor:
            return a - b

    kind = spec.Tensor([1], "float32")
    mod, _ = Sub().export_tvm({"forward": {"b": kind, "a": kind}})
    assert [one.name_hint for one in mod["forward"].params] == ["a", "b"]


T = spec.Tensor([1], "float32")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"forward": {"x": 3}}, "argument x is 3"),
        ({"forward": 3}, "the spec of a method is 3"),
        ({"forward": {"y": T}}, "does not fit its arguments: y, x"),
        ({"forward": {}}, "does not fit its arguments: x"),
        ({"forward": {"x": T, "$": {"param_mode": "some"}}}, "the mode 'some'"),
        (3, "the spec of a module is 3"),
        ({"backward": {"x": T}}, "module ReLU has no method backward"),
    ],
)
def test_spec_rejects(given, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        nn.ReLU().export_tvm(given)


def test_values_without_shape_are_rejected() -> None:
    with pytest.raises(GraphError, match="argument x is 'a'"):
        spec.MethodSpec.from_torch(["a"], lambda x: x)
