"""Calls of operators, built in one module and run, for tables of tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from te_sched import nd, relax

# A name, the call of variables by name, and the reference of arrays by name.
Case = tuple[str, Callable[..., Any], Callable[..., Any]]


def run_cases(
    cases: Sequence[Case], arrays: Mapping[str, Any], sizes: Mapping[str, Any]
) -> dict[str, Any]:
    """The result of each case, from one executable; `sizes` are the symbolic shapes of arrays."""
    variables = {
        name: relax.Var(
            name, relax.TensorStructInfo(sizes.get(name, list(array.shape)), str(array.dtype))
        )
        for name, array in arrays.items()
    }
    builder = relax.BlockBuilder()
    with builder.function("main", list(variables.values())):
        values = [builder.emit(build(variables)) for _, build, _ in cases]
        builder.emit_func_output(relax.Tuple(tuple(values)))
    module = relax.transform.LegalizeOps()(builder.get())
    machine = relax.VirtualMachine(relax.build(module, "llvm -opt-level=0"), nd.cpu())
    found = machine["main"](*[nd.array(array) for array in arrays.values()])
    return {name: _numpy(one) for (name, _, _), one in zip(cases, found, strict=True)}


def _numpy(value: Any) -> Any:
    return value.numpy() if hasattr(value, "numpy") else [_numpy(one) for one in value]
