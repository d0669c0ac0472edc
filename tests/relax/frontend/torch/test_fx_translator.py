"""Modules that `torch.fx` has traced: their inputs, parameters and layers; views that change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.errors import GraphError
from te_sched.relax.frontend import detach_params
from te_sched.relax.frontend.torch import from_fx
from tests.relax.frontend.torch.torch_models import check, infos_of, results_of, traced

torch = pytest.importorskip("torch")
F = torch.nn.functional

X = torch.rand(2, 3) - 0.5


def test_operators_that_change_a_tensor() -> None:
    def changed(x: Any) -> Any:
        y = x * 2
        y.add_(1.0)
        return F.relu(y, inplace=True) + y

    check(changed, X, importers=["fx"])


def test_layers_that_change_a_tensor() -> None:
    layer = torch.nn.ReLU(inplace=True)

    class Residual(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any) -> Any:
            y = x * 2
            return self.layer(y) + y

    (result,) = results_of(from_fx(torch.fx.symbolic_trace(Residual()), infos_of(X)), (X,))
    np.testing.assert_allclose(result, Residual()(X).numpy())


def test_a_view_of_a_changed_tensor_is_refused() -> None:
    def shared(x: Any) -> Any:
        y = x * 2
        row = y[0]
        y.add_(1.0)
        return row

    with pytest.raises(GraphError, match="getitem is used after add_ has changed its memory"):
        traced(shared, *infos_of(X))


def test_parameters_are_kept() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    graph = torch.fx.symbolic_trace(model)
    module, params = detach_params(from_fx(graph, infos_of(X), keep_params_as_input=True))
    assert [str(x.name_hint) for x in module["main"].params] == [
        *("inp_0", "0_bias", "0_weight", "1_bias", "1_weight")
    ]
    values = [torch.from_numpy(value.numpy()) for value in params["main"]]
    (result,) = results_of(module, (X, *values))
    np.testing.assert_allclose(result, model(X).detach().numpy(), rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "R.Tuple(R.Tensor((2, 3)"),
        ({"unwrap_unit_return_tuple": True}, "R.Tensor((2, 3)"),
    ],
)
def test_results_of_one_value(options: dict[str, bool], text: str) -> None:
    graph = torch.fx.symbolic_trace(lambda x: (torch.exp(x),))
    module = from_fx(graph, infos_of(X), **options)
    assert str(module["main"].ret_struct_info).startswith(text)


def test_all_unsupported_layers_are_listed() -> None:
    model = torch.nn.Sequential(torch.nn.GLU(), torch.nn.GLU(), torch.nn.CELU())
    message = r"2 operators are not supported: torch\.nn\.GLU, torch\.nn\.CELU"
    with pytest.raises(GraphError, match=message):
        from_fx(torch.fx.symbolic_trace(model), [((2, 8), "float32")])


@pytest.mark.parametrize(
    ("infos", "message"),
    [([], "the model has 1 inputs, got shapes of 0"), ([(2, 3)], r"input 0 is \(2, 3\)")],
)
def test_inputs_are_rejected(infos: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        from_fx(torch.fx.symbolic_trace(lambda x: torch.relu(x)), infos)


def test_inputs_without_a_use_have_no_shape() -> None:
    graph = torch.fx.symbolic_trace(lambda x, y=2: torch.exp(x))
    assert len(from_fx(graph, infos_of(X))["main"].params) == 1


def test_models_are_traced_first() -> None:
    with pytest.raises(GraphError, match=r"expected a torch\.fx\.GraphModule"):
        from_fx(torch.nn.Linear(3, 4), [((2, 3), "float32")])


def test_layers_in_training_mode_are_imported_for_inference() -> None:
    graph = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.BatchNorm1d(3)).train())
    with pytest.warns(UserWarning, match="0 of the model: in training mode"):
        from_fx(graph, infos_of(X))
