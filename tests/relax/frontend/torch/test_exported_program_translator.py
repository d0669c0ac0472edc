"""Exported programs of torch: decompositions, parameters, views that change, open sizes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from te_sched import arith
from te_sched.errors import GraphError
from te_sched.relax.frontend import detach_params
from te_sched.relax.frontend.torch import from_exported_program
from tests.relax.frontend.torch.torch_models import check, imported, model_of, results_of

torch = pytest.importorskip("torch")
F = torch.nn.functional

X = torch.rand(2, 4) - 0.5


def test_programs_are_decomposed_in_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def function(x: Any) -> Any:
        x = x.clone()
        x.reshape(-1)[1:] *= 2  # which changes a view, if reshape does not copy
        return torch.logaddexp(x, x + 1)

    program = torch.export.export(model_of(function, 1), (X,))
    run_all, runs = type(program).run_decompositions, []

    def counted(self: Any, table: Any) -> Any:
        runs.append(table)
        return run_all(self, table)

    monkeypatch.setattr(type(program), "run_decompositions", counted)
    (result,) = results_of(from_exported_program(program), (X,))
    np.testing.assert_allclose(result, function(X).numpy(), rtol=1e-5)
    assert len(runs) == 1


def test_operators_that_change_a_view() -> None:
    def changed(x: Any) -> Any:
        y = x * 2
        y[:, 0].add_(1.0)
        z = y.relu_()
        return z + y

    check(changed, X)


def test_parameters_are_kept() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))
    program = torch.export.export(model, (X,))
    module, params = detach_params(from_exported_program(program, keep_params_as_input=True))
    values = [torch.from_numpy(value.numpy()) for value in params["main"]]
    assert [value.shape for value in values] == [p.shape for p in model.parameters()]
    (result,) = results_of(module, (X, *values))
    np.testing.assert_allclose(result, model(X).detach().numpy(), rtol=1e-5)


def test_open_sizes_are_variables() -> None:
    batch = torch.export.Dim("batch")
    model = model_of(lambda x: x.reshape(-1, 2), 1)
    program = torch.export.export(model, (X,), dynamic_shapes=({0: batch},))
    main = from_exported_program(program, unwrap_unit_return_tuple=True)["main"]
    size = main.params[0].struct_info.shape.values[0]
    rows, columns = main.ret_struct_info.shape.values
    assert arith.Analyzer().can_prove_equal(rows, size * 2)
    assert columns == 2


def test_all_unsupported_operators_are_listed() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            y = torch.special.airy_ai(x) + torch.special.bessel_j0(x)
            return y + torch.special.airy_ai(x + 1)

    program = torch.export.export(Model(), (torch.rand(2, 2),))
    names = r"aten\.special_airy_ai\.default, prims\.bessel_j0\.default"
    with pytest.raises(GraphError, match=f"2 operators are not supported: {names}") as caught:
        from_exported_program(program)
    place = r"airy_ai \(File .*test_exported_program_translator\.py\", line \d+, in forward: y ="
    assert re.search(place, str(caught.value))


def test_programs_without_values_are_rejected() -> None:
    program = torch.export.export(torch.nn.Linear(4, 3), (X,))
    program.state_dict.clear()
    with pytest.raises(GraphError, match="has no values for weight"):
        from_exported_program(program)


def test_models_are_exported_first() -> None:
    with pytest.raises(GraphError, match="expected an exported program"):
        from_exported_program(torch.nn.Linear(3, 4))


def test_complex_inputs_are_rejected() -> None:
    with pytest.raises(GraphError, match="input x has dtype complex64"):
        imported(lambda x: x.abs(), (torch.ones(2, dtype=torch.complex64),))
