"""Keywords of torch's functions and methods; whatever goes wrong in a rule is one GraphError."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
from te_sched.errors import GraphError
from te_sched.relax.frontend.torch import from_exported_program, from_fx

torch = pytest.importorskip("torch")
F = torch.nn.functional

X, Y = torch.rand(3, 4, 5) - 0.5, torch.rand(3, 4, 5)
A, B, C = torch.rand(2, 4), torch.rand(2, 3), torch.rand(3, 4)

CASES: dict[str, tuple[Any, ...]] = {
    "sum axis": (lambda x: torch.sum(x, axis=1), X),
    "sum input": (lambda x: torch.sum(input=x, dim=1, keepdim=True), X),
    "mean": (lambda x: x.mean(axis=(0, 2)), X),
    "amax": (lambda x: torch.amax(input=x, dim=(0, 1)), X),
    "argmax": (lambda x: torch.argmax(input=x, dim=1), X),
    "softmax": (lambda x: torch.softmax(input=x, dim=1), X),
    "functional softmax": (lambda x: F.softmax(input=x, dim=1), X),
    "relu": (lambda x: torch.relu(input=F.relu(input=x)), X),
    "add": (lambda x, y: torch.add(input=x, other=y, alpha=2), X, Y),
    "method": (lambda x, y: x.mul(other=y), X, Y),
    "cat": (lambda x, y: torch.cat(tensors=[x, y], axis=1), X, Y),
    "stack": (lambda x, y: torch.stack(tensors=(x, y), dim=-1), X, Y),
    "permute": (lambda x: torch.permute(input=x, dims=(0, 2, 1)), X),
    "method permute": (lambda x: x.permute(dims=(0, 2, 1)), X),
    "reshape": (lambda x: torch.reshape(input=x, shape=(3, 20)), X),
    "view": (lambda x: x.view(size=(3, 20)), X),
    "transpose": (lambda x: torch.transpose(x, dim0=1, dim1=2), X),
    "flip": (lambda x: torch.flip(x, dims=(1,)), X),
    "roll": (lambda x: torch.roll(input=x, shifts=1, dims=1), X),
    "repeat": (lambda x: x.repeat(repeats=(1, 2, 1)), X),
    "where": (lambda x, y: torch.where(condition=x > 0, input=x, other=y), X, Y),
    "clamp": (lambda x: torch.clamp(input=x, max=0.2), X),
    "addmm": (lambda a, b, c: torch.addmm(input=a, mat1=b, mat2=c, beta=2), A, B, C),
    "linear": (lambda a, b: F.linear(input=a, weight=b), B, C.T.contiguous()),
    "split": (lambda x: torch.split(tensor=x, split_size_or_sections=2, dim=1)[0], X),
    "unbiased": (lambda x: torch.var(x, axis=1, unbiased=False), X),
    "einsum": (lambda x, y: torch.einsum("...ij,...kj->...ik", x, y), X, Y),
    "einsum of one": (lambda x, y: torch.einsum("...ij,...j", x, y), X, Y[:, :1]),
}


def traced(function: Any, *args: Any) -> Any:
    names = ", ".join("abc"[: len(args)])
    scope = {"function": function}
    exec(f"def forward({names}): return function({names})", scope)
    infos = [(tuple(one.shape), "float32") for one in args]
    return from_fx(torch.fx.symbolic_trace(scope["forward"]), infos)


@pytest.mark.parametrize("name", CASES)
def test_keywords(name: str) -> None:
    function, *args = CASES[name]
    executable = relax.build(traced(function, *args), "llvm -opt-level=0")
    machine = relax.VirtualMachine(executable, te_sched.cpu())
    found = machine["main"](*[nd.array(one.numpy()) for one in args]).numpy()
    expected = function(*args).numpy()
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


def test_a_result_is_written_where_out_says() -> None:
    def function(x: Any, y: Any) -> Any:
        z = x * 2
        torch.add(x, y, out=z)
        return z

    machine = relax.VirtualMachine(relax.build(traced(function, X, Y), "llvm"), te_sched.cpu())
    found = machine["main"](nd.array(X.numpy()), nd.array(Y.numpy())).numpy()
    np.testing.assert_allclose(found, (X + Y).numpy(), 1e-5)


def test_keywords_of_modules() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.act = torch.nn.Linear(5, 2), torch.nn.ReLU()

        def forward(self, x: Any) -> Any:
            return self.act(input=self.linear(input=x))

    model = Model().eval()
    module = from_fx(torch.fx.symbolic_trace(model), [((3, 4, 5), "float32")])
    machine = relax.VirtualMachine(relax.build(module, "llvm"), te_sched.cpu())
    found = machine["main"](nd.array(X.numpy())).numpy()
    np.testing.assert_allclose(found, model(X).detach().numpy(), 1e-4, 1e-5)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x.transpose(5, 9), "cannot import Tensor.transpose: its arguments are not"),
        (lambda x: x.sum(dim="rows"), "cannot import Tensor.sum: "),
        (lambda x: torch.cat(x), "cannot import torch.cat: "),
        (lambda x: x[1.5], "cannot import _operator.getitem: "),
        (lambda x: x.permute(), "cannot import Tensor.permute: "),
        (lambda x: x.reshape("a"), "cannot import Tensor.reshape: "),
        (lambda x: x.cumsum(1, places=3), "argument places is not supported"),
        (lambda x: torch.flatten(x, 2, 1), "start_dim is 2 and end_dim is 1, of 3 dimensions"),
        (lambda x: torch.flatten(x, 0, 7), "a tensor of 3 dimensions has no dimension 7"),
    ],
)
def test_a_rule_that_fails_is_one_error_of_the_importer(function: Any, text: str) -> None:
    with pytest.raises(GraphError, match=text) as error:
        traced(function, X)
    assert error.value.where


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: (x + 1, None), "output 1 of the model is None"),
        (lambda x: {"a": x, "b": (x, None)}, r"output b\[1\] of the model is None"),
        (lambda x: None, "the output of the model is None"),
    ],
)
def test_results_that_are_not_tensors_are_refused(function: Any, text: str) -> None:
    with pytest.raises(GraphError, match=text):
        traced(function, X)


def test_results_of_exported_programs_that_are_not_tensors_are_refused() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x + 1, None

    with pytest.raises(GraphError, match="output 1 of the model is None"):
        from_exported_program(torch.export.export(Model(), (X,)))
