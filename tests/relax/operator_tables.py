"""Tables of calls of operators: their results beside a reference, and what inference says of them.

Arguments of calls are variables `x` of some struct info; N, M and K are symbolic sizes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from te_sched import nd, relax, tir
from te_sched.relax.operators.layouts import Plan
from te_sched.relax.operators.registry import operator_of

N, M, K = (tir.Var(name, "int64") for name in "nmk")
RNG = np.random.default_rng(0)
Variables = Mapping[str, Any]  # of the graph, or arrays, by the name of an array
# The call of variables, and the reference of arrays.
Case = tuple[Callable[[Variables], Any], Callable[[Variables], Any]]
Build = Callable[[], Any]  # of a call


def floats(*shape: int, low: float = -2, high: float = 2) -> Any:
    """Numbers of float32 between two others."""
    return RNG.uniform(low, high, shape).astype("float32")


def tensor(*shape: Any, dtype: str = "float32", device: Any = None) -> Any:
    """A tensor of known sizes."""
    return relax.Var("x", relax.TensorStructInfo(shape, dtype, device))


def ints(*shape: Any) -> Any:
    """A tensor of int64."""
    return tensor(*shape, dtype="int64")


def unknown(ndim: int = -1, dtype: str = "float32") -> Any:
    """A tensor of which at most the rank is known."""
    return relax.Var("x", relax.TensorStructInfo(None, dtype, None, ndim))


def number(dtype: str = "float32") -> Any:
    """A number."""
    return relax.Var("x", relax.PrimStructInfo(dtype))


def shape(*sizes: Any, ndim: int = -1) -> Any:
    """A shape: of known sizes, or of a rank."""
    return relax.Var("s", relax.ShapeStructInfo(sizes or None, -1 if sizes else ndim))


def inferred(call: Any) -> Any:
    """The struct info of a call."""
    return relax.BlockBuilder().normalize(call).struct_info


def followed(call: Any, *orders: Any) -> Plan | None:
    """How an operator writes a call of which arguments have other orders of dimensions."""
    inferred(call)
    layout = operator_of(call.op).layout
    assert layout is not None
    assert layout.follow is not None
    return layout.follow(call, list(orders))


def text_of(sizes: str, dtype: str = "float32") -> str:
    """The text of the struct info of a tensor of sizes."""
    return f'R.Tensor(({sizes}), dtype="{dtype}")'


def of_rank(ndim: int, dtype: str = "float32") -> str:
    """The text of the struct info of a tensor of which the rank is known."""
    return f'R.Tensor(dtype="{dtype}", ndim={ndim})'


UNKNOWN = 'R.Tensor(dtype="float32")'


def operators_of(module: ModuleType) -> set[str]:
    """The names of the operators that a module defines, as `relax.op` has them."""
    parts = (relax.op, *[getattr(relax.op, name) for name in ("nn", "grad", "image")])
    return {
        name
        for part in parts
        for name, value in vars(part).items()
        if getattr(value, "__module__", "") == module.__name__
    }


def inferred_calls() -> list[tuple[Build, str]]:
    """The rows `INFERRED` of all files of operators: calls, and the texts of what they give."""
    rows: list[tuple[Build, str]] = []
    for path in sorted((Path(__file__).parent / "operators").glob("test_*.py")):
        with suppress(pytest.skip.Exception):  # without torch
            module = importlib.import_module(f"tests.relax.operators.{path.stem}")
            rows += getattr(module, "INFERRED", ())
    return rows


class Results:
    """The results of a table of calls, which one executable computes when the first is asked for.

    Parameters
    ----------
    sizes : the symbolic shapes of arrays, others have constant ones.
    convert : arrays as what the references take.
    is_exact : whether rules of builds are used, in place of those of `LegalizeOps`.
    target, device : what computes them.
    """

    def __init__(
        self,
        arrays: Mapping[str, Any],
        cases: Mapping[str, Case],
        sizes: Mapping[str, Any] | None = None,
        convert: Callable[[Any], Any] = np.asarray,
        is_exact: bool = True,
        target: str = "llvm -opt-level=0",
        device: Any = None,
    ) -> None:
        self.arrays, self.cases, self.is_exact = arrays, cases, is_exact
        self.sizes = sizes or {}
        self.convert, self.target, self.device = convert, target, device

    def __iter__(self) -> Iterator[str]:
        return iter(self.cases)

    def check(self, name: str) -> None:
        """Compare the result of a case with its reference."""
        arrays = {key: self.convert(array) for key, array in self.arrays.items()}
        expected = self.cases[name][1](arrays)
        pairs = zip(_several(self.values[name]), _several(expected), strict=True)
        for value, reference in pairs:
            assert value.shape == tuple(np.shape(reference))
            assert value.dtype.kind == np.asarray(reference).dtype.kind
            tolerance = 5e-3 if value.dtype == "float16" else 2e-5
            np.testing.assert_allclose(value, reference, tolerance, tolerance / 10)

    def operators(self) -> set[str]:
        """The first words of the names: the operators that are run."""
        return {name.split()[0] for name in self.cases}

    def of_each_operator(self, target: str, device: Any) -> Results:
        """The table of the first case of each operator, computed elsewhere."""
        first = {name.split()[0]: name for name in reversed(self.cases)}
        cases = {name: self.cases[name] for name in self.cases if name in first.values()}
        options = (self.sizes, self.convert, self.is_exact, target, device)
        return Results(self.arrays, cases, *options)

    def module(self) -> Any:
        """The module of a function that computes all cases."""
        variables = {
            name: relax.Var(
                name,
                relax.TensorStructInfo(self.sizes.get(name, list(array.shape)), str(array.dtype)),
            )
            for name, array in self.arrays.items()
        }
        builder = relax.BlockBuilder()
        with builder.function("main", list(variables.values())):
            calls = [builder.emit(build(variables)) for build, _ in self.cases.values()]
            builder.emit_func_output(relax.Tuple(tuple(calls)))
        return builder.get()

    @cached_property
    def values(self) -> dict[str, Any]:
        """The results as arrays, or lists of them."""
        module = self.module()
        if not self.is_exact:
            module = relax.transform.LegalizeOps()(module)
        machine = relax.VirtualMachine(relax.build(module, self.target), self.device or nd.cpu())
        results = machine["main"](*[nd.array(x, self.device) for x in self.arrays.values()])
        return dict(zip(self.cases, map(_numpy, results), strict=True))


def _numpy(value: Any) -> Any:
    return value.numpy() if hasattr(value, "numpy") else [_numpy(field) for field in value]


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
