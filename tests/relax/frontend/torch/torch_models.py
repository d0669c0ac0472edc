"""Functions of torch as models: imported, run, and compared with torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
from te_sched.relax.frontend.torch import from_exported_program, from_fx

torch = pytest.importorskip("torch")

Function = Callable[..., Any]


class Model(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function


class Model1(Model):
    def forward(self, x: Any) -> Any:
        return self.function(x)


class Model2(Model):
    def forward(self, x: Any, y: Any) -> Any:
        return self.function(x, y)


class Model3(Model):
    def forward(self, x: Any, y: Any, z: Any) -> Any:
        return self.function(x, y, z)


class Model4(Model):
    def forward(self, x: Any, y: Any, z: Any, w: Any) -> Any:
        return self.function(x, y, z, w)


def imported(function: Function, args: tuple[Any, ...], importer: str = "exported") -> Any:
    """The module of a function: by "exported", "dynamic" (all sizes are variables) or "fx"."""
    model = (Model1, Model2, Model3, Model4)[len(args) - 1](function)
    if importer == "fx":
        infos = [(tuple(x.shape), str(x.dtype).removeprefix("torch.")) for x in args]
        return from_fx(torch.fx.symbolic_trace(model), infos)
    options = {}
    if importer == "dynamic":
        auto = torch.export.Dim.AUTO
        options["dynamic_shapes"] = tuple(dict.fromkeys(range(x.ndim), auto) for x in args)
    return from_exported_program(torch.export.export(model, args, **options))


def results_of(module: Any, args: tuple[Any, ...]) -> list[Any]:
    """The arrays that a module returns, in one list."""
    machine = relax.VirtualMachine(relax.build(module, "llvm -opt-level=0"), te_sched.cpu())
    return _flat(machine["main"](*[nd.array(x.numpy()) for x in args]))


def _flat(result: Any) -> list[Any]:
    if hasattr(result, "numpy"):
        return [result.numpy()]
    return [array for part in result for array in _flat(part)]


def check(
    function: Function,
    *args: Any,
    importer: str = "exported",
    rtol: float = 1e-5,
    atol: float = 1e-6,
) -> None:
    """The results of a function have torch's values, shapes and dtypes."""
    expected = _flat(function(*[x.clone() for x in args]))
    results = results_of(imported(function, args, importer), args)
    for result, wanted in zip(results, expected, strict=True):
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(result, wanted, rtol, atol)
