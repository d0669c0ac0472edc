"""Functions of torch as models: imported, run, and compared with torch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
from te_sched.ir.structural import structural_equal
from te_sched.relax.frontend.torch import from_exported_program, from_fx

torch = pytest.importorskip("torch")

Function = Callable[..., Any]
BOTH = ("fx", "exported")


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


def model_of(function: Function, count: int) -> Model:
    """The module of a function of a number of tensors."""
    return (Model1, Model2, Model3, Model4)[count - 1](function)


def traced(function: Function, *infos: Any) -> Any:
    """The module of a function that `torch.fx` traces, of inputs of these shapes and dtypes."""
    return from_fx(torch.fx.symbolic_trace(model_of(function, len(infos))), infos)


def infos_of(*args: Any) -> list[tuple[tuple[int, ...], str]]:
    """The shapes and dtypes of tensors."""
    return [(tuple(x.shape), str(x.dtype).removeprefix("torch.")) for x in args]


def imported(function: Function, args: tuple[Any, ...], importer: str = "exported") -> Any:
    """The module of a function: by "exported", "decomposed" (in core ATen), "dynamic" (all sizes
    are variables) or "fx".
    """
    if importer == "fx":
        return traced(function, *infos_of(*args))
    options = {}
    if importer == "dynamic":
        auto = torch.export.Dim.AUTO
        options["dynamic_shapes"] = tuple(dict.fromkeys(range(x.ndim), auto) for x in args)
    program = torch.export.export(model_of(function, len(args)), args, **options)
    return from_exported_program(
        program.run_decompositions() if importer == "decomposed" else program
    )


def results_of(module: Any, args: tuple[Any, ...]) -> list[Any]:
    """The arrays that a module returns, in one list."""
    return _results(_machine(module), "main", args)


def _machine(module: Any) -> Any:
    return relax.VirtualMachine(relax.build(module, "llvm -opt-level=0"), te_sched.cpu())


def _results(machine: Any, name: str, args: tuple[Any, ...]) -> list[Any]:
    return _flat(machine[name](*[nd.array(x.numpy()) for x in args]))


def _flat(result: Any) -> list[Any]:
    if hasattr(result, "numpy"):
        return [result.numpy()]
    return [array for part in result for array in _flat(part)]


def check(
    function: Function,
    *args: Any,
    importers: Sequence[str] = ("exported",),
    rtol: float = 1e-5,
    atol: float = 1e-6,
    others: Sequence[tuple[Any, ...]] = (),
) -> None:
    """The results of a function have torch's values, shapes and dtypes, also those of calls with
    other arguments.

    The programs of several importers are built as one, in which they share their kernels.
    """
    machine = _machine(_joined({name: imported(function, args, name) for name in importers}))
    for call, name in itertools.product((args, *others), importers):
        expected = _flat(function(*[x.clone() for x in call]))
        pairs = zip(_results(machine, name, call), expected, strict=True)
        for number, (result, wanted) in enumerate(pairs):
            place = f"result {number} of {name}"
            assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype), place
            np.testing.assert_allclose(result, wanted, rtol, atol, err_msg=place)


def _joined(modules: Mapping[str, Any]) -> Any:
    """One module with the main functions of several, by names; other functions are shared."""
    functions: dict[str, Any] = {}
    for name, module in modules.items():
        for own_name, function in module.functions_items():
            if str(own_name) == "main":
                functions[name] = function.with_attr("global_symbol", name)
            else:
                shared = functions.setdefault(str(own_name), function)
                assert structural_equal(shared, function), f"two functions {own_name}"
    return te_sched.IRModule(functions)
