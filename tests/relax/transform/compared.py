"""Graphs of arrays, run as they are written and as a pass makes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from te_sched import IRModule, nd, relax
from te_sched.relax.op import nn
from te_sched.relax.transform import LegalizeOps

RNG = np.random.default_rng(0)


IMAGE = RNG.uniform(-1, 1, (2, 4, 6, 6)).astype("float32")


VECTOR = RNG.uniform(0.5, 1, (4,)).astype("float32")


MATRIX = RNG.uniform(-1, 1, (4, 4)).astype("float32")


def graph_of(arrays: Sequence[Any], build: Callable[..., Any]) -> IRModule:
    """A function of arrays, in one dataflow block."""
    params = [
        relax.Var(f"p{at}", relax.TensorStructInfo(list(one.shape), str(one.dtype)))
        for at, one in enumerate(arrays)
    ]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            out = builder.emit_output(build(builder, *params))
        builder.emit_func_output(out)
    return builder.get()


def run(module: IRModule, arrays: Sequence[Any]) -> list[Any]:
    built = relax.build(LegalizeOps()(module), "llvm -opt-level=0")
    found = relax.VirtualMachine(built, nd.cpu())["main"](*[nd.array(one) for one in arrays])
    values = [found] if hasattr(found, "numpy") else list(found)
    return [one.numpy() for one in values]


def operators_of(module: IRModule) -> str:
    """The operators of the function, in order."""
    names = [
        str(getattr(one.value, "op", "")).rpartition(".")[2]
        for block in module["main"].body.blocks
        for one in block.bindings
    ]
    return " ".join(name for name in names if name)


def check_same(before: IRModule, after: IRModule, arrays: Sequence[Any], tolerance: float) -> None:
    for one, other in zip(run(before, arrays), run(after, arrays), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def normalized(builder: Any, x: Any, g: Any, b: Any) -> Any:
    del builder
    return nn.batch_norm(x, g, b, b, g, axis=1, momentum=0.2)
