"""Graphs that tables of libraries partition."""

from __future__ import annotations

import re
from typing import Any

from te_sched import relax, tir
from te_sched.ir.stmt import IRModule

A, B = tir.Var("a", "int64"), tir.Var("b", "int64")


Build = Any


def composites_of(mod: IRModule) -> list[str]:
    return re.findall(r'"Composite": "([^"]+)"', mod.script())


def module_of(infos: dict[str, tuple[Any, str]], build: Build) -> IRModule:
    """A graph of one dataflow block; `build` gets the builder and the parameters."""
    params = [relax.Var(name, relax.TensorStructInfo(*info)) for name, info in infos.items()]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            found = builder.emit_output(build(builder, *params))
        builder.emit_func_output(found)
    return builder.get()


def product(
    left: Any,
    right: Any,
    dtype: str = "float16",
    bias: Any = None,
    after: Build = None,
    axes: Any = 0,
) -> IRModule:
    """left @ right + bias, and what follows it; `right` is transposed by axes."""

    def build(builder: Any, x: Any, y: Any, *rest: Any) -> Any:
        y = builder.emit(relax.op.permute_dims(y, axes)) if axes != 0 else y
        found = builder.emit(relax.op.matmul(x, y, "int32" if dtype == "int8" else ""))
        for one in rest:
            found = builder.emit(relax.op.add(found, one))
        return found if after is None else after(builder, found)

    out = "int32" if dtype == "int8" else dtype
    biases = {} if bias is None else {"bias": (bias, out)}
    return module_of({"x": (left, dtype), "y": (right, dtype), **biases}, build)


def with_relu(builder: Any, value: Any) -> Any:
    return relax.op.nn.relu(value)
