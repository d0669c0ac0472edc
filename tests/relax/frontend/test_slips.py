"""What a newcomer does wrong with importers and modules: the error says what to do instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import relax
from te_sched.errors import CallError, GraphError, TeSchedError
from te_sched.relax.frontend import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return self.fc(x)


class Summed(Net):
    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return x.sum()  # type: ignore[no-any-return,attr-defined]


X = nn.spec.Tensor([2, 8], "float32")
SPEC = {"forward": {"x": X}}


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"forward": {"x": (2, 8)}}, r"argument x is \(2, 8\), expected the spec of a value"),
        ({"x": X}, r'no method x\n(.|\n)*name the method first: {"forward": {"x"'),
        ({"forwad": {"x": X}}, "no method forwad(.|\n)*did you mean 'forward'"),
    ],
)
def test_specs(spec: Any, text: str) -> None:
    with pytest.raises(GraphError, match=text):
        Net().export_tvm(spec)


def test_attributes_of_tensors_lead_to_operations() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'sum'(.|\n)*use nn\.op\.sum\(x\)"):
        Summed().export_tvm(SPEC)
    x = nn.Tensor.placeholder([2], "float32")
    assert not hasattr(x, "nonsense")
    with pytest.raises(AttributeError, match=r"'nn.Tensor' object has no attribute 'nonsense'"):
        _ = x.nonsense  # type: ignore[attr-defined]


def test_what_export_returns_is_not_a_module() -> None:
    with pytest.raises(GraphError, match=r"give the module alone: module, params = "):
        relax.build(Net().export_tvm(SPEC), "llvm")


def test_machines_and_modules_are_indexed() -> None:
    module, _ = Net().export_tvm(SPEC)
    machine = relax.VirtualMachine(relax.build(module, "llvm"))
    with pytest.raises(CallError, match=r"not a function(.|\n)*machine\['forward'\]"):
        machine(np.zeros((2, 8), "float32"))
    with pytest.raises(AttributeError, match=r"no attribute 'run'(.|\n)*machine\['forward'\]\(x\)"):
        _ = machine.run
    with pytest.raises(TeSchedError, match=r"argument name of VirtualMachine\[\.\.\.\] is 0"):
        machine[0]
    with pytest.raises(
        AttributeError, match=r"no attribute 'forward'(.|\n)*use module\['forward'\]"
    ):
        _ = module.forward
    with pytest.raises(AttributeError, match=r"no attribute 'shwo'(.|\n)*did you mean 'show'\?"):
        _ = module.shwo


def test_a_dtype_is_not_a_shape() -> None:
    with pytest.raises(TeSchedError, match="the shape of TensorStructInfo is 'float32'"):
        relax.TensorStructInfo("float32", [2])  # type: ignore[arg-type]


def _onnx_model() -> Any:
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    info = [helper.make_tensor_value_info(name, kind, ["n", 4]) for name in "xy"]
    node = helper.make_node("Relu", ["x"], ["y"])
    graph = helper.make_graph([node], "g", info[:1], info[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


ONNX: list[tuple[dict[str, Any], str]] = [
    ({"shape_dict": {"z": [1, 4]}}, "shape_dict has 'z', which is not an input(.|\n)*inputs are x"),
    ({"shape_dict": {"x": [1, 4, 5]}}, "input x has 3 sizes, expected 2"),
    ({"shape_dict": {"x": "14"}}, "the shape of input x is '14'"),
    ({"dtype_dict": {"X": "int8"}}, "dtype_dict has 'X'(.|\n)*did you mean 'x'"),
    ({"dtype_dict": "flot32"}, "unknown data type 'flot32'"),
]


@pytest.mark.parametrize(("options", "text"), ONNX)
def test_from_onnx_refuses_options_that_do_not_fit(options: dict[str, Any], text: str) -> None:
    with pytest.raises(TeSchedError, match=text):
        relax.frontend.onnx.from_onnx(_onnx_model(), **options)


def test_from_onnx_takes_shapes_of_inputs() -> None:
    module = relax.frontend.onnx.from_onnx(_onnx_model(), shape_dict={"x": [3, 4]})
    assert "R.Tensor((3, 4)" in str(module["main"].params[0].struct_info)


def test_from_onnx_needs_a_model() -> None:
    pytest.importorskip("onnx")
    with pytest.raises(GraphError, match=r"is 'model.onnx', expected an onnx\.ModelProto"):
        relax.frontend.onnx.from_onnx("model.onnx")


def _traced(input_info: Any) -> Callable[[], Any]:
    torch = pytest.importorskip("torch")
    model = torch.fx.symbolic_trace(torch.nn.ReLU())
    return lambda: relax.frontend.torch.from_fx(model, input_info)


def test_from_fx_needs_a_shape_and_a_dtype() -> None:
    with pytest.raises(GraphError, match=r"input 0 is \(2, 8\), expected a shape and a dtype"):
        _traced([(2, 8)])()


def test_tensors_that_need_a_gradient_are_detached() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(CallError, match=r"requires a gradient\n +help: pass x\.detach\(\)"):
        te_sched.nd.from_dlpack(torch.zeros(2, requires_grad=True))
