"""Names and places of nodes of torch.fx."""

from __future__ import annotations

import operator
from typing import Any

import pytest

from te_sched.relax.frontend.torch.nodes import base_name, display_name, place_of

torch = pytest.importorskip("torch")

CALLS: list[tuple[str, Any, str, str]] = [
    ("call_function", torch.relu, "relu", "torch.relu"),
    ("call_function", torch.ops.aten.add.Tensor, "add", "aten.add.Tensor"),
    ("call_function", torch.ops.aten.add_.Tensor, "add", "aten.add_.Tensor"),
    ("call_function", operator.add, "add", "_operator.add"),
    ("call_function", operator.iadd, "add", "_operator.iadd"),
    ("call_function", operator.ixor, "xor", "_operator.ixor"),
    ("call_function", operator.and_, "and", "_operator.and_"),
    ("call_function", operator.iand, "and", "_operator.iand"),
    ("call_function", torch.nn.functional.gelu, "gelu", "torch._C._nn.gelu"),
    ("call_method", "add_", "add", "Tensor.add_"),
    ("call_method", "__and__", "__and__", "Tensor.__and__"),
    ("call_module", "layers.0", "layers.0", "module layers.0"),
]


@pytest.mark.parametrize(("op", "target", "base", "display"), CALLS, ids=lambda x: str(x)[:20])
def test_names(op: str, target: Any, base: str, display: str) -> None:
    node = torch.fx.Graph().create_node(op, target)
    assert (base_name(node), display_name(node)) == (base, display)


STACK = """  File "/site/torch/nn/modules/module.py", line 3, in call
    return forward(x)
  File "/home/model.py", line 7, in forward
    return torch.relu(x)
  File "/site/torch/nn/functional.py", line 9, in relu
    return relu(x)
"""


@pytest.mark.parametrize(
    ("meta", "text"),
    [
        ({}, ""),
        (
            {"stack_trace": STACK},
            ' (File "/home/model.py", line 7, in forward: return torch.relu(x))',
        ),
        (
            {"stack_trace": STACK[:58]},
            ' (File "/site/torch/nn/modules/module.py", line 3, in call)',
        ),
        ({"nn_module_stack": {"": ("", None), "a": ("a.b", None)}}, " (in module a.b)"),
        ({"nn_module_stack": {"": ("", None)}}, ""),
        (
            {"nn_module_stack": {"a": ("a", None)}, "stack_trace": STACK},
            ' (in module a; File "/home/model.py", line 7, in forward: return torch.relu(x))',
        ),
    ],
)
def test_places(meta: dict[str, Any], text: str) -> None:
    node = torch.fx.Graph().create_node("call_function", torch.relu)
    node.meta.update(meta)
    assert place_of(node) == text
