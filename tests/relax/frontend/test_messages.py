"""Errors name the user's model: its line in PyTorch, its node in ONNX, also when a graph runs."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import relax
from te_sched.errors import ArgumentError, GraphError
from te_sched.relax.frontend.onnx import from_onnx
from te_sched.relax.frontend.torch import from_exported_program
from te_sched.script import relax as R


def onnx_model(kind: str, names: str, shapes: dict[str, list], **constants: np.ndarray):
    onnx = pytest.importorskip("onnx")
    helper, tensor = onnx.helper, onnx.TensorProto.FLOAT
    inputs = [helper.make_tensor_value_info(name, tensor, shape) for name, shape in shapes.items()]
    node = helper.make_node(kind, names.split(), ["result"], name="/encoder/node")
    values = [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()]
    result = helper.make_tensor_value_info("result", tensor, None)
    graph = helper.make_graph([node], "g", inputs, [result], values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


@pytest.mark.parametrize(
    ("model", "sizes", "operator"),
    [
        (("Reshape", "x s", {"x": ["n", 4]}), [(5, 4)], "relax.reshape"),
        (("Add", "x y", {"x": ["n", 6], "y": ["m", 6]}), [(2, 6), (4, 6)], "R.match_cast"),
    ],
)
def test_errors_of_calls_name_the_node(model: tuple, sizes: list, operator: str) -> None:
    module = from_onnx(onnx_model(*model, s=np.array([-1, 6])))
    machine = relax.VirtualMachine(relax.build(module, "llvm"))
    where = rf"operator {operator} \(called at node /encoder/node\)"
    with pytest.raises(ArgumentError, match=where):
        machine["main"](*[np.zeros(shape, "float32") for shape in sizes])


def test_errors_of_calls_name_the_line_of_a_cast() -> None:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        y = R.match_cast(x, R.Tensor((4,), "float32"))
        return y

    machine = relax.VirtualMachine(relax.build(main, "llvm"))
    line = test_errors_of_calls_name_the_line_of_a_cast.__code__.co_firstlineno + 3
    where = rf"operator R.match_cast \(called at .*test_messages.py:{line}\)"
    with pytest.raises(ArgumentError, match=where):
        machine["main"](np.zeros(5, "float32"))


def test_errors_of_calls_name_the_line_of_pytorch() -> None:
    torch = pytest.importorskip("torch")

    class Model(torch.nn.Module):
        def forward(self, x):
            return x.reshape(-1, 6)

    size = torch.export.Dim("n", min=3, max=30)
    program = torch.export.export(
        Model(), (torch.zeros(12, 4),), dynamic_shapes=({0: 3 * size},), strict=False
    )
    machine = relax.VirtualMachine(relax.build(from_exported_program(program), "llvm"))
    assert machine["main"](np.zeros((9, 4), "float32"))[0].shape == (6, 6)
    line = Model.forward.__code__.co_firstlineno + 1
    where = rf"operator relax.reshape \(called at .*test_messages.py:{line}\)"
    with pytest.raises(ArgumentError, match=where):
        machine["main"](np.zeros((10, 4), "float32"))


def test_unsupported_operators_are_shown_as_they_are_written() -> None:
    torch = pytest.importorskip("torch")

    class Model(torch.nn.Module):
        def forward(self, x):
            y = torch.special.airy_ai(x)
            return y + torch.special.scaled_modified_bessel_k0(x)

    program = torch.export.export(Model(), (torch.ones(3),))
    with pytest.raises(GraphError, match="2 operators are not supported") as caught:
        from_exported_program(program)
    assert "in forward: y = torch.special.airy_ai(x)" in str(caught.value)
    assert "in forward: return y + torch.special.scaled_modified" in str(caught.value)


def test_errors_of_decompositions_are_those_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")

    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.special.airy_ai(x)

    def fails(self, *arguments: object) -> None:
        raise AssertionError("expected a fake tensor\nmore of it")

    program = torch.export.export(Model(), (torch.ones(3),))
    monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", fails)
    with pytest.raises(GraphError, match="AssertionError of run_decompositions: expected a fake"):
        from_exported_program(program)
