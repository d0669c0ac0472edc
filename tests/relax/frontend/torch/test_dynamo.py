"""Graphs of calls of `torch.compile`: collected, or built by a backend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from te_sched.relax.frontend import detach_params
from te_sched.relax.frontend.torch import dynamo_capture_subgraphs, relax_dynamo
from tests.relax.frontend.torch.torch_models import results_of

torch = pytest.importorskip("torch")

X = torch.rand(2, 4)
MODEL = torch.nn.Linear(4, 3)


@pytest.fixture(autouse=True)
def _no_graphs_of_others() -> Iterator[None]:
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def names_of(module: Any) -> list[str]:
    return [str(name) for name, _ in module.functions_items()]


def test_a_graph_of_a_layer() -> None:
    module = dynamo_capture_subgraphs(MODEL, X)
    function = module["subgraph_0"]
    assert [str(x) for x in function.params] == ["inp_0"]
    assert str(function.ret_struct_info) == 'R.Tensor((2, 3), dtype="float32")'


def test_parameters_follow_the_inputs() -> None:
    module, params = detach_params(dynamo_capture_subgraphs(MODEL, X, keep_params_as_input=True))
    function = module["subgraph_0"]
    assert function.attrs["num_input"] == 1
    values = [value.numpy() for value in params["subgraph_0"]]
    expected = [param.detach().numpy() for param in MODEL.parameters()]
    for value, wanted in zip(values, expected, strict=True):
        np.testing.assert_array_equal(value, wanted)


def test_graphs_between_statements_of_python() -> None:
    def function(x: Any, *, scale: float) -> Any:
        y = x * scale
        torch._dynamo.graph_break()
        return y + 1

    module = dynamo_capture_subgraphs(function, X, scale=2.0)
    assert names_of(module) == ["subgraph_0", "subgraph_1"]
    main = {"main": module["subgraph_0"].with_attr("global_symbol", "main")}
    (result,) = results_of(type(module)(main), (X,))
    np.testing.assert_allclose(result, 2 * X.numpy())


def test_the_backend_builds_graphs_and_refuses_others() -> None:
    compiled = torch.compile(lambda x: x.exp() + 1, backend=relax_dynamo())
    np.testing.assert_allclose(compiled(X).numpy(), X.exp().numpy() + 1, rtol=1e-5)
    refused = torch.compile(lambda x: torch.special.bessel_j0(x), backend=relax_dynamo())
    with pytest.raises(Exception, match=r"1 operator is not supported: .*bessel_j0"):
        refused(X)
