"""Calls of torch that take no tensors and have no row: torch computes them once, at the import.

Windows, triangles of indices and other new tensors of constant sizes are constants of the graph.
Must not know rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from te_sched.ir.graph import GraphExpr
from te_sched.relax.frontend.torch.values import FxNode, TorchTensor, constant_of


def is_constant_call(node: FxNode) -> bool:
    """Whether a call has the same tensor as its result each time, whatever the model is given."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or node.all_input_nodes:
        return False
    results = [str(result.type) for result in schema.returns]
    return results == ["Tensor"] and not _is_random(node.target)


def _is_random(target: object) -> bool:
    return any("nondeterministic" in str(tag) for tag in getattr(target, "tags", ()))


def constant_call(node: FxNode) -> GraphExpr:
    """The tensor that torch computes for a call, as a constant."""
    target = cast("Callable[..., TorchTensor]", node.target)
    options = {
        name: value
        for name, value in node.kwargs.items()
        if name not in ("device", "pin_memory", "layout")
    }
    return constant_of(target(*node.args, **options))
